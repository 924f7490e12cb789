// Parts of the view of a document: the colours of its tokens, and the search in it.

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

/** Kinds of tokens of a line of a text, as [start, end, class]. */
const colouredTokens = (() => {
  const COLOURED_CHARS_MAX = 4_000; // longer lines stay plain
  const TOKENS = {
    json: /("(?:[^"\\]|\\.)*")(\s*:)?|-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b|\b(?:true|false|null)\b/g,
    xml: /<!--[^]*?-->|<[/?!]?[\w:.-]+|\/?>|([\w:.-]+)(=)|"[^"]*"/g,
    hl7v2: /^[A-Z][A-Z0-9]{2}(?=\|)|[|^~&]/g,
  };
  return function colouredTokens(text, format, from, to) {
    const pattern = own(TOKENS, format), found = [];
    if (!pattern || to - from > COLOURED_CHARS_MAX) return found;
    for (const match of text.slice(from, to).matchAll(pattern)) {
      const [whole, first, second] = match, at = from + match.index;
      if (format === "json") found.push(first ? [at, at + first.length, second ? "c-key" : "c-string"] : [at, at + whole.length, "c-number"]);
      else if (format === "xml") found.push(first ? [at, at + first.length, "c-key"] : [at, at + whole.length, whole[0] === "\"" ? "c-string" : whole.startsWith("<!--") ? "c-number" : "c-tag"]);
      else found.push([at, at + whole.length, whole.length > 1 ? "c-key" : "c-tag"]);
    }
    return found;
  };
})();

/** A search field over a text: `go(offset)` shows a match. Enter and Shift+Enter walk through the matches. */
const codeSearch = (() => {
  const HITS_MAX = 5_000;
  const PAUSE_MS = 120;

  /** A text without its case; as it is, if that would move its characters. */
  function folded(text) {
    const lower = text.toLowerCase();
    return lower.length === text.length ? {text: lower, same: true} : {text, same: false};
  }

  return function codeSearch({text, label, go, redraw}) {
    let hits = [], now = -1, length = 0, searched = null, typing = 0;
    const count = h("span.rest", {role: "status"});
    const field = h("input", {type: "search", "aria-label": `Search in ${label}`, placeholder: "Search in this document  /", maxlength: 200, spellcheck: "false", autocomplete: "off"});
    const again = (by) => h("button", {type: "button", "aria-label": by < 0 ? "Previous match" : "Next match", click: () => step(by)}, by < 0 ? "↑" : "↓");

    function search() {
      clearTimeout(typing);
      typing = 0;
      searched ??= folded(text);
      const wanted = searched.same ? field.value.toLowerCase() : field.value;
      hits = [];
      now = -1;
      length = wanted.length;
      for (let at = wanted ? searched.text.indexOf(wanted) : -1; at >= 0 && hits.length < HITS_MAX; at = searched.text.indexOf(wanted, at + length)) hits.push(at);
      setText(count, wanted && !hits.length ? "not found" : "");
      if (hits.length) step(1);
      else redraw();
    }

    function step(by) {
      if (typing) return search();
      if (!hits.length) return undefined;
      now = (now + by + hits.length) % hits.length;
      setText(count, `${grouped.format(now + 1)} of ${hits.length === HITS_MAX ? "at least " : ""}${grouped.format(hits.length)}`);
      return go(hits[now]);
    }

    field.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(search, PAUSE_MS);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      step(event.shiftKey ? -1 : 1);
    });

    /** Matches between two positions, as [start, end, whether it is the one that was gone to]. */
    function hitsIn(from, to) {
      const found = [];
      for (let at = Math.max(0, above(hits, from) - 2); at < hits.length && hits[at] < to; at++) found.push([hits[at], hits[at] + length, at === now]);
      return found;
    }
    return {node: [field, again(-1), again(1), count], hitsIn, focus: () => { field.focus(); field.select(); }};
  };
})();
