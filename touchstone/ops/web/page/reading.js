// Draws the reading of a case: sections, marked places in them, and what belongs together.
//
// const drawn = drawReading(reading, {findings, prefix});
// drawn.texts, drawn.checks: elements with the sections that show the case, and with those that judge it; drawn.step(by): go to the next finding.
// Whatever refers to the same finding, or names the other's id, is highlighted together; a click goes from one to the other.

const drawReading = (() => {
  const SIGNS = {good: "✓", missing: "○", bad: "✕", unsure: "◐", note: "·"};
  const WORDS = {good: "as it should be", missing: "missing", bad: "wrong", unsure: "unsure", note: "note"};
  const STATES = Object.keys(SIGNS).reverse();
  const SEVERITY_STATES = {critical: "bad", major: "bad", minor: "unsure", info: "note"};
  const RANK = ["note", "good", "unsure", "missing", "bad"]; // of two marks on the same place the later one gives the colour
  const PARTS_SHOWN = 200;
  const TEXT_CHARS_MAX = 60_000; // longer texts are drawn as documents
  const CHECKING = new Set(["checks", "bars"]);

  const tone = (state) => `s-${STATES.includes(state) ? state : "note"}`;
  const stateSign = (state) => state && h(`span.state.${tone(state)}`, {}, h("span", {"aria-hidden": "true"}, own(SIGNS, state) ?? "·"), h("span.sr", {}, `${own(WORDS, state) ?? state}: `));

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

  /** The marks of a text as {mark, start, end} in UTF-16 units. A mark of a line covers the rest of the line from its column. */
  function placesOf(text, marks) {
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

  return function drawReading(reading, {findings = [], prefix = "reading"} = {}) {
    const points = []; // {id, finding, to, state, section, element(), reveal()}
    const lit = new Set();
    const codes = [];
    let walking = -1;

    /** Register a place that can be highlighted; returns its number. */
    function point(one, section, element, reveal = null) {
      points.push({id: one.id ?? null, finding: one.finding ?? null, to: one.to ?? [], state: one.state, section, element, reveal});
      return points.length - 1;
    }

    /** An element for an item, row, pair or entry. */
    function placed(name, one, section, ...children) {
      const made = h(name, {}, ...children);
      made.dataset.point = point(one, section, () => made);
      made.tabIndex = -1;
      return made;
    }

    const tied = new Map();
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
      const own = points[number], found = new Set();
      const add = (key) => { for (const at of tied.get(key) ?? []) if (at !== number) found.add(at); };
      if (own.finding !== null) add(`f${own.finding}`);
      if (own.id !== null) add(`t${own.id}`);
      for (const id of own.to) add(`i${id}`);
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
      one.reveal?.();
      light(number);
      const element = one.element();
      element?.scrollIntoView({block: "nearest", inline: "nearest"});
      if (focus) element?.focus({preventScroll: true});
    }

    /** Go from a place to what belongs to it; once more goes to the next of them. */
    function travel(number, {focus = false} = {}) {
      const away = related(number).filter((at) => points[at].section !== points[number].section);
      const there = away.length ? away : related(number);
      if (!there.length) return light(number);
      const before = travel.from === number ? travel.index : -1;
      Object.assign(travel, {from: number, index: (before + 1) % there.length});
      reveal(there[travel.index]);
      light(number);
      if (focus) points[there[travel.index]].element()?.focus({preventScroll: true});
    }

    const goButton = (number) => h("button.go", {type: "button", "aria-label": "Show where", title: "Show where", click: (event) => { event.stopPropagation(); travel(number, {focus: true}); }}, "▸");

    /** Children of which the first ones are shown at once. */
    function bounded(parent, items, make, tag = "li") {
      const add = (list) => parent.append(...list.map(make));
      add(items.slice(0, PARTS_SHOWN));
      if (items.length > PARTS_SHOWN) {
        const more = h(tag, {}, h(tag === "tr" ? "td" : "span", {colspan: tag === "tr" ? 99 : null}, h("button", {type: "button", click: () => { more.remove(); tied.clear(); add(items.slice(PARTS_SHOWN)); }}, `Show ${grouped.format(items.length - PARTS_SHOWN)} more`)));
        parent.append(more);
      }
      return parent;
    }

    const draws = {
      text(section, body) {
        if (section.text.length > TEXT_CHARS_MAX) return draws.code({...section, format: "text"}, body);
        const places = placesOf(section.text, section.marks ?? []).sort((one, other) => RANK.indexOf(one.mark.state) - RANK.indexOf(other.mark.state));
        const numbered = places.map((place) => ({...place, first: null, number: point(place.mark, body, () => place.node, null)}));
        const cuts = [...new Set([0, section.text.length, ...places.flatMap(({start, end}) => [start, end])])].sort((one, other) => one - other);
        const text = h("div.running", {});
        for (let at = 0; at + 1 < cuts.length; at++) {
          const part = section.text.slice(cuts[at], cuts[at + 1]), covering = numbered.filter(({start, end}) => start <= cuts[at] && end >= cuts[at + 1]);
          if (!covering.length) { text.append(part); continue; }
          const top = covering.at(-1), ends = covering.filter(({end}) => end === cuts[at + 1]).at(-1);
          const node = h(`mark.${tone(top.mark.state)}`, {tabindex: -1, "data-point": top.number, title: [own(WORDS, top.mark.state), top.mark.code, top.mark.note].filter(Boolean).join(" · ")}, part);
          for (const one of covering) places.find((place) => place.mark === one.mark && place.start === one.start).node ??= node;
          text.append(node);
          if (ends) text.append(h(`sup.${tone(ends.mark.state)}`, {}, h("span", {"aria-hidden": "true"}, own(SIGNS, ends.mark.state) ?? "·"), h("span.sr", {}, ` (${[own(WORDS, ends.mark.state), ends.mark.note].filter(Boolean).join(": ")}) `)));
        }
        body.append(text);
      },
      code(section, body) {
        const places = placesOf(section.text, section.marks ?? []).map(({mark, start, end}) => {
          const place = {start, end, tone: tone(mark.state), sign: own(SIGNS, mark.state) ?? "·", title: [own(WORDS, mark.state), mark.code, mark.note].filter(Boolean).join(" · ")};
          place.point = point(mark, body, () => view.element(place.point), () => view.reveal(place));
          return place;
        });
        const view = codeView({text: section.text, format: section.format, label: section.title, places, lit});
        codes.push(view);
        body.append(view.node);
      },
      checks(section, body) {
        if (!section.items?.length) return body.append(h("p.rest", {}, "None."));
        body.append(bounded(h("ul.checks", {}), section.items, (item) => checkItem(item, body)));
      },
      pairs(section, body) {
        body.append(h("dl.pairs", {}, (section.pairs ?? []).map((pair) => placed("div", pair, body, h("dt", {}, stateSign(pair.state), pair.key), h("dd", {}, pair.value)))));
      },
      table(section, body) {
        const rows = bounded(h("tbody"), section.rows ?? [], (row) => {
          const cells = row.cells.map((cell, at) => h("td", {}, at === 0 ? stateSign(row.state) : null, cell));
          const made = placed("tr", row, body, cells);
          const number = Number(made.dataset.point);
          made.append(h("td.rest", {}, row.note, row.finding !== null && row.finding !== undefined ? goButton(number) : null));
          return made;
        }, "tr");
        body.append(h("div.scrolls", {tabindex: 0, role: "region", "aria-label": `${section.title}: table`}, h("table", {}, h("thead", {}, h("tr", {}, section.columns.map((column) => h("th", {scope: "col"}, column)), h("th", {scope: "col"}, h("span.sr", {}, "Note")))), rows)));
      },
      timeline(section, body) {
        const moments = section.entries.flatMap(({begin, end}) => [Date.parse(begin ?? ""), Date.parse(end ?? "")]).filter(Number.isFinite);
        const first = Math.min(...moments), span = Math.max(...moments) - first || 1;
        if (moments.length) body.append(h("p.axis", {}, h("span", {}, new Date(first).toISOString().slice(0, 10)), h("span", {}, new Date(first + span).toISOString().slice(0, 10))));
        for (const lane of section.lanes) {
          const entries = section.entries.filter((entry) => entry.lane === lane);
          if (!entries.length) continue;
          body.append(h("h3", {}, lane), bounded(h("ol.lane", {}), entries, (entry) => {
            const begin = Date.parse(entry.begin ?? ""), end = Date.parse(entry.end ?? "");
            const bar = h(`i${entry.state ? `.${tone(entry.state)}` : ""}`);
            if (Number.isFinite(begin) || Number.isFinite(end)) {
              const from = Number.isFinite(begin) ? begin : end;
              bar.style.marginLeft = `${Math.min(98, (from - first) / span * 98)}%`;
              bar.style.width = Number.isFinite(end) ? `${Math.max(0, (end - from) / span * 98)}%` : "0";
            } else bar.hidden = true;
            return placed("li", entry, body, h("span", {}, stateSign(entry.state), entry.text, entry.note && h("span.rest", {}, ` ${entry.note}`)),
              h("time", {}, [entry.begin, entry.end].filter(Boolean).map((at) => at.slice(0, 10)).join(" – ")), h("span.track", {"aria-hidden": "true"}, bar));
          }));
        }
      },
      bars(section, body) {
        body.append(h("dl.bars", {}, (section.bars ?? []).map((bar) => {
          const known = typeof bar.value === "number", fill = h("i");
          fill.style.width = known ? `${Math.max(0, Math.min(1, (bar.value - bar.low) / (bar.high - bar.low || 1))) * 100}%` : "0";
          const share = typeof bar.share === "number" ? `weight ${percent(bar.share)}` : "";
          return h("div", {}, h("dt", {}, stateSign(bar.state), bar.name, h("small", {}, [share, bar.better === "lower" && "lower is better"].filter(Boolean).join(", "))),
            h("dd", {}, known ? bar.printed || figure(bar.value, bar.high > 1.5 ? 0 : 2) : "not computed"), h(`span.track${bar.state ? `.${tone(bar.state)}` : ""}`, {"aria-hidden": "true"}, fill));
        })));
      },
    };

    function checkItem(item, body) {
      const li = placed("li", item, body, stateSign(item.state), h("span.what", {}, item.code && h("code", {}, item.code), item.label && h("span.label", {}, item.label),
        item.text && h("q", {}, item.text), item.note && h("span.rest", {}, item.note)));
      const number = Number(li.dataset.point);
      li.tabIndex = 0;
      li.append(goButton(number));
      return li;
    }

    function drawSection(section) {
      const body = h("div.section-body", {});
      const title = [h(section.folded ? "span.h" : "h2", {}, section.title), section.note && h("span.rest", {}, section.note)];
      const shown = section.folded ? h("details.card.section", {}, h("summary", {}, title), body) : h("section.card.section", {"aria-label": section.title}, h("div.section-head", {}, title), body);
      shown.id = `${prefix}-${section.id}`;
      own(draws, section.type)?.(section, body);
      return shown;
    }

    const texts = h("div.reading-texts", {}), checks = h("div.reading-checks", {}), root = h("div.reading", {}, texts, checks);
    const named = new Set(reading.sections.filter(({type}) => type === "checks" || type === "table").flatMap((section) => (section.items ?? section.rows ?? []).map((one) => one.finding)));
    for (const section of reading.sections) (CHECKING.has(section.type) ? checks : texts).append(drawSection(section));
    const others = findings.map((finding, at) => ({finding: at, id: `result-finding-${at}`, state: own(SEVERITY_STATES, finding.severity) ?? "note", code: finding.code, label: finding.path, note: finding.message ?? ""})).filter(({finding}) => !named.has(finding));
    if (others.length) checks.prepend(drawSection({type: "checks", id: "result-findings", title: counted(others.length, named.size ? "further finding" : "finding"), items: others}));

    // A check that leads nowhere has no button that would promise so.
    for (const button of [texts, checks].flatMap((part) => [...part.querySelectorAll(".go")])) if (!related(Number(button.closest("[data-point]").dataset.point)).length) button.remove();

    const numberOf = (event) => {
      const found = event.target.closest?.("[data-point]");
      return found && event.currentTarget.contains(found) ? Number(found.dataset.point) : null;
    };
    for (const target of [texts, checks]) {
      target.addEventListener("pointerover", (event) => light(numberOf(event)));
      target.addEventListener("focusin", (event) => { const number = numberOf(event); if (number !== null) light(number); });
      target.addEventListener("click", (event) => {
        const number = numberOf(event);
        if (number !== null && getSelection().isCollapsed && !event.target.closest("button, a")) travel(number);
      });
      target.addEventListener("keydown", (event) => {
        const number = numberOf(event);
        if (event.target.closest("button, input") || number === null) return;
        const list = [...target.querySelectorAll("li[tabindex='0']")], at = list.indexOf(event.target);
        if (event.key === "Enter") travel(number, {focus: true});
        else if (event.key === "ArrowDown" && at >= 0) list[at + 1]?.focus();
        else if (event.key === "ArrowUp" && at >= 0) list[at - 1]?.focus();
        else return;
        event.preventDefault();
      });
      for (const section of target.querySelectorAll("details.section")) section.addEventListener("toggle", () => { for (const view of codes) view.redraw(); });
    }

    /** Go to the next finding or wrong place, and to its place in the text. */
    function step(by) {
      const stops = points.map((one, at) => [one, at]).filter(([one]) => one.element()?.matches("li") && ["bad", "missing", "unsure"].includes(one.state)).map(([, at]) => at);
      const list = stops.length ? stops : points.map((one, at) => at).filter((at) => ["bad", "missing", "unsure"].includes(points[at].state));
      if (!list.length) return;
      walking = (walking + by + list.length + (walking < 0 && by < 0 ? 1 : 0)) % list.length;
      reveal(list[walking], {focus: true});
      const there = related(list[walking]).find((at) => points[at].section !== points[list[walking]].section);
      if (there !== undefined) reveal(there);
      light(list[walking]);
    }
    return {node: root, texts, checks, step};
  };
})();
