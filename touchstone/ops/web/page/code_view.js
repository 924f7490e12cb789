// A document of any size: only the visible rows are in the page. Long lines are broken into rows, so that one line of 5 MB can be read, too.
// Its parts (a resource, a section) fold into one row that says what they are and what was found in them.

const codeView = (() => {
  const ROW_PX = 20; // as in reading.css
  const AROUND = 30; // rows drawn above and below the visible ones
  const SHOWN_PX_MAX = 620;
  const ROWS_MAX = 1_000_000; // browsers limit the height of an element
  const MARKED_ROWS_MAX = 60; // a mark over more rows is drawn on its first row only
  const FOLDED_LINES_MIN = 60; // shorter documents begin unfolded
  const COUNTED = ["bad", "missing", "unsure"];

  /** Cut a text wherever a token, a mark or a hit begins or ends; each of `spans` is [start, end, …]. */
  function cutsOf(from, to, spans) {
    const cuts = new Set([from, to]);
    for (const [start, end] of spans) for (const cut of [start, end]) if (cut > from && cut < to) cuts.add(cut);
    return [...cuts].sort((one, other) => one - other);
  }

  /**
   * A document. `places()`: [{point, start, end, tone, state, sign, title}] sorted by start, with `start` and `end` in UTF-16 units; asked for when it is first drawn.
   * `lit`: the set of points that are highlighted. Returns {node, reveal(place), redraw(), element(point), search()}.
   */
  return function codeView({text, format, label, places, lit}) {
    const index = documentIndex(text, format);
    let marks = null, lines = 0, columns = 0, rowStarts = [], rowLines = [], shown = [], folds = [], foldAt = new Map(), drawn = "", at = null; // `at`: the part whose button Tab reaches
    const rows = h("div.code-rows"), space = h("div.code-space", {}, rows), pane = h("div.code-pane", {tabindex: 0, role: "region", "aria-label": label}, space);
    const find = codeSearch({text, label, go: (offset) => scrollTo(offset), redraw});
    const foldAll = h("button", {type: "button", hidden: true, click: () => { const all = folds.some((part) => !part.folded); for (const part of folds) part.folded = all; arrange(); redraw(); }}, "Fold all");
    const node = h("div.code", {}, h("div.code-bar", {}, find.node, foldAll), pane);

    /** The width of a row in characters; 0 while it is not shown. */
    function fitting() {
      const line = h("span.code-line", {}, "0".repeat(50)), probe = h("div.code-row", {}, h("span.code-sign"), h("span.code-number"), h("span.code-fold"), line);
      rows.append(probe);
      const {left, width} = line.getBoundingClientRect(), room = pane.clientWidth - (left - probe.getBoundingClientRect().left);
      probe.remove();
      return width && pane.clientWidth ? Math.max(20, Math.floor((room * 50) / width)) : 0;
    }

    /** Rows of the lines that are known and have none yet. */
    function addRows() {
      const known = index.isWhole ? index.starts.length : index.starts.length - 1;
      for (; lines < known && rowStarts.length < ROWS_MAX; lines++) {
        const end = index.starts[lines + 1] ?? text.length;
        let from = index.starts[lines];
        do {
          rowStarts.push(from);
          rowLines.push(lines + 1);
          from += columns;
          if (from < end && (text.charCodeAt(from) & 0xfc00) === 0xdc00) from++; // never between the halves of a character
        } while (from < end);
      }
      arrange();
    }

    /** What is shown of the rows: of a folded part only its first. */
    function arrange() {
      marks ??= places();
      const last = rowStarts.length - 1;
      folds = [];
      foldAt = new Map();
      for (const part of index.parts) {
        if (last < 0 || part.end > rowEnd(last)) break;
        const first = rowOf(part.start), end = rowOf(part.end - 1);
        if (end <= first || foldAt.has(first)) continue;
        part.folded ??= index.starts.length > FOLDED_LINES_MIN && !within(part).length;
        Object.assign(part, {first, last: end});
        folds.push(part);
        foldAt.set(first, part);
      }
      shown = [];
      let row = 0;
      for (const part of folds) {
        if (!part.folded) continue;
        while (row <= part.first) shown.push(row++);
        row = part.last + 1;
      }
      while (row <= last) shown.push(row++);
      foldAll.hidden = folds.length < 2;
      setText(foldAll, folds.every((part) => part.folded) ? "Unfold all" : "Fold all");
      const guess = index.isWhole ? shown.length : Math.round(shown.length * text.length / Math.max(1, index.read));
      space.style.height = `${Math.min(guess, ROWS_MAX) * ROW_PX}px`;
      pane.style.height = `${Math.min(SHOWN_PX_MAX, guess * ROW_PX + 18)}px`;
    }

    /** Begin with the first slice; the rest follows between other work. */
    function begin() {
      const width = fitting();
      if (!width || (width === columns && rowStarts.length)) return rowStarts.length > 0;
      Object.assign(pane.dataset, {whole: "no"});
      columns = width;
      [rowStarts, rowLines, lines] = [[], [], 0];
      if (!index.read) index.more();
      addRows();
      if (!index.isWhole) setTimeout(goOn, 0);
      else pane.dataset.whole = "yes";
      return true;
    }

    function goOn() {
      if (index.isWhole || !node.isConnected) return;
      index.more();
      addRows();
      draw();
      if (index.isWhole) pane.dataset.whole = "yes";
      else setTimeout(goOn, 0);
    }

    const rowOf = (offset) => Math.max(0, above(rowStarts, offset) - 1);
    const rowEnd = (row) => rowStarts[row + 1] ?? (row + 1 === ROWS_MAX ? Math.min(text.length, rowStarts[row] + columns) : index.starts[lines] ?? text.length);
    const within = (part) => marks.filter((one) => one.start >= part.start && one.start < part.end && COUNTED.includes(one.state));
    const marksOf = (from, to) => marks.filter((one) => one.start < to && one.end > from && (one.start >= from || rowOf(one.end - 1) - rowOf(one.start) <= MARKED_ROWS_MAX));

    /** The parts of a row, from `from` on. */
    function rowParts(row, from, to) {
      const lineStart = index.starts[rowLines[row] - 1], lineEnd = index.starts[rowLines[row]] ?? text.length;
      const tokens = colouredTokens(text, format, lineStart, lineEnd).filter(([start, end]) => end > from && start < to);
      const here = marksOf(from, to), hits = find.hitsIn(from, to), cuts = cutsOf(from, to, [...tokens, ...hits, ...here.map((mark) => [mark.start, mark.end])]), parts = [];
      for (let cut = 0; cut + 1 < cuts.length; cut++) {
        const [start, end] = [cuts[cut], cuts[cut + 1]], covers = ([first, last]) => first <= start && last >= end;
        const token = tokens.find(covers), hit = hits.find(covers), mark = here.findLast((one) => one.start <= start && one.end >= end);
        const part = text.slice(start, end).replace(/[\r\n]+$/, "");
        if (!part) continue;
        const inner = token ? h(`span.${token[2]}`, {}, part) : part;
        const marked = mark ? h(`mark.${mark.tone}${lit.has(mark.point) ? ".lit" : ""}`, {"data-point": mark.point, title: mark.title}, inner) : inner;
        parts.push(hit ? h(`span.hit${hit[2] ? ".now" : ""}`, {}, marked) : marked);
      }
      return parts;
    }

    /** What a folded part says: its name, its lines, what was found in it. */
    function foldedParts(part) {
      const found = within(part), counts = COUNTED.map((state) => [state, found.filter((one) => one.state === state)]).filter(([, some]) => some.length);
      return [h("b", {}, index.label(part)), h("span.rest", {}, ` ${counted(rowLines[part.last] - rowLines[part.first] + 1, "line")} `),
        ...counts.map(([, some]) => h(`span.code-count.${some[0].tone}`, {"data-point": some[0].point, title: counted(some.length, "finding")}, `${some[0].sign} ${some.length}`))];
    }

    /** The button that folds a part. One of them can be reached by Tab; the arrow keys go to the others. */
    function foldButton(part) {
      return h("button.code-fold", {type: "button", tabindex: part === at ? 0 : -1, "aria-expanded": String(!part.folded), "aria-label": `${part.folded ? "Unfold" : "Fold"} ${index.label(part)}${within(part).length ? `, ${counted(within(part).length, "finding")}` : ""}`,
        click: () => fold(part, !part.folded)}, part.folded ? "▸" : "▾");
    }

    function fold(part, folded) {
      part.folded = folded;
      at = part;
      arrange();
      redraw();
      rows.querySelector(".code-fold[tabindex='0']")?.focus({preventScroll: true});
    }

    function draw() {
      if (!begin()) return;
      const first = Math.max(0, Math.floor(pane.scrollTop / ROW_PX) - AROUND), last = Math.min(shown.length, Math.ceil((pane.scrollTop + SHOWN_PX_MAX) / ROW_PX) + AROUND);
      const state = `${first} ${last} ${columns} ${shown[first]} ${shown[last - 1]}`; // rows that come below change nothing here
      if (state === drawn) return;
      drawn = state;
      const focused = document.activeElement?.matches?.(".code-fold") && rows.contains(document.activeElement);
      rows.style.transform = `translateY(${first * ROW_PX}px)`;
      if (!at || !shown.slice(first, last).includes(at.first)) at = foldAt.get(shown.slice(Math.floor(pane.scrollTop / ROW_PX), last).find((row) => foldAt.has(row))) ?? null;
      rows.replaceChildren(...shown.slice(first, last).map(drawRow));
      if (focused) (rows.querySelector(".code-fold[tabindex='0']") ?? pane).focus({preventScroll: true});
    }

    function drawRow(row) {
      const from = rowStarts[row], to = rowEnd(row), part = foldAt.get(row), folded = part?.folded;
      const mark = folded ? null : marks.find((one) => one.start >= from && one.start < to);
      const begins = row === 0 || rowLines[row - 1] !== rowLines[row];
      const parts = folded ? [...rowParts(row, from, Math.max(from, part.start)), ...foldedParts(part)] : rowParts(row, from, to);
      return h(`div.code-row${folded ? ".folded" : ""}`, {}, h("span.code-sign", {class: mark ? mark.tone : null, "aria-hidden": "true"}, mark?.sign ?? ""),
        h("span.code-number", {"aria-hidden": "true"}, begins ? String(rowLines[row]) : "·"), part ? foldButton(part) : h("span.code-fold"), h("span.code-line", {"data-from": folded ? null : from}, parts));
    }

    function redraw() {
      drawn = "";
      draw();
    }

    /** Show a position: read so far, unfold its part, scroll there. */
    function scrollTo(offset) {
      if (!begin()) return;
      if (index.read <= offset) {
        index.upTo(offset + 1);
        addRows();
        if (index.isWhole) pane.dataset.whole = "yes";
      }
      const part = folds.find((one) => one.folded && offset >= one.start && offset < one.end);
      if (part) {
        part.folded = false;
        arrange();
      }
      pane.scrollTop = Math.max(0, (above(shown, rowOf(offset)) - 1) * ROW_PX - pane.clientHeight / 3);
      redraw();
    }

    /** Arrow keys on a fold's button: to the next and previous one, open and close. */
    pane.addEventListener("keydown", (event) => {
      if (!event.target.matches(".code-fold")) return;
      const now = folds.indexOf(at), by = {ArrowDown: 1, ArrowUp: -1}[event.key];
      if (by) {
        at = folds[Math.min(folds.length - 1, Math.max(0, now + by))];
        const top = (above(shown, at.first) - 1) * ROW_PX;
        if (top < pane.scrollTop || top > pane.scrollTop + pane.clientHeight - 2 * ROW_PX) pane.scrollTop = Math.max(0, top - pane.clientHeight / 3); // drawn again when it has scrolled
        redraw();
        rows.querySelector(".code-fold[tabindex='0']")?.focus({preventScroll: true});
      } else if (event.key === "ArrowRight") fold(folds[now], false);
      else if (event.key === "ArrowLeft") fold(folds[now], true);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    pane.addEventListener("scroll", draw, {passive: true});
    new ResizeObserver(draw).observe(pane);
    return {node, redraw, reveal: (place) => scrollTo(place.start), element: (point) => rows.querySelector(`[data-point="${point}"]`), search: () => find.focus()};
  };
})();
