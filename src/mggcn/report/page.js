const page = JSON.parse(document.getElementById("data").textContent);

function draw() {
  for (const [name, chart] of Object.entries(page.charts)) {
    const title = lines(chart.title, document.getElementById(name).clientWidth - 40);
    const spec = { ...chart, title, datasets: { [chart.data.name]: page.data[chart.data.name] } };
    const actions = { export: true, source: false, compiled: false, editor: false };
    embed(name, spec, { mode: "vega-lite", actions }).catch((error) => {
      document.getElementById(name).textContent = "This chart could not be drawn: " + error;
    });
  }
}

dark.addEventListener("change", draw);
whenWidthChanges(draw);
draw();
