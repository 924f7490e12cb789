// One case: what is wrong in it and where, what it says, its other results, and what people say of it.

const caseView = (() => {
  const AGAIN_MS = 2000;
  const TRIES_MAX = 15; // half a minute: an id that is wrong ends, too
  const FIRST_MS = 150; // so long a whole case is waited for before its first part is shown alone
  const AHEAD_ROWS = 5; // the list's next page is asked for this many cases before it is needed

  /** The reading, or, while it is not there, the findings of the result alone. */
  function readingOf(one) {
    const event = caseParts.eventOf(one.result), label = caseLoad.field(one.result, "label") ?? "";
    return drawReading(one.reading ?? {label, sections: []}, {findings: event.findings ?? [], failures: label === "unscored" ? event.failures ?? [] : [], prefix: "case"});
  }

  /** Draw a case. `fill(one)` draws its reading once that is there. `review`: {bar, saved} if it is shown in a queue. */
  function draw(root, one, {review = null, bar = null} = {}) {
    const judging = annotationsPanel(one, {review});
    const head = h("div.case-top"), wrong = h("div.case-wrong"), texts = h("div.case-texts"), checks = h("div.case-checks");
    const side = h("aside.case-side", {"aria-label": "People and history"}, judging.node, caseParts.pastResults(one), caseParts.spans(one));
    let drawn = null;

    function fill(now, isWhole = true) {
      drawn = now.result ? readingOf(now) : null;
      head.replaceChildren(...[...caseParts.header(now), caseParts.suiteTabs(now), isWhole ? caseParts.banner(now) : null].filter(Boolean));
      wrong.replaceChildren(...(drawn ? [drawn.wrong] : []));
      texts.replaceChildren(...(drawn ? [drawn.texts] : []));
      checks.replaceChildren(...(drawn ? [drawn.checks] : []));
      if (!isWhole) texts.replaceChildren(h("section.card.section", {}, h("p.rest", {role: "status"}, "The text is loading …")));
      else if (drawn && caseParts.hasDocument(now)) drawn.addTab("JSON", (body) => caseParts.kept(now, body).catch(() => body.replaceChildren(h("p", {}, "The service does not answer."))));
      texts.hidden = isWhole && !texts.querySelector("[role=tabpanel]");
      page.classList.toggle("no-texts", texts.hidden);
    }

    const page = h("article.case", {}, head, h("div.case-body", {}, wrong, texts, checks, side));
    root.replaceChildren(...[bar, page].filter(Boolean));
    fill(one, one.reading !== null || one.why !== "" || !one.result);
    return {fill, judging, step: (by) => drawn?.step(by), nextTab: (by) => drawn?.nextTab(by), search: () => drawn?.search()};
  }

  /** Draw a case as its parts arrive: the findings first, if the reading takes long. Returns what `draw` returns; null if the case is unknown. */
  async function present(root, loading, signal, options) {
    const pause = new Promise((resolve) => { setTimeout(() => resolve(undefined), FIRST_MS); });
    const early = await Promise.race([loading.whole, pause.then(() => loading.first)]);
    if (signal.aborted || early === null) return null;
    const view = draw(root, early, options);
    if (early.reading === null && early.why === "" && early.result) {
      options?.drawn?.(view);
      const one = await loading.whole;
      if (signal.aborted) return view;
      view.fill(one);
    }
    return view;
  }

  /** The keys of a case; `now()` is the view that is shown. */
  const keysOf = (now) => [
    ["n", "next finding, and its place", () => now()?.step(1)],
    ["N", "previous finding", () => now()?.step(-1)],
    ["d", "next tab: text, documents, JSON", () => now()?.nextTab(1)],
    ["/", "search in the document", () => now()?.search()],
    ["a", "annotate: to the note", () => now()?.judging.focus()],
    ["P", "verdict: pass; in a review it is saved at once, and the next case follows", () => now()?.judging.choose("pass")],
    ["F", "verdict: fail; likewise", () => now()?.judging.choose("fail")],
    ...annotationsPanel.TAGS.map((tag, number) => [String(number + 1), `tag: ${tag.replaceAll("_", " ")}`, () => now()?.judging.tag(tag)]),
  ];

  let shown = null, queue = null, place = -1;

  /** Another case of the list that this one was opened from. It takes this one's place in the browser's history, so that back leads to the list. */
  async function walk(by) {
    if (!queue || place < 0) return;
    if (place + by >= queue.rows.length) await queue.more();
    const row = queue.rows[place + by];
    if (!row) return;
    scrollTo(0, 0);
    go(`${casePath(row.event_id, row.result_id)}&list=${encodeURIComponent(queue.filter)}`, {replace: true});
  }

  /** Where the case is in its list, the ways to its neighbours, and the next one loaded ahead. */
  async function drawPlace(bar, {id, result}, signal) {
    place = await queue.find(id, result);
    if (signal.aborted) return;
    const list = h("a", {href: `/cases?${queue.filter}`}, "The list");
    if (place < 0) return void bar.replaceChildren(list);
    const total = queue.total === null ? "many" : grouped.format(queue.total), isLast = place + 1 >= queue.rows.length && queue.isWhole;
    const button = (by, word, key, disabled) => h("button", {type: "button", disabled, "aria-keyshortcuts": key, click: () => walk(by)}, word);
    bar.replaceChildren(button(-1, "◂ Previous (k)", "k", place === 0), h("b", {role: "status"}, queue.isPart ? `${grouped.format(place + 1)} from this page on, of ${total}` : `${grouped.format(place + 1)} of ${total}`),
      button(1, "Next (j) ▸", "j", isLast), list);
    if (place + AHEAD_ROWS >= queue.rows.length) await queue.more().catch(() => {}); // asked for again when it is needed
    const following = queue.rows[place + 1];
    if (following && !signal.aborted) caseLoad.ahead(following.event_id, following.result_id);
  }

  routes.push({
    name: "case", match: /^\/cases\/(?<id>.+)$/, title: () => "Case",
    keys: [["j", "next case of the list", () => walk(1)], ["k", "previous case of the list", () => walk(-1)], ...keysOf(() => shown)],
    hide: () => {
      shown?.judging.leave();
      shown = queue = null;
    },
    async show({id}, query, root, signal) {
      shown?.judging.leave();
      shown = null;
      place = -1;
      if (!root.childElementCount) root.replaceChildren(h("h1", {}, "Case"), h("p.rest", {}, "loading …"));
      const list = query.get("list"), result = query.get("result"), bar = list === null ? null : h("nav.review-bar", {"aria-label": "The list"});
      if (list === null) queue = null;
      else if (queue?.filter !== list) queue = caseQueue(list);
      const loading = caseLoad.take(id, result, signal);
      if (bar) drawPlace(bar, {id, result}, signal).catch(() => bar.replaceChildren(h("a", {href: `/cases?${list}`}, "The list")));
      const drawn = (early) => { shown = early; };
      let view = await present(root, loading, signal, {bar, drawn});
      // A live row leads here before the projector has written its result.
      for (let tries = 0; view === null && result && tries < TRIES_MAX && !signal.aborted; tries += 1) {
        root.replaceChildren(h("h1", {}, "Case"), emptyState("Not in the history yet.", "A result is live before the projector has stored it. This page asks again every two seconds.", h("a", {href: "/cases"}, "To the cases")));
        await new Promise((resolve) => { setTimeout(resolve, AGAIN_MS); });
        if (!signal.aborted) view = await present(root, caseLoad.take(id, result, signal), signal, {bar, drawn});
      }
      if (signal.aborted) return;
      if (view === null) root.replaceChildren(h("h1", {}, "Case"), emptyState("There is no such case.", "No result with this id is in the store, or this token may not see its suite.", h("a", {href: "/cases"}, "To the cases")));
      else shown = view;
    },
  });

  return {present, keysOf};
})();
