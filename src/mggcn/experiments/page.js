const page = JSON.parse(document.getElementById("data").textContent);

/* The cells of a matrix stay squares; they shrink to the width of the page as far as labels and digits allow. */
function fitted(chart, values, width) {
  if (!chart.width?.step) return chart;
  const count = Math.sqrt(values.length), least = count > 12 ? 9 : 24;
  const step = Math.min(chart.width.step, Math.max((width - 190) / count, least));
  return { ...chart, width: { step }, height: { step } };
}

function draw() {
  for (const [name, chart] of Object.entries(page.charts)) {
    const width = document.getElementById(name).clientWidth, values = page.data[chart.data.name];
    const title = lines(chart.title, width - 60);
    const spec = { ...fitted(chart, values, width), title, datasets: { [chart.data.name]: values } };
    const actions = { export: true, source: false, compiled: false, editor: false };
    embed(name, spec, { mode: "vega-lite", actions }).catch((error) => {
      document.getElementById(name).textContent = "This chart could not be drawn: " + error;
    });
  }
}

dark.addEventListener("change", draw);
whenWidthChanges(draw);
draw();
