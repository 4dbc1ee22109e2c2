
/* The table of transactions: all rows are in the page, a part of them is shown, and the file has them all. */

const ROWS = 50;
const file = page.transactions, columns = file.columns;
const state = { first: 0, by: "time", rises: true, way: "", text: "" };
const part = (name) => document.querySelector(`#transactions [data-part="${name}"]`);
const all = file.rows.map((row) => Object.fromEntries(columns.map((name, number) => [name, row[number]])));

const headings = [...document.querySelectorAll("#transactions th")];
/* What a row is sorted by: the other account and its label depend on the direction. */
const keyOf = (row) => ({ account: row.direction === "in" ? row.from : row.to, label: row.direction === "in" ? row.from_label : row.to_label }[state.by] ?? row[state.by]);

const short = (text) => text.length > 14 ? `${text.slice(0, 6)}…${text.slice(-4)}` : text;
const kept = () => all.filter((row) => (!state.way || row.direction === state.way)
  && (!state.text || columns.some((name) => String(row[name]).toLowerCase().includes(state.text))));

/* Amounts are exact whole numbers in text, which may have more digits than a number holds. */
const order = (one, other) => /^[0-9]+$/.test(one) && /^[0-9]+$/.test(other)
  ? one.length - other.length || (one < other ? -1 : one > other ? 1 : 0) : one.localeCompare(other);

function cellOf(text, title, kind) {
  const cell = document.createElement("td");
  cell.textContent = text;
  if (title) cell.title = title;
  if (kind) cell.className = kind;
  return cell;
}

function showRows() {
  const found = kept().sort((one, other) => (state.rises ? 1 : -1) * order(keyOf(one), keyOf(other)));
  state.first = Math.max(0, Math.min(state.first, found.length - 1 - (found.length - 1) % ROWS));
  const shown = found.slice(state.first, state.first + ROWS);
  part("rows").replaceChildren(...shown.map((row) => {
    const line = document.createElement("tr"), other = row.direction === "in" ? row.from : row.to;
    const own = row.direction === "none", label = row.direction === "in" ? row.from_label : row.to_label;
    const cells = {
      time: () => cellOf(row.time.replace("T", " ").replace("Z", "")), direction: () => cellOf(row.direction),
      account: () => cellOf(own ? "–" : short(other), other), label: () => cellOf(own ? "" : label),
      wei: () => cellOf(row.shown, `${row.wei} wei`, "number"), kind: () => cellOf(row.kind),
      hash: () => cellOf(short(row.hash), row.hash),
    };
    line.append(...headings.map((heading) => cells[heading.dataset.by]()));
    return line;
  }));
  part("range").textContent = found.length
    ? `${(state.first + 1).toLocaleString("en")} to ${(state.first + shown.length).toLocaleString("en")} of ${found.length.toLocaleString("en")}` : "none";
  part("back").disabled = state.first === 0;
  part("on").disabled = state.first + ROWS >= found.length;
  for (const heading of headings) {
    heading.setAttribute("aria-sort", heading.dataset.by !== state.by ? "none" : state.rises ? "ascending" : "descending");
  }
}

function csv() {
  const quoted = (text) => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const names = columns.filter((name) => name !== "shown");
  return [names, ...all.map((row) => names.map((name) => String(row[name])))].map((row) => row.map(quoted).join(",") + "\n").join("");
}

part("way").addEventListener("change", () => { state.way = part("way").value; state.first = 0; showRows(); });
part("text").addEventListener("input", () => { state.text = part("text").value.trim().toLowerCase(); state.first = 0; showRows(); });
part("back").addEventListener("click", () => { state.first -= ROWS; showRows(); });
part("on").addEventListener("click", () => { state.first += ROWS; showRows(); });
part("head").addEventListener("click", (event) => {
  event.stopPropagation();
  const heading = event.target.closest("th");
  if (!heading) return;
  state.rises = heading.dataset.by === state.by ? !state.rises : true;
  state.by = heading.dataset.by;
  state.first = 0;
  showRows();
});
part("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
  link.download = file.name;
  link.click();
  URL.revokeObjectURL(link.href);
});
showRows();
