const DRAWS = 200, EFFECTS = 12, GRAPH_HEIGHT = 440, NAMED_FROM = 0.1;
const still = matchMedia("(prefers-reduced-motion: reduce)");
const at = (name) => document.getElementById(name);
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const signed = (value) => `${value > 0 ? "+" : ""}${value.toFixed(2)}`;
const points = (share) => signed(100 * share);
const amount = (value) => value.toLocaleString("en", Math.abs(value) < 1000 ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: 0 });
/* Near 1, effects are shown as changes of the log-odds, not of the probability. */
const scaleOf = (answer) => answer.logits ? { unit: "logits", of: "the log-odds", text: signed, factor: 1 } : { unit: "points", of: "the probability", text: points, factor: 100 };
const number = (value) => value.toLocaleString("en");
const short = (text) => text.length > 14 ? `${text.slice(0, 8)}…${text.slice(-4)}` : text;
const SHORT_LABEL = "length(datum.label) > 14 ? slice(datum.label, 0, 8) + '…' + slice(datum.label, -4) : datum.label";
let about, shown;

async function get(path, parameters = {}) {
  const answer = await fetch(`/api/${path}?${new URLSearchParams(parameters)}`);
  const content = await answer.json().catch(() => ({ error: answer.statusText }));
  if (!answer.ok) throw new Error(content.error);
  return content;
}

const className = (label) => label === null ? "no label" : about.classes[label].name;

/* Elements. A table cell has its content, the key it is sorted by, and a CSS class. */

function element(name, content, attributes = {}) {
  const created = document.createElement(name);
  created.append(...(Array.isArray(content) ? content : [content]));
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  return created;
}

function link(id) {
  return element("a", short(id), { href: `#${encodeURIComponent(id)}`, title: id });
}

function swatch(label) {
  if (label === null) return className(label);
  const { colour, shape, name } = about.classes[label];
  return element("span", [element("span", "", { class: `swatch ${shape}`, style: `background:${colour}` }), name], { class: "class" });
}

const textCell = (text) => ({ content: text, key: text });
const idCell = (id) => ({ content: link(id), key: id });
const classCell = (label) => ({ content: swatch(label), key: className(label) });
const numberCell = (value, text = number(value)) => ({ content: value === null ? "–" : text, key: value ?? "", kind: "number" });

function cell({ content, key, kind }) {
  return element("td", content, { "data-key": key, ...(kind && { class: kind }) });
}

function table(container, headings, rows) {
  const head = headings.map((name) =>
    element("th", element("button", name, { type: "button" }), { "aria-sort": "none", scope: "col" }));
  const body = rows.map((row) => element("tr", row.map(cell)));
  at(container).replaceChildren(rows.length
    ? element("table", [element("thead", element("tr", head)), element("tbody", body)])
    : element("p", "None."));
}

/* Charts. Each is drawn to the width of its container, and again when the width or the theme changes. */

const charts = new Map();

async function draw(container, specOf, mode = "vega-lite") {
  charts.set(container, () => embed(container, specOf(Math.max(200, at(container).clientWidth - 8)), { mode, actions: false, ast: true }));
  await charts.get(container)();
}

const redraw = () => Promise.all([...charts.values()].map((drawChart) => drawChart()));

function bars(container, title, values, x, rows, labels = {}) {
  return draw(container, (width) => ({
    title: lines(title, width), width, height: 22 * values.length, autosize: { type: "fit-x", contains: "padding" },
    data: { values }, mark: { type: "bar", tooltip: true },
    encoding: {
      y: { field: rows, type: "nominal", sort: null, title: null, axis: { labelLimit: Math.min(220, width * 0.4), ...labels } },
      x, color: { field: "colour", type: "nominal", scale: null },
      tooltip: [{ field: rows, type: "nominal" }, { field: x.field, type: "quantitative", title: x.title, format: x.axis.format }],
    },
  }));
}

function drawProbabilities(node) {
  const values = node.probabilities.map((probability, label) =>
    ({ class: className(label), probability, colour: about.classes[label].colour }));
  values.sort((a, b) => b.probability - a.probability);
  return bars("probabilities", `Class probabilities of ${short(node.id)}`, values,
    { field: "probability", type: "quantitative", title: "probability, %", scale: { domain: [0, 1] }, axis: { format: ".0%" } }, "class");
}

function drawEffects(answer) {
  const scale = scaleOf(answer);
  const values = answer.picks.slice(0, EFFECTS).map(({ id, change, label }) =>
    ({ pick: id, change: change * scale.factor, colour: label === null ? "#999999" : about.classes[label].colour }));
  return bars("effects", `Change of ${scale.of} of ${className(answer.predicted)} by each pick`, values,
    { field: "change", type: "quantitative", title: answer.logits ? "change, logits" : "change, percentage points", axis: { format: "+.2~f" } }, "pick", { labelExpr: SHORT_LABEL });
}

