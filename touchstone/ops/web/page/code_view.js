// A document of any size: only the visible rows are in the page. Long lines are broken into rows, so that one line of 5 MB can be read, too.

const codeView = (() => {
  const ROW_PX = 20; // as in reading.css
  const AROUND = 30; // rows drawn above and below the visible ones
  const SHOWN_PX_MAX = 560;
  const ROWS_MAX = 1_000_000; // browsers limit the height of an element
  const HITS_MAX = 5_000;
  const MARKED_ROWS_MAX = 60; // a mark over more rows is drawn on its first row only
  const COLOURED_CHARS_MAX = 4_000; // longer lines stay plain
  const TOKENS = {
    json: /("(?:[^"\\]|\\.)*")(\s*:)?|-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b|\b(?:true|false|null)\b/g,
    xml: /<!--[^]*?-->|<[/?!]?[\w:.-]+|\/?>|([\w:.-]+)(=)|"[^"]*"/g,
    hl7v2: /^[A-Z][A-Z0-9]{2}(?=\|)|[|^~&]/g,
  };

  /** Kinds of tokens of a line, as [start, end, class]. */
  function coloured(format, line) {
    const pattern = own(TOKENS, format), found = [];
    if (!pattern || line.length > COLOURED_CHARS_MAX) return found;
    for (const match of line.matchAll(pattern)) {
      const [whole, first, second] = match, at = match.index;
      if (format === "json") found.push(first ? [at, at + first.length, second ? "c-key" : "c-string"] : [at, at + whole.length, "c-number"]);
      else if (format === "xml") found.push(first ? [at, at + first.length, "c-key"] : [at, at + whole.length, whole[0] === "\"" ? "c-string" : whole.startsWith("<!--") ? "c-number" : "c-tag"]);
      else found.push([at, at + whole.length, whole.length > 1 ? "c-key" : "c-tag"]);
    }
    return found;
  }

  /** Where lines begin. Every kind of line end counts. */
  function lineStarts(text) {
    const starts = [0];
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === 10 || (code === 13 && text.charCodeAt(at + 1) !== 10)) starts.push(at + 1);
    }
    return starts;
  }

  /** The first index of a sorted list whose value is greater. */
  function above(sorted, value) {
    let low = 0, high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] > value) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /**
   * A document. `places`: [{point, start, end, tone}], with `start` and `end` in UTF-16 units. `lit`: the set of points that are highlighted.
   * Returns {node, reveal(place), redraw(), element(point)}.
   */
  return function codeView({text, format, label, places, lit}) {
    const starts = lineStarts(text);
    let rowStarts = [], rowLines = [], columns = 0, byRow = new Map();
    let hits = [], hitAt = -1, lower = null, drawn = "";
    const rows = h("div.code-rows"), space = h("div.code-space", {}, rows);
    const pane = h("div.code-pane", {tabindex: 0, role: "region", "aria-label": label}, space);
    const count = h("span.rest", {role: "status"});
    const field = h("input", {type: "search", "aria-label": `Search in ${label}`, placeholder: "Search in this document", maxlength: 200, spellcheck: "false", autocomplete: "off"});
    const again = (by) => h("button", {type: "button", "aria-label": by < 0 ? "Previous match" : "Next match", click: () => toHit(by)}, by < 0 ? "↑" : "↓");
    const node = h("div.code", {}, h("div.code-bar", {}, field, again(-1), again(1), count), pane);

    /** Break lines into rows of the pane's width. */
    function layOut() {
      const probe = h("span.code-line", {}, "0".repeat(50));
      rows.replaceChildren(probe);
      const width = probe.getBoundingClientRect().width / 50;
      if (!width || !pane.clientWidth) return false;
      const fitting = Math.max(20, Math.floor((pane.clientWidth - 90) / width));
      if (fitting === columns) return true;
      columns = fitting;
      rowStarts = [];
      rowLines = [];
      for (let line = 0; line < starts.length && rowStarts.length < ROWS_MAX; line++) {
        const end = starts[line + 1] ?? text.length;
        let at = starts[line];
        do {
          rowStarts.push(at);
          rowLines.push(line + 1);
          at += columns;
          if (at < end && (text.charCodeAt(at) & 0xfc00) === 0xdc00) at++; // never between the halves of a character
        } while (at < end);
      }
      space.style.height = `${rowStarts.length * ROW_PX}px`;
      pane.style.height = `${Math.min(SHOWN_PX_MAX, rowStarts.length * ROW_PX + 18)}px`;
      byRow = new Map();
      for (const place of places) {
        const first = rowOf(place.start), last = rowOf(Math.max(place.start, place.end - 1));
        for (let row = first; row <= (last - first > MARKED_ROWS_MAX ? first : last); row++) {
          if (!byRow.has(row)) byRow.set(row, []);
          byRow.get(row).push(place);
        }
      }
      return true;
    }

    const rowOf = (offset) => Math.max(0, above(rowStarts, offset) - 1);
    const rowEnd = (row) => rowStarts[row + 1] ?? (row + 1 === ROWS_MAX ? Math.min(text.length, rowStarts[row] + columns) : text.length);

    /** The parts of a row: cut wherever a token, a mark or a hit begins or ends. */
    function rowParts(row) {
      const from = rowStarts[row], to = rowEnd(row), lineStart = starts[rowLines[row] - 1], lineEnd = starts[rowLines[row]] ?? text.length;
      const line = lineEnd - lineStart > COLOURED_CHARS_MAX ? "" : text.slice(lineStart, lineEnd);
      const tokens = coloured(format, line).map(([start, end, kind]) => [lineStart + start, lineStart + end, kind]).filter(([start, end]) => end > from && start < to);
      const marks = byRow.get(row) ?? [];
      const found = [];
      for (let at = Math.max(0, above(hits, from) - 2); at < hits.length && hits[at] < to; at++) found.push([hits[at], hits[at] + field.value.length, at]);
      const cuts = new Set([from, to]);
      for (const [start, end] of [...tokens, ...found, ...marks.map((mark) => [mark.start, mark.end])]) for (const cut of [start, end]) if (cut > from && cut < to) cuts.add(cut);
      const sorted = [...cuts].sort((one, other) => one - other), parts = [];
      for (let at = 0; at + 1 < sorted.length; at++) {
        const [start, end] = [sorted[at], sorted[at + 1]];
        const within = ([first, last]) => first <= start && last >= end;
        const token = tokens.find(within), hit = found.find(within), mark = marks.findLast((one) => one.start <= start && one.end >= end);
        const part = text.slice(start, end).replace(/[\r\n]+$/, "");
        if (!part) continue;
        const inner = token ? h(`span.${token[2]}`, {}, part) : part;
        const marked = mark ? h(`mark.${mark.tone}${lit.has(mark.point) ? ".lit" : ""}`, {"data-point": mark.point, title: mark.title}, inner) : inner;
        parts.push(hit ? h(`span.hit${hit[2] === hitAt ? ".now" : ""}`, {}, marked) : marked);
      }
      return parts;
    }

    function draw() {
      if (!columns && !layOut()) return;
      const first = Math.max(0, Math.floor(pane.scrollTop / ROW_PX) - AROUND), last = Math.min(rowStarts.length, Math.ceil((pane.scrollTop + SHOWN_PX_MAX) / ROW_PX) + AROUND);
      const state = `${first} ${last} ${columns}`;
      if (state === drawn) return;
      drawn = state;
      rows.style.transform = `translateY(${first * ROW_PX}px)`;
      const made = [];
      for (let row = first; row < last; row++) {
        const begins = row === 0 || rowLines[row - 1] !== rowLines[row];
        const mark = (byRow.get(row) ?? []).find((one) => rowOf(one.start) === row);
        made.push(h("div.code-row", {}, h("span.code-sign", {class: mark ? mark.tone : null, "aria-hidden": "true"}, mark?.sign ?? ""),
          h("span.code-number", {"aria-hidden": "true"}, begins ? String(rowLines[row]) : "·"), h("span.code-line", {}, rowParts(row))));
      }
      rows.replaceChildren(...made);
    }

    function redraw() {
      drawn = "";
      draw();
    }

    function scrollTo(offset) {
      if (!columns) layOut();
      pane.scrollTop = Math.max(0, rowOf(offset) * ROW_PX - pane.clientHeight / 3);
      redraw();
    }

    function search() {
      const sought = field.value;
      lower ??= text.toLowerCase().length === text.length ? text.toLowerCase() : text; // some letters change their length
      const wanted = lower === text ? sought : sought.toLowerCase();
      hits = [];
      hitAt = -1;
      for (let at = wanted ? lower.indexOf(wanted) : -1; at >= 0 && hits.length < HITS_MAX; at = lower.indexOf(wanted, at + wanted.length)) hits.push(at);
      setText(count, sought && !hits.length ? "not found" : "");
      if (hits.length) toHit(1);
      else redraw();
    }

    function toHit(by) {
      if (!hits.length) return;
      hitAt = (hitAt + by + hits.length) % hits.length;
      setText(count, `${grouped.format(hitAt + 1)} of ${hits.length === HITS_MAX ? "at least " : ""}${grouped.format(hits.length)}`);
      scrollTo(hits[hitAt]);
    }

    let typing = 0;
    field.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(search, 120);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      toHit(event.shiftKey ? -1 : 1);
    });
    pane.addEventListener("scroll", draw, {passive: true});
    new ResizeObserver(() => {
      if (layOut()) redraw();
    }).observe(pane);
    return {
      node, redraw,
      reveal: (place) => scrollTo(place.start),
      element: (point) => rows.querySelector(`[data-point="${point}"]`),
      lineAt: (line) => starts[Math.min(Math.max(1, line), starts.length) - 1],
    };
  };
})();
