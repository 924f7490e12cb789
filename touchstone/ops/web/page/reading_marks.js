// Signs of the states of a reading, and where the marks of a text lie.

const SIGNS = {good: "✓", missing: "○", bad: "✕", unsure: "◐", note: "·"};
const STATE_WORDS = {good: "as it should be", missing: "missing", bad: "wrong", unsure: "unsure", note: "note"};

const STATE_RANK = ["note", "good", "unsure", "missing", "bad"]; // of two marks on the same place the later one gives the colour
const WRONG = ["bad", "missing", "unsure"]; // the gravest first

const stateTone = (state) => `s-${Object.hasOwn(SIGNS, state) ? state : "note"}`;
const stateSign = (state) => state && h(`span.state.${stateTone(state)}`, {}, h("span", {"aria-hidden": "true"}, own(SIGNS, state) ?? "·"), h("span.sr", {}, `${own(STATE_WORDS, state) ?? state}: `));
const markTitle = (mark) => [own(STATE_WORDS, mark.state), mark.code, mark.note].filter(Boolean).join(" · ");

/** The marks of a text as {mark, start, end} in UTF-16 units. A mark of a line covers the rest of the line from its column. */
const placesOf = (() => {
  /** A function from positions in code points to UTF-16 positions. */
  function positions(text, wanted) {
    if (!/[\ud800-\udbff]/.test(text)) return (at) => Math.min(at, text.length);
    const sorted = [...new Set(wanted)].sort((one, other) => one - other), found = new Map();
    let points = 0, units = 0;
    for (const position of sorted) {
      for (; points < position && units < text.length; points++) units += text.codePointAt(units) > 0xffff ? 2 : 1;
      found.set(position, units);
    }
    return (at) => found.get(at) ?? text.length;
  }

  return function placesOf(text, marks) {
    const at = positions(text, marks.flatMap((mark) => (mark.start === null || mark.start === undefined ? [] : [mark.start, mark.end ?? mark.start + 1])));
    let lines = null;
    return marks.map((mark) => {
      if (mark.start !== null && mark.start !== undefined) return {mark, start: at(mark.start), end: Math.max(at(mark.start), at(mark.end ?? mark.start + 1))};
      if (!mark.line) return null;
      lines ??= [...text.matchAll(/\r\n|\r|\n|$/g)].map((end) => end.index);
      const index = Math.min(mark.line, lines.length) - 1, end = lines[index];
      let start = index ? lines[index - 1] + (text.startsWith("\r\n", lines[index - 1]) ? 2 : 1) : 0;
      if (mark.column) for (let left = mark.column - 1; left > 0 && start < end; left--) start += text.codePointAt(start) > 0xffff ? 2 : 1;
      else while (start < end && " \t".includes(text[start])) start++;
      return {mark, start, end};
    }).filter((place) => place !== null && place.end > place.start);
  }
})();