/* The sections of the page, each from one answer. */

function fact(name, value) {
  return element("div", [element("dt", name), element("dd", value)]);
}

async function showNode(node) {
  at("error").hidden = true;
  at("node").hidden = false;
  at("id").value = node.id;
  document.title = `${node.id} · mggcn explore`;
  at("name").textContent = node.id;
  at("facts").replaceChildren(
    fact("predicted", swatch(node.predicted)), fact("true class", swatch(node.label)),
    fact("split", node.split ?? "none"), fact("degree", number(node.degree)),
  );
  await drawProbabilities(node);
}

async function showPicks(answer) {
  const others = answer.nodes.slice(1), selection = others.length < answer.total ? `, of which the ${others.length} most frequent are shown` : "";
  at("picks-note").textContent = others.length
    ? `${about.picks} picks in each of ${number(answer.draws)} draws${about.redraws ? "" : " (all the same: this run drew its picks once)"}: `
      + `${number(answer.total)} different nodes${selection}. Node sizes and line widths show how often a node was picked and an edge was walked; dotted edges were never walked. `
      + "Nodes can be dragged."
    : "This node has no neighbours, so it has no picks.";
  at("legend").replaceChildren(...[...new Set(answer.nodes.map((node) => node.label))].sort((a, b) => a - b).map(swatch));
  table("picks", ["node", "class", "picked in, %", "fewest steps", "degree"], others.map((node) => [
    idCell(node.id), classCell(node.label), numberCell(node.share, (100 * node.share).toFixed(1)), numberCell(node.hops), numberCell(node.degree)]));
  await draw("graph", (width) => graphOf(answer, width), "vega");
}

async function showInfluence(answer) {
  const differs = answer.label !== null && answer.label !== answer.predicted, scale = scaleOf(answer);
  at("influence-note").textContent =
    `${answer.draws === 1 ? "In the draw of the evaluation" : `On average over ${answer.draws} draws`} the predicted class is ${className(answer.predicted)} `
    + `with ${percent(answer.probability)}. Each pick in turn is removed from S(v) and the node is scored again with the others; `
    + `the change is ${scale.of} with the pick minus that without it${answer.draws === 1 ? "" : ", averaged over the draws that contain it"}.`;
  const headings = ["pick", "class", answer.draws === 1 ? "order" : "mean order", `change, ${scale.unit}`];
  if (differs) headings.push(`change of true class, ${scale.unit}`);
  if (answer.draws > 1) headings.push("draws");
  table("influence", headings, answer.picks.map((pick) => [
    idCell(pick.id), classCell(pick.label), numberCell(pick.order, answer.draws === 1 ? number(pick.order) : pick.order.toFixed(1)),
    numberCell(pick.change, scale.text(pick.change)),
    ...(differs ? [numberCell(pick.change_of_label, scale.text(pick.change_of_label))] : []),
    ...(answer.draws > 1 ? [numberCell(pick.draws)] : []),
  ]));
  await drawEffects(answer);
}

function showFeatures(answer) {
  const differs = answer.label !== null && answer.label !== answer.predicted, rounded = (value) => numberCell(value, value === null ? "" : amount(value));
  const units = answer.features.some((feature) => feature.unit);
  at("features-note").textContent = `The ${answer.features.length} of ${number(answer.total)} features that differ most from the median of ${className(answer.predicted)}, `
    + "the predicted class, over its training nodes; the difference is in standard deviations of all training nodes.";
  const headings = ["feature", "value", `median of ${className(answer.predicted)}`];
  if (differs) headings.push(`median of ${className(answer.label)}, the true class`);
  table("features", [...headings, ...(units ? ["unit"] : []), "difference, σ"], answer.features.map((feature) => [
    textCell(feature.name), rounded(feature.value), rounded(feature.median), ...(differs ? [rounded(feature.median_of_label)] : []),
    ...(units ? [textCell(feature.unit)] : []), numberCell(feature.difference, feature.difference.toFixed(2))]));
}

function showAttributions(answer) {
  const scale = scaleOf(answer), whole = (value) => answer.logits ? value.toFixed(2) : percent(value);
  at("attributions-note").textContent = answer.reason ?? (`What features add to ${scale.of} of ${className(answer.predicted)}, the predicted class, in the draw of the evaluation `
    + `(integrated gradients): ${scale.text(answer.target)} ${scale.unit} by this node's own features and ${scale.text(answer.others)} by those of other nodes, `
    + `from ${whole(answer.baseline)} if all scaled features are zero to ${whole(answer.value)}. `
    + Object.entries(answer.relations).map(([name, sum], index) => `${index ? ", " : "By edges, through the features of neighbours: "}${name} ${scale.text(sum)}`).join("")
    + (Object.keys(answer.relations).length ? ". " : "")
    + (answer.logits ? `The probability, ${percent(answer.probability, 2)}, is too near 100 % to show them. ` : "")
    + `The ${answer.features.length} of ${number(answer.total)} features with the largest contributions are shown.`);
  table("attributions", ["feature", `of this node, ${scale.unit}`, `of other nodes, ${scale.unit}`], answer.features.map((feature) => [
    textCell(feature.name), numberCell(feature.target, scale.text(feature.target)), numberCell(feature.others, scale.text(feature.others))]));
}

