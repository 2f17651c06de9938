"use strict";
// A click on a heading sorts its table: numbers by data-v, text alphabetically, missing values last.
for (const button of document.querySelectorAll("th > button")) {
  button.addEventListener("click", () => {
    const heading = button.parentElement;
    const body = heading.closest("table").tBodies[0];
    const column = heading.cellIndex;
    const descending = heading.getAttribute("aria-sort") === "ascending";
    const key = (row) => {
      const cell = row.cells[column];
      if (heading.dataset.kind === "text") return cell.textContent.trim();
      return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
    };
    const compare = (a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      const order = typeof a.key === "string" ? a.key.localeCompare(b.key) : a.key - b.key;
      return descending ? -order : order;
    };
    const rows = Array.from(body.rows, (row) => ({ row, key: key(row) })).sort(compare);
    body.append(...rows.map((entry) => entry.row));
    for (const other of heading.parentElement.cells) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  });
}
