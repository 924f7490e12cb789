// What belongs together in a reading: places that refer to the same finding, or name the other's id, are highlighted together, and lead to each other.

/** The places of one reading. */
function readingPoints() {
  const points = []; // {id, finding, to, state, section, element(), reveal()}
  const lit = new Set(), tied = new Map();
  let walking = -1, from = -1, index = -1;

  /** Register a place that can be highlighted; returns its number. */
  function point(one, section, element, reveal = null) {
    tied.clear();
    points.push({id: one.id ?? null, finding: one.finding ?? null, to: one.to ?? [], state: one.state, section, element, reveal, isText: one.start !== undefined || one.line !== undefined});
    return points.length - 1;
  }

  /** The places that belong together with one. */
  function related(number) {
    if (!tied.size) {
      const note = (key, at) => (tied.has(key) ? tied.get(key).push(at) : tied.set(key, [at]));
      for (const [at, one] of points.entries()) {
        if (one.finding !== null) note(`f${one.finding}`, at);
        if (one.id !== null) note(`i${one.id}`, at);
        for (const id of one.to) note(`t${id}`, at);
      }
    }
    const its = points[number], found = new Set();
    const add = (key) => { for (const at of tied.get(key) ?? []) if (at !== number) found.add(at); };
    if (its.finding !== null) add(`f${its.finding}`);
    if (its.id !== null) add(`t${its.id}`);
    for (const id of its.to) add(`i${id}`);
    return [...found];
  }

  function light(number) {
    for (const at of lit) points[at].element()?.classList.remove("lit");
    lit.clear();
    if (number !== null) for (const at of [number, ...related(number)]) lit.add(at);
    for (const at of lit) points[at].element()?.classList.add("lit");
  }

  /** Show a place: open what is folded, scroll there. */
  function reveal(number, {focus = false} = {}) {
    const one = points[number];
    one.section.closest("details")?.setAttribute("open", "");
    one.section.dispatchEvent(new CustomEvent("touchstone:reveal", {bubbles: true}));
    one.reveal?.();
    light(number);
    const element = one.element();
    element?.scrollIntoView({block: "nearest", inline: "nearest"});
    if (focus) element?.focus({preventScroll: true});
  }

  /** Where a place leads: to other sections, the places in a text before rows of tables and whole documents. */
  function leads(number) {
    const there = related(number), away = there.filter((at) => points[at].section !== points[number].section);
    const exact = away.filter((at) => points[at].finding !== null && points[at].finding === points[number].finding);
    const places = exact.filter((at) => points[at].isText);
    return [places, exact, away, there].find((some) => some.length) ?? [];
  }

  /** Go from a place to what belongs to it; once more goes to the next of them. */
  function travel(number, {focus = false} = {}) {
    const there = leads(number);
    if (!there.length) return light(number);
    index = ((number === from ? index : -1) + 1) % there.length;
    from = number;
    reveal(there[index]);
    light(number);
    if (focus) points[there[index]].element()?.focus({preventScroll: true});
    return undefined;
  }

  /** Go to the next wrong place that is listed, and to its place in the text. */
  function step(by) {
    const wrong = points.map((one, at) => at).filter((at) => WRONG.includes(points[at].state));
    const stops = wrong.filter((at) => points[at].element()?.matches(".checks li")), list = stops.length ? stops : wrong;
    if (!list.length) return;
    walking = (walking + by + list.length + (walking < 0 && by < 0 ? 1 : 0)) % list.length;
    reveal(list[walking], {focus: true});
    const there = leads(list[walking])[0];
    if (there !== undefined && points[there].section !== points[list[walking]].section) reveal(there);
    light(list[walking]);
  }
  return {point, related, light, reveal, travel, step, lit, of: (number) => points[number]};
}
