
"use strict";
const page = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");

function theme() {
  const ink = dark.matches ? "#e6e6e6" : "#1b1b1b", grid = dark.matches ? "#3a3f45" : "#dddddd";
  const words = { labelColor: ink, titleColor: ink };
  return {
    background: "transparent", view: { stroke: grid }, title: { color: ink, anchor: "start", limit: 0 },
    axis: { ...words, gridColor: grid, domainColor: grid, tickColor: grid }, legend: words,
  };
}

function lines(text, width) {
  const most = Math.max(20, Math.floor(width / 7)), found = [""];
  for (const word of text.split(" ")) {
    const last = found[found.length - 1];
    if (last && last.length + word.length >= most) found.push(word);
    else found[found.length - 1] = last ? last + " " + word : word;
  }
  return found;
}

function draw() {
  for (const [name, chart] of Object.entries(page.charts)) {
    const title = lines(chart.spec.title, document.getElementById(name).clientWidth - 40);
    const spec = { ...chart.spec, title, datasets: { [chart.data]: page.data[chart.data] }, config: theme() };
    const options = { mode: "vega-lite", renderer: "svg",
      actions: { export: true, source: false, compiled: false, editor: false } };
    vegaEmbed(document.getElementById(name), spec, options).catch((error) => {
      document.getElementById(name).textContent = "This chart could not be drawn: " + error;
    });
  }
}

function compare(one, other) {
  if (one === "" || other === "") return (one === "") - (other === "");
  const difference = Number(one) - Number(other);
  return Number.isNaN(difference) ? one.localeCompare(other) : difference;
}

for (const heading of document.querySelectorAll("th")) {
  heading.addEventListener("click", () => {
    const rises = heading.getAttribute("aria-sort") !== "ascending", column = heading.cellIndex;
    for (const each of heading.parentNode.cells) each.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", rises ? "ascending" : "descending");
    const body = heading.closest("table").tBodies[0], key = (row) => row.cells[column].dataset.key;
    const empty = (row) => key(row) === "";
    const sorted = [...body.rows].sort((a, b) =>
      empty(a) || empty(b) || rises ? compare(key(a), key(b)) : compare(key(b), key(a)));
    body.append(...sorted);
  });
}

dark.addEventListener("change", draw);
draw();
