// Draws the sections of a reading, each kind its own way.

/**
 * A function that draws a section. `places`: of `readingPoints`. `fields`: takes the text of each section in which somebody may mark a place; an element
 * with `data-from` shows this text from that position on. `severityOf(finding)`: its severity.
 */
function readingSections(places, prefix, {fields = new Map(), severityOf = () => undefined} = {}) {
  const PARTS_SHOWN = 200;
  const TEXT_CHARS_MAX = 60_000; // longer texts are drawn as documents

  /** An element for an item, row, pair or entry. */
  function placed(name, one, section, ...children) {
    const made = h(name, {}, ...children);
    made.dataset.point = places.point(one, section, () => made);
    made.tabIndex = -1;
    return made;
  }

  const goButton = (number) => h("button.go", {type: "button", "aria-label": "Show where", title: "Show where", click: (event) => { event.stopPropagation(); places.travel(number, {focus: true}); }}, "▸");

  /** Children of which the first ones are shown at once. */
  function bounded(parent, items, make, tag = "li") {
    const add = (list) => parent.append(...list.map(make));
    add(items.slice(0, PARTS_SHOWN));
    if (items.length > PARTS_SHOWN) {
      const more = h(tag, {}, h(tag === "tr" ? "td" : "span", {colspan: tag === "tr" ? 99 : null}, h("button", {type: "button", click: () => { more.remove(); add(items.slice(PARTS_SHOWN)); }}, `Show ${grouped.format(items.length - PARTS_SHOWN)} more`)));
      parent.append(more);
    }
    return parent;
  }

  function checkItem(item, body) {
    const about = [item.code && (item.finding === null || item.finding === undefined ? h("code", {}, item.code) : h("a", {href: casesPath({code: item.code}), title: "Cases with this finding", tabindex: -1}, h("code", {}, item.code))),
      item.label && h("span", {}, item.label), item.note && h("span", {}, item.note)];
    const li = placed("li", item, body, stateSign(item.state), h("span.what", {}, item.text && h("q", {}, item.text), h("span.about", {}, about)));
    li.tabIndex = 0;
    const its = severityOf(item.finding);
    if (its) li.dataset.severity = its;
    li.append(goButton(Number(li.dataset.point)));
    return li;
  }

  /** The text of a table, cells joined by tabs and rows by line feeds, and where each cell begins in it. */
  const joined = (rows) => rows.map((cells) => cells.join("\t")).join("\n");
  function starting(rows) {
    let at = 0;
    return rows.map((cells) => cells.map((cell) => { const from = at; at += cell.length + 1; return from; }));
  }
  const textOf = ({text, rows, pairs}) => text ?? joined(rows?.map(({cells}) => cells) ?? pairs?.map(({value}) => [value]) ?? []);

  const draws = {
    text(section, body) {
      if (section.text.length > TEXT_CHARS_MAX) return draws.code({...section, format: "text"}, body);
      const marked = placesOf(section.text, section.marks ?? []).sort((one, other) => STATE_RANK.indexOf(one.mark.state) - STATE_RANK.indexOf(other.mark.state));
      for (const place of marked) place.number = places.point(place.mark, body, () => place.node, null);
      const cuts = [...new Set([0, section.text.length, ...marked.flatMap(({start, end}) => [start, end])])].sort((one, other) => one - other);
      const text = h("div.running", {});
      for (let at = 0; at + 1 < cuts.length; at++) {
        const part = section.text.slice(cuts[at], cuts[at + 1]), covering = marked.filter(({start, end}) => start <= cuts[at] && end >= cuts[at + 1]);
        if (!covering.length) { text.append(h("span", {"data-from": cuts[at]}, part)); continue; }
        const top = covering.at(-1), ends = covering.filter(({end}) => end === cuts[at + 1]).at(-1);
        const node = h(`mark.${stateTone(top.mark.state)}`, {tabindex: -1, "data-point": top.number, "data-from": cuts[at], title: markTitle(top.mark)}, part);
        for (const one of covering) one.node ??= node;
        text.append(node);
        if (ends) text.append(h(`sup.${stateTone(ends.mark.state)}`, {}, h("span", {"aria-hidden": "true"}, own(SIGNS, ends.mark.state) ?? "·"), h("span.sr", {}, ` (${[own(STATE_WORDS, ends.mark.state), ends.mark.note].filter(Boolean).join(": ")}) `)));
      }
      return body.append(text);
    },
    /** A document is read when it is first shown. */
    code(section, body) {
      let view = null;
      const known = new Map(); // mark → its place in the text
      const open = () => {
        if (view) return view;
        const found = () => placesOf(section.text, section.marks ?? []).map((place) => Object.assign(place, {
          point: numbers.get(place.mark), state: place.mark.state, tone: stateTone(place.mark.state), sign: own(SIGNS, place.mark.state) ?? "·", title: markTitle(place.mark),
        })).sort((one, other) => one.start - other.start);
        view = codeView({text: section.text, format: section.format, label: section.title, lit: places.lit, places: () => {
          const all = found();
          for (const place of all) known.set(place.mark, place);
          return all;
        }});
        body.append(view.node);
        view.redraw();
        return view;
      };
      const numbers = new Map((section.marks ?? []).map((mark) => [mark, places.point(mark, body, () => view?.element(numbers.get(mark)) ?? null, () => {
        open();
        if (known.has(mark)) view.reveal(known.get(mark));
      })]));
      body.codeSearch = () => open().search();
      body.showAt = (start) => open().reveal({start});
      new ResizeObserver((_, seen) => { if (body.clientWidth) { seen.disconnect(); open(); } }).observe(body);
    },
    checks(section, body) {
      if (!section.items?.length) return body.append(h("p.rest", {}, "None."));
      return body.append(bounded(h("ul.checks", {}), section.items, (item) => checkItem(item, body)));
    },
    pairs(section, body) {
      const from = starting((section.pairs ?? []).map((pair) => [pair.value]));
      body.append(h("dl.pairs", {}, (section.pairs ?? []).map((pair, at) => placed("div", pair, body, h("dt", {}, stateSign(pair.state), pair.key), h("dd", {"data-from": from[at][0]}, pair.value)))));
    },
    table(section, body) {
      const from = new Map(starting((section.rows ?? []).map(({cells}) => cells)).map((starts, at) => [section.rows[at], starts]));
      const rows = bounded(h("tbody"), section.rows ?? [], (row) => {
        const made = placed("tr", row, body, row.cells.map((cell, at) => h("td", {}, at === 0 ? stateSign(row.state) : null, h("span", {"data-from": from.get(row)[at]}, cell))));
        made.append(h("td.rest", {}, row.note, row.finding !== null && row.finding !== undefined ? goButton(Number(made.dataset.point)) : null));
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
          const bar = h(`i${entry.state ? `.${stateTone(entry.state)}` : ""}`);
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
      if (!section.bars?.length) return body.append(h("p.rest", {}, "No values."));
      return body.append(h("dl.bars", {}, (section.bars ?? []).map((bar) => {
        const known = typeof bar.value === "number", fill = h("i");
        fill.style.width = known ? `${Math.max(0, Math.min(1, (bar.value - bar.low) / (bar.high - bar.low || 1))) * 100}%` : "0";
        const about = [typeof bar.share === "number" && `weight ${percent(bar.share)}`, bar.better === "lower" && h("span", {title: "lower is better"}, h("span", {"aria-hidden": "true"}, "↓"), h("span.sr", {}, "lower is better"))].filter(Boolean);
        return h("div", {}, h("dt", {}, stateSign(bar.state), bar.name, about.length > 0 && h("small", {}, about.flatMap((one) => [one, " "]))),
          h("dd", {}, known ? bar.printed || figure(bar.value, bar.high > 1.5 ? 0 : 2) : h("span.rest", {}, "not computed")), h(`span.track${bar.state ? `.${stateTone(bar.state)}` : ""}`, {"aria-hidden": "true"}, fill));
      })));
    },
  };

  return function drawSection(section) {
    const body = h("div.section-body", {});
    const title = [h(section.folded ? "span.h" : "h2", {}, section.title), section.note && h("span.rest", {}, section.note)];
    const shown = section.folded ? h("details.card.section", {}, h("summary", {}, title), body) : h("section.card.section", {"aria-label": section.title}, h("div.section-head", {}, title), body);
    shown.id = `${prefix}-${section.id}`;
    if (["text", "code", "pairs", "table"].includes(section.type)) {
      shown.dataset.field = section.id;
      fields.set(section.id, textOf(section));
    }
    own(draws, section.type)?.(section, body);
    return shown;
  };
}
