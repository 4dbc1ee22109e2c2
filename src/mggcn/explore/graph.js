/* The picks of a node as a graph, drawn by Vega. */

function graphOf(answer, width) {
  const room = Math.min(1, width / 650);
  const nodes = answer.nodes.map((node, index) => ({
    id: node.id, name: index === 0 || node.share >= NAMED_FROM ? short(node.id) : "", isTarget: index === 0,
    colour: node.label === null ? "#ffffff" : about.classes[node.label].colour,
    shape: node.label === null ? "circle" : about.classes[node.label].shape,
    area: index === 0 ? 500 : 40 + 700 * node.share,
    tooltip: {
      title: node.id, class: className(node.label), degree: number(node.degree),
      ...(index === 0 ? { role: "the target" } : { "picked in": percent(node.share), "steps from the target": node.hops }),
    },
  }));
  return {
    width, height: GRAPH_HEIGHT, padding: { top: 28, left: 0, right: 0, bottom: 0 }, autosize: "none",
    title: { text: `Picks of ${short(answer.nodes[0].id)} over ${number(answer.draws)} draws`, frame: "group" },
    signals: [
      { name: "dragged", value: null, on: [{ events: "@node:pointerdown", update: "item()" }, { events: "window:pointerup", update: "null" }] },
      { name: "pointer", value: null, on: [{ events: "[@node:pointerdown, window:pointerup] > window:pointermove!", update: "xy()" }] },
      { name: "restart", value: false, on: [{ events: { signal: "pointer" }, update: "dragged !== null" }] },
    ],
    data: [
      { name: "nodes", values: nodes },
      { name: "links", values: answer.links.map(({ source, target, share, edges }) => ({ source, target, share, tooltip: edges.join("; ") })) },
    ],
    marks: [
      {
        name: "node", type: "symbol", zindex: 1, from: { data: "nodes" },
        on: [{ trigger: "pointer && dragged", modify: "dragged", values: "{ fx: pointer[0], fy: pointer[1] }" }],
        encode: {
          enter: {
            fill: { field: "colour" }, shape: { field: "shape" }, size: { field: "area" }, stroke: { value: ink() },
            strokeWidth: { signal: "datum.isTarget ? 3 : 0.75" }, tooltip: { field: "tooltip" },
          },
          update: { cursor: { value: "grab" } },
        },
        transform: [
          {
            type: "force", iterations: 300, static: still.matches, restart: { signal: "restart" }, signal: "force",
            forces: [
              { force: "center", x: { signal: "width / 2" }, y: { signal: "height / 2" } },
              { force: "collide", radius: { expr: "sqrt(datum.size) / 2 + 4" } },
              { force: "nbody", strength: -160 * room },
              { force: "x", x: { expr: String(width / 2) }, strength: Math.min(0.2, 0.08 * GRAPH_HEIGHT / width) },
              { force: "y", y: { expr: String(GRAPH_HEIGHT / 2) }, strength: 0.1 },
              { force: "link", links: "links", distance: 55 * room },
            ],
          },
          { type: "formula", as: "x", expr: "clamp(datum.x, 16, width - 16)" },
          { type: "formula", as: "y", expr: "clamp(datum.y, 32, height - 16)" },
        ],
      },
      {
        type: "path", from: { data: "links" }, interactive: answer.links.some(({ edges }) => edges.length),
        encode: { update: {
          tooltip: { field: "tooltip" },
          stroke: { value: ink() }, strokeOpacity: { signal: "datum.share > 0 ? 0.65 : 0.2" },
          strokeWidth: { signal: "0.75 + 4 * datum.share" },
          strokeDash: { signal: "datum.share > 0 ? [1, 0] : [2, 3]" },
        } },
        transform: [{
          type: "linkpath", require: { signal: "force" }, shape: "line",
          sourceX: "datum.source.x", sourceY: "datum.source.y", targetX: "datum.target.x", targetY: "datum.target.y",
        }],
      },
      {
        type: "text", from: { data: "node" }, interactive: false, zindex: 2,
        encode: { enter: { text: { field: "datum.name" }, fill: { value: ink() }, fontSize: { value: 11 } } },
        /* Names are inside the picture and overlap neither nodes nor each other; those without room are left out. */
        transform: [{
          type: "label", size: { signal: "[width, height]" }, anchor: ["top", "bottom", "right", "left"], offset: [3],
          padding: 0, avoidBaseMark: true, sort: { field: "datum.datum.area", order: "descending" },
        }],
      },
    ],
  };
}