function paymentCells(payment) {
  if (payment === null) return [numberCell(null, ""), textCell("")];
  const { count, value, first, last } = payment, times = count > 1 ? ` (${number(count)} ×)` : "";
  return [numberCell(value, `${amount(value)}${times}`), { content: first === last ? first : `${first} to ${last}`, key: last, kind: "when" }];
}

function showNeighbours(answer) {
  const order = answer.payments ? ", the largest sums of ether first" : answer.weighted ? ", the heaviest edges first" : "";
  const known = answer.neighbours.some((node) => node.edges.length);
  const first = answer.neighbours.length < answer.total ? `The first ${number(answer.neighbours.length)} of ${number(answer.total)}` : `All ${number(answer.total)}`;
  const kind = { both: "neighbours", directed: "neighbours", in: "nodes with an edge to this node", out: "nodes with an edge from this node" }[answer.direction];
  at("neighbours-note").textContent = answer.total ? `${first} ${kind}${order}.` : `No ${kind}.`;
  if (about.payments) {
    const options = `${about.run ? ` --run ${about.run}` : ""} --out case.html`;
    at("case").replaceChildren("The case file of this account, with all its transactions and the flow of funds over two hops: ",
      element("code", `mggcn ethereum case ${shown} TRANSACTIONS${options}`));
    at("case").hidden = false;
  }
  const payments = answer.payments ? ["sent to it, ether", "when", "received from it, ether", "when"] : [];
  table("neighbours", ["node", ...(known ? ["edges, seen from this node"] : []), "true class", "predicted", "probability, %", ...payments, "degree"], answer.neighbours.map((node) => [
    idCell(node.id), ...(known ? [textCell(node.edges.join("; "))] : []), classCell(node.label), classCell(node.predicted), numberCell(node.probability, (100 * node.probability).toFixed(1)),
    ...(answer.payments ? [...paymentCells(node.sent), ...paymentCells(node.received)] : []), numberCell(node.degree)]));
}

/* An answer about a node that is no longer shown is dropped. */
async function ask(render, path, id, parameters = {}) {
  const answer = await get(path, { id, ...parameters });
  if (id === shown) await render(answer);
}

const askInfluence = (id) => ask(showInfluence, "influence", id, { draws: at("draws").value });

async function show(id) {
  shown = id;
  try {
    await ask(showNode, "node", id);
    const parts = [ask(showAttributions, "attributions", id), ask(showFeatures, "features", id), ask(showNeighbours, "neighbours", id)];
    if (about.picks) parts.push(ask(showPicks, "picks", id, { draws: DRAWS }), askInfluence(id));
    await Promise.all(parts);
  } catch (error) {
    at("error").textContent = error.message;
    at("error").hidden = false;
    at("node").hidden = true;
  }
}

function idInAddress() {
  const text = location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const showFromAddress = () => show(idInAddress() || about.examples[0]);

at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const wanted = `#${encodeURIComponent(at("id").value.trim())}`;
  if (location.hash === wanted) showFromAddress();
  else location.hash = wanted;
});
at("id").addEventListener("input", async () => {
  const prefix = at("id").value;
  const ids = prefix ? await get("search", { q: prefix }) : [];
  if (at("id").value === prefix) at("suggestions").replaceChildren(...ids.map((id) => element("option", "", { value: id })));
});
at("draws").addEventListener("change", () => askInfluence(shown));
addEventListener("hashchange", showFromAddress);
dark.addEventListener("change", redraw);
whenWidthChanges(redraw);

about = await get("about");
at("title").textContent = `${about.dataset}, ${about.method}`;
at("about").textContent = `seed ${about.seed}, test accuracy ${percent(about.test_accuracy, 2)}, ${number(about.num_nodes)} nodes, `
  + `${number(about.num_edges)} edges${about.source ? `. ${about.source}` : ""}`;
at("examples").replaceChildren(...about.examples.map(link));
if (!about.picks) {
  at("without-picks").textContent = `${about.method} scores a node without picks, so there are no picks to show or to leave out.`;
  at("without-picks").hidden = false;
  for (const part of document.querySelectorAll(".with-picks")) part.hidden = true;
}
if (about.payments) {
  at("without-picks").before(at("dealings"));
  at("dealings").querySelector("h2").textContent = "Money";
}
await showFromAddress();
