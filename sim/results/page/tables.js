"use strict";
// Tables: a click on a heading sorts, the field above filters, a click on a run shows what is known of it.

// The figure that a cell begins with, or NaN: "1,229.00", "86.1~", "+12.0 %", "x 3.66", "/ 3.50".
function figure(text) {
  const found = /^\s*([x/]?)\s*([+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)/i.exec(text);
  if (!found) return NaN;
  const value = Number(found[2].replaceAll(",", ""));
  // Factors stand beside per cents in a column of differences: x 3.66 is +266 %, / 3.50 is -71 %.
  return found[1] === "x" ? 100 * (value - 1) : found[1] === "/" ? 100 * (1 / value - 1) : value;
}

function compare(a, b) {
  const x = figure(a), y = figure(b);
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  return Number.isNaN(x) ? a.localeCompare(b, "en") : x - y || a.localeCompare(b, "en");
}

// What a filter asks of a row: all its words are in it; "column>=value" asks a column whose name begins so.
function asked(text, columns) {
  return text.trim().toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const found = /^([^<>=!]+)(<=|>=|!=|<|>|=)(.+)$/.exec(word);
    const index = found ? columns.findIndex((column) => column.toLowerCase().startsWith(found[1])) : -1;
    if (index < 0) return (cells) => cells.some((cell) => cell.toLowerCase().includes(word));
    const [, , sign, wanted] = found;
    return (cells) => {
      const value = figure(cells[index]), limit = figure(wanted);
      const numbers = !Number.isNaN(value) && !Number.isNaN(limit);
      const same = numbers ? value === limit : cells[index].toLowerCase() === wanted;
      if (sign === "=") return same;
      if (sign === "!=") return !same;
      return numbers && (sign.startsWith("<") ? value < limit : value > limit) || (sign.endsWith("=") && same);
    };
  });
}

const cellsOf = (row) => Array.from(row.cells, (cell) => cell.textContent);

function save(name, text, type) {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

for (const grid of document.querySelectorAll("details.grid")) {
  const body = grid.querySelector("tbody"), heads = Array.from(grid.querySelectorAll("th"));
  const rows = Array.from(body.rows), columns = heads.map((head) => head.textContent.trim());
  const field = grid.querySelector("input"), count = grid.querySelector("output");

  heads.forEach((head, index) => head.querySelector("button").addEventListener("click", () => {
    const order = { ascending: "descending", descending: null }[head.getAttribute("aria-sort")];
    const next = order === undefined ? "ascending" : order;     // the third click gives the first order again
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    if (next) head.setAttribute("aria-sort", next);
    const sign = next === "descending" ? -1 : 1;
    const sorted = next ? rows.toSorted((a, b) => sign * compare(cellsOf(a)[index], cellsOf(b)[index])) : rows;
    body.append(...sorted);
  }));

  field?.addEventListener("input", () => {
    const tests = asked(field.value, columns);
    for (const row of rows) row.hidden = !tests.every((test) => test(cellsOf(row)));
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = shown === rows.length ? `${rows.length} rows` : `${shown} of ${rows.length} rows`;
  });

  grid.querySelector("[data-save]").addEventListener("click", (event) => {
    const lines = [columns, ...Array.from(body.rows).filter((row) => !row.hidden).map(cellsOf)];
    save(event.target.dataset.name, lines.map((line) => line.map(quoted).join(",") + "\n").join(""), "text/csv");
  });
}

const dialog = document.getElementById("details");
function showDetails(row) {
  dialog.querySelector("h3").textContent = row.cells[0].textContent;
  const list = dialog.querySelector("dl");
  list.replaceChildren();
  for (const [name, value] of Object.entries(JSON.parse(row.dataset.details))) {
    const term = document.createElement("dt"), text = document.createElement("dd");
    term.textContent = name;
    text.textContent = value;
    list.append(term, text);
  }
  dialog.showModal();
}
for (const row of document.querySelectorAll("tr[data-details]")) {
  row.addEventListener("click", () => showDetails(row));
  row.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();     // else the same key closes it again: the focus is on its button by then
    showDetails(row);
  });
}

// What is closed is printed, too.
let closed = [];
addEventListener("beforeprint", () => {
  closed = Array.from(document.querySelectorAll("details:not([open])"));
  for (const one of closed) one.open = true;
});
addEventListener("afterprint", () => {
  for (const one of closed) one.open = false;
  closed = [];
});
