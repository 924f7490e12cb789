// Places that a reviewer marks in the texts of a case. A mark is anchored by the section's id, by positions in its text, and by the text's digest; it quotes nothing.
// It is drawn by the browser's highlights, so nothing in the text itself changes.

/** The marks of one case: {of(): those of one's own, set(marks), add(): marks what is selected, redraw(), node}. `changed()`: one was added or removed. */
function textMarks(changed) {
  const NAME = "reviewer";
  const list = h("ul.marks"), node = h("div.marks-of", {hidden: true}, h("h3", {}, "Marked places"), list);
  let marks = [], texts = null, root = null, isShown = true, titles = new Map(), watching = null, drawing = 0;
  const digests = new Map(); // field → promise of its digest
  const digestOf = (field) => {
    if (!digests.has(field)) digests.set(field, sha256(texts.get(field)));
    return digests.get(field);
  };
  const points = (text) => [...text].length;
  /** The UTF-16 position of a code point. */
  function unitsAt(text, point) {
    let units = 0;
    for (let at = 0; at < point && units < text.length; at++) units += text.codePointAt(units) > 0xffff ? 2 : 1;
    return units;
  }

  /** The texts of the case are there: `fields` of a drawn reading, the element that shows them, and whether the texts themselves are shown. */
  function attach(fields, element, isWhole) {
    [texts, root, isShown] = [fields, element, isWhole];
    digests.clear();
    titles = new Map([...element.querySelectorAll("[data-field]")].map((one) => [one.dataset.field, one.getAttribute("aria-label") ?? one.querySelector("summary")?.textContent ?? one.dataset.field]));
    watching?.disconnect();
    watching = new MutationObserver(soon); // documents draw only their visible rows
    watching.observe(element, {childList: true, subtree: true});
    redraw();
  }

  function soon() {
    cancelAnimationFrame(drawing);
    drawing = requestAnimationFrame(paint);
  }

  /** Whether a mark still fits: "fits", "stale", or "hidden" where the text is not there to compare. */
  async function stateOf(mark) {
    if (texts === null || !isShown) return "hidden";
    if (!texts.has(mark.field)) return "stale";
    return await digestOf(mark.field) === mark.digest ? "fits" : "stale";
  }

  /** The range of the piece of an element that lies between two positions; null if none does. */
  function rangeWithin(element, start, end) {
    const from = Number(element.dataset.from), walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), range = document.createRange();
    let at = from, begun = false;
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      const next = at + text.data.length;
      if (!begun && start < next && end > at) {
        range.setStart(text, Math.max(0, start - at));
        begun = true;
      }
      if (begun && end > at) range.setEnd(text, Math.min(text.data.length, end - at));
      at = next;
    }
    return begun ? range : null;
  }

  /** Draw the marks that fit into the texts that are on the page. */
  async function paint() {
    if (!globalThis.CSS?.highlights || root === null) return;
    const ranges = [];
    for (const mark of marks) {
      if (await stateOf(mark) !== "fits") continue;
      const text = texts.get(mark.field), start = unitsAt(text, mark.start), end = unitsAt(text, mark.end);
      for (const element of root.querySelectorAll(`[data-field="${CSS.escape(mark.field)}"] [data-from]`)) {
        const range = rangeWithin(element, start, end);
        if (range) ranges.push(range);
      }
    }
    CSS.highlights.set(NAME, new Highlight(...ranges));
  }

  const WORDS = {fits: "", stale: " stale: this text has changed since", hidden: " the text is not shown here"};

  async function redraw() {
    node.hidden = !marks.length;
    const states = await Promise.all(marks.map(stateOf));
    list.replaceChildren(...marks.map((mark, at) => h("li", {class: states[at]}, h("span", {}, `${titles.get(mark.field) ?? mark.field}, characters ${grouped.format(mark.start + 1)} to ${grouped.format(mark.end)}`, WORDS[states[at]] && h("b", {}, WORDS[states[at]])),
      states[at] === "fits" && h("button", {type: "button", "aria-label": `Show mark ${at + 1}`, click: () => show(mark)}, "▸"),
      h("button", {type: "button", "aria-label": `Remove mark ${at + 1}`, click: () => { marks = marks.filter((one) => one !== mark); redraw(); changed(); }}, "✕"))));
    return paint();
  }

  /** Bring a mark into view; documents scroll to it by themselves. */
  function show(mark) {
    const section = root.querySelector(`[data-field="${CSS.escape(mark.field)}"]`), start = unitsAt(texts.get(mark.field), mark.start);
    section.closest("details")?.setAttribute("open", "");
    section.dispatchEvent(new CustomEvent("touchstone:reveal", {bubbles: true}));
    section.querySelector(".section-body").showAt?.(start);
    const near = [...section.querySelectorAll("[data-from]")].filter((one) => Number(one.dataset.from) <= start).at(-1);
    near?.scrollIntoView({block: "center", inline: "nearest"});
  }

  /** The place that is selected, as a field and UTF-16 positions; null if it is in no text. */
  function selected() {
    const selection = getSelection();
    if (selection.isCollapsed || !selection.rangeCount || root === null) return null;
    const range = selection.getRangeAt(0), touched = [...root.querySelectorAll("[data-from]")].filter((one) => range.intersectsNode(one));
    const section = touched[0]?.closest("[data-field]");
    let start = Infinity, end = -1;
    for (const piece of touched.filter((one) => one.closest("[data-field]") === section)) {
      const from = Number(piece.dataset.from), before = document.createRange();
      const upTo = (node, offset) => { before.selectNodeContents(piece); before.setEnd(node, offset); return before.toString().length; };
      const first = piece.contains(range.startContainer) ? upTo(range.startContainer, range.startOffset) : 0;
      const last = piece.contains(range.endContainer) ? upTo(range.endContainer, range.endOffset) : piece.textContent.length;
      if (last <= first) continue;
      start = Math.min(start, from + first);
      end = Math.max(end, from + last);
    }
    return end > start ? {field: section.dataset.field, start, end} : null;
  }

  /** Mark what is selected; returns what to say of it. */
  async function add() {
    if (!isShown || texts === null) return "The texts are not shown, so nothing can be marked.";
    const place = selected();
    if (place === null) return "Select a part of the prompt, the persona, a text or a document first.";
    const text = texts.get(place.field), start = points(text.slice(0, place.start)), mark = {field: place.field, start, end: start + points(text.slice(place.start, place.end)), digest: await digestOf(place.field)};
    if (marks.some((one) => one.field === mark.field && one.start === mark.start && one.end === mark.end && one.digest === mark.digest)) return "This place is marked already.";
    marks = [...marks, mark];
    getSelection().removeAllRanges();
    redraw();
    changed();
    return `Marked: ${titles.get(mark.field) ?? mark.field}, ${counted(mark.end - mark.start, "character")}.`;
  }

  return {
    node, attach, add,
    of: () => marks,
    set(given) {
      marks = given ?? [];
      redraw();
    },
    leave() {
      watching?.disconnect();
      globalThis.CSS?.highlights?.delete(NAME);
    },
  };
}
