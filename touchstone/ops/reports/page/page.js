"use strict";
// Sorting, filtering and unfolding. Without this the page shows the same, unsorted and unfolded.
document.documentElement.classList.add("js");
document.addEventListener("DOMContentLoaded", () => {
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const table = document.querySelector("table.cases");
  const cases = table ? [...table.tBodies] : [];
  const state = { label: "", q: "", sort: "" };
  let restoring = false;

  // The choice stands in the address, so that a link shows what its sender saw.
  const remember = () => {
    if (restoring) return;
    const chosen = new URLSearchParams(Object.entries(state).filter(([, value]) => value)).toString();
    try { history.replaceState(null, "", chosen ? "#" + chosen : location.href.split("#")[0]); } catch { /* a viewer that forbids it */ }
  };

  const keyOf = (row, column, numeric) => {
    const cell = row.cells[column];
    if (!cell) return numeric ? NaN : "";
    if (cell.dataset.sort) return Number(cell.dataset.sort);
    const text = cell.textContent.trim();
    return numeric ? parseFloat(text.replace(/[,\s]/g, "").replace("−", "-")) : text;
  };

  // What a case does not have stands last in either direction.
  const sort = (of, column, direction) => {
    const heads = [...of.tHead.rows[0].cells];
    const numeric = heads[column].classList.contains("num");
    const inBodies = of === table;
    const units = inBodies ? [...of.tBodies] : [...of.tBodies[0].rows];
    const sign = direction === "descending" ? -1 : 1;
    const keyed = units.map((unit, place) => ({ unit, place, key: keyOf(inBodies ? unit.rows[0] : unit, column, numeric) }));
    const missing = (key) => key === "" || Number.isNaN(key);
    keyed.sort((a, b) => {
      if (missing(a.key) || missing(b.key)) return missing(a.key) - missing(b.key) || a.place - b.place;
      const order = typeof a.key === "number" ? a.key - b.key : collator.compare(a.key, b.key);
      return sign * order || a.place - b.place;
    });
    const home = inBodies ? of : of.tBodies[0];
    const sorted = document.createDocumentFragment();
    keyed.forEach(({ unit }) => sorted.append(unit));
    home.append(sorted);
    heads.forEach((head, place) => head.setAttribute("aria-sort", place === column ? direction : "none"));
  };

  document.querySelectorAll("table.sortable").forEach((of) => {
    [...of.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
        sort(of, column, direction);
        if (of === table) { state.sort = column + "." + direction; remember(); }
      });
    });
  });

  const unfold = (button, open) => {
    button.setAttribute("aria-expanded", open);
    button.closest("tbody").rows[1].classList.toggle("open", open);
  };
  if (table) table.addEventListener("click", (event) => {
    const button = event.target.closest("button.name");
    if (button) unfold(button, button.getAttribute("aria-expanded") !== "true");
  });

  const shown = document.createElement("output");
  const search = document.createElement("input");
  const buttons = new Map();
  const texts = new Map();
  const textOf = (one) => {
    if (!texts.has(one)) texts.set(one, one.textContent.toLowerCase());
    return texts.get(one);
  };
  const filter = () => {
    const wanted = state.q.toLowerCase();
    let count = 0;
    for (const one of cases) {
      const fits = (!state.label || one.dataset.label === state.label) && (!wanted || textOf(one).includes(wanted));
      one.hidden = !fits;
      count += fits;
    }
    buttons.forEach((button, label) => button.setAttribute("aria-pressed", label === state.label));
    shown.value = count === cases.length ? "" : count + " of " + cases.length + " shown";
    remember();
  };

  const tools = document.querySelector(".tools");
  if (tools && cases.length) {
    const counts = new Map([["", cases.length]]);
    cases.forEach((one) => counts.set(one.dataset.label, (counts.get(one.dataset.label) || 0) + 1));
    const group = document.createElement("div");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Show by label");
    counts.forEach((count, label) => {
      const button = document.createElement("button");
      const number = document.createElement("span");
      button.type = "button";
      number.textContent = count;
      button.append(label || "All", " ", number);
      button.addEventListener("click", () => { state.label = label; filter(); });
      buttons.set(label, button);
      group.append(button);
    });
    const caption = document.createElement("label");
    search.type = "search";
    search.placeholder = "Search in names and findings";
    search.setAttribute("aria-label", search.placeholder);
    let waiting;
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { state.q = search.value.trim(); filter(); }, 120);
    });
    caption.append(search);
    tools.append(group, caption, shown);
  }

  const restore = () => {
    const hash = location.hash.slice(1);
    if (!hash.includes("=")) {
      // A link to a case shows it, filtered out or not.
      const target = hash && document.getElementById(hash);
      const button = target && target.querySelector("button.name");
      if (target && target.hidden) { state.label = state.q = search.value = ""; restoring = true; filter(); restoring = false; }
      if (button) unfold(button, true);
      if (target) target.scrollIntoView();
      return;
    }
    restoring = true;
    const asked = new URLSearchParams(hash);
    state.label = buttons.has(asked.get("label") || "") ? asked.get("label") || "" : "";
    state.q = search.value = asked.get("q") || "";
    const [column, direction] = (asked.get("sort") || "").split(".");
    const head = table && table.tHead.rows[0].cells[column];
    if (column && head) {
      head.querySelector("button").click();
      if (direction === "descending" && head.getAttribute("aria-sort") === "ascending") head.querySelector("button").click();
    }
    if (table) filter();
    restoring = false;
  };
  restoring = true;
  if (table) filter();
  restoring = false;
  restore();
  addEventListener("hashchange", restore);
});
