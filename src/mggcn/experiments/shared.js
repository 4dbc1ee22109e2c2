/* What every page has: colours that follow the theme of the browser, and tables that a click on a heading sorts. */
const dark = matchMedia("(prefers-color-scheme: dark)");
const ink = () => dark.matches ? "#e6e6e6" : "#1b1b1b";

function theme() {
  const grid = dark.matches ? "#3a3f45" : "#dddddd", words = { labelColor: ink(), titleColor: ink() };
  return {
    background: "transparent", view: { stroke: grid }, title: { color: ink(), anchor: "start", limit: 0 },
    axis: { ...words, gridColor: grid, domainColor: grid, tickColor: grid }, legend: words,
  };
}

/* A title as lines that fit a width, measured in the font that Vega draws titles with. */
const measure = document.createElement("canvas").getContext("2d");
measure.font = "bold 13px sans-serif";

function lines(title, width) {
  const parts = [""];
  for (const word of title.split(" ")) {
    const last = parts[parts.length - 1], longer = last ? last + " " + word : word;
    if (last && measure.measureText(longer).width > width) parts.push(word);
    else parts[parts.length - 1] = longer;
  }
  return parts;
}

/* A chart replaces the earlier one, which no longer listens to the window. */
const drawn = new Map();

function embed(id, spec, options) {
  drawn.get(id)?.then((before) => before.finalize(), () => {});
  const made = vegaEmbed(document.getElementById(id), { ...spec, config: theme() }, { renderer: "svg", ...options });
  drawn.set(id, made);
  return made;
}

/* A rotated phone has another width; its address bar, which comes and goes, changes the height alone. */
function whenWidthChanges(redraw) {
  let width = innerWidth, waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (innerWidth === width) return;
      width = innerWidth;
      redraw();
    }, 150);
  });
}

function compare(one, other) {
  if (one === "" || other === "") return (one === "") - (other === "");
  const difference = Number(one) - Number(other);
  return Number.isNaN(difference) ? one.localeCompare(other) : difference;
}

document.addEventListener("click", (event) => {
  const heading = event.target.closest("th");
  if (!heading) return;
  const rises = heading.getAttribute("aria-sort") !== "ascending", column = heading.cellIndex;
  for (const each of heading.parentNode.cells) each.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", rises ? "ascending" : "descending");
  const body = heading.closest("table").tBodies[0], key = (row) => row.cells[column].dataset.key;
  const sorted = [...body.rows].sort((a, b) =>
    key(a) === "" || key(b) === "" || rises ? compare(key(a), key(b)) : compare(key(b), key(a)));
  body.append(...sorted);
});
