// One case: what is wrong in it and where, what it says, its other results, and what people say of it.

const caseView = (() => {
  const AGAIN_MS = 2000;
  const TRIES_MAX = 15; // half a minute: an id that is wrong ends, too
  const FIRST_MS = 150; // so long a whole case is waited for before its first part is shown alone
  const AHEAD_ROWS = 5; // the list's next page is asked for this many cases before it is needed

  let chosen = null; // the tab of a review that was chosen last: the next case opens in it

  /** Whether the reading is still to come. A blind queue tells no result beforehand, and yet has a reading. */
  const isAwaited = (one) => one.reading === null && one.why === "" && Boolean(one.result || one.found.blind);

  /** The reading, or, while it is not there, the findings of the result alone. */
  function readingOf(one, isTabbed) {
    const event = caseParts.eventOf(one.result), label = caseLoad.field(one.result, "label") ?? "";
    return drawReading(one.reading ?? {label, sections: []}, {
      findings: event.findings ?? [], failures: label === "unscored" ? event.failures ?? [] : [], prefix: "case", isTabbed, isBlind: Boolean(one.found.blind),
      chosen: (title) => { chosen = title; }, first: [chosen, ...(one.found.blind ? ["Persona", "Text", "Outputs"] : [])].filter(Boolean),
    });
  }

  /** A reading with what else there is to see. `head`, `wrong`, `texts`, `checks`: where its parts go; in a review everything is in the tabs of `texts`. */
  function fillWith(one, isWhole, {head, wrong, texts, checks, prompt}, about) {
    const drawn = one.result || one.reading ? readingOf(one, prompt !== null) : null;
    head.replaceChildren(...[...caseParts.header(one), caseParts.suiteTabs(one), isWhole ? caseParts.banner(one) : null].filter(Boolean));
    texts.replaceChildren(...(drawn ? [drawn.texts] : []));
    if (prompt) {
      prompt.replaceChildren(...(drawn?.prompt ? [drawn.prompt] : []));
      drawn?.texts.querySelector(".overview")?.append(...about.filter(Boolean));
    } else {
      wrong.replaceChildren(...(drawn ? [drawn.wrong] : []));
      checks.replaceChildren(...(drawn ? [drawn.checks] : []));
    }
    if (!isWhole) (prompt ?? texts).replaceChildren(h("section.card.section", {}, h("p.rest", {role: "status"}, "The text is loading …")));
    else if (drawn && caseParts.hasDocument(one) && !one.found.blind) drawn.addTab("JSON", (body) => caseParts.kept(one, body).catch(() => body.replaceChildren(h("p", {}, "The service does not answer."))));
    return drawn;
  }

  /**
   * Draw a case. `fill(one)` draws its reading once that is there. `review`: {list, saved, …} if it is shown in a queue, in three panels: the list, the case,
   * the verdict.
   */
  function draw(root, one, {review = null, bar = null} = {}) {
    const judging = annotationsPanel(one, {review}), about = [caseParts.pastResults(one), caseParts.spans(one)];
    const head = h("div.case-top"), wrong = h("div.case-wrong"), texts = h("div.case-texts"), checks = h("div.case-checks"), prompt = review ? h("div.case-prompt") : null;
    const side = h("aside.case-side", {"aria-label": review ? "Your verdict" : "People and history"}, judging.node, ...(review ? [review.guideline] : about).filter(Boolean));
    let drawn = null;

    function fill(now, isWhole = true) {
      drawn = fillWith(now, isWhole, {head, wrong, texts, checks, prompt}, about);
      texts.hidden = !review && isWhole && !texts.querySelector("[role=tabpanel]");
      page.classList.toggle("no-texts", texts.hidden);
      if (drawn && isWhole) judging.attach(drawn.fields, page, now.text === "shown");
    }

    const page = review ? h("article.case.three", {}, ...[review.list].filter(Boolean), h("div.case-centre", {}, head, prompt, texts), side) : h("article.case", {}, head, h("div.case-body", {}, wrong, texts, checks, side));
    root.replaceChildren(...[bar, page].filter(Boolean));
    fill(one, !isAwaited(one));
    return {fill, judging, step: (by) => drawn?.step(by), nextTab: (by) => drawn?.nextTab(by), search: () => drawn?.search()};
  }

  /** Draw a case as its parts arrive: the findings first, if the reading takes long. Returns what `draw` returns; null if the case is unknown. */
  async function present(root, loading, signal, options) {
    const pause = new Promise((resolve) => { setTimeout(() => resolve(undefined), FIRST_MS); });
    const early = await Promise.race([loading.whole, pause.then(() => loading.first)]);
    if (signal.aborted || early === null) return null;
    const view = draw(root, early, options);
    if (isAwaited(early)) {
      options?.drawn?.(view);
      const one = await loading.whole;
      if (signal.aborted) return view;
      view.fill(one);
    }
    return view;
  }

  /** Inside a text that scrolls, or in what has its own use for the arrows, they are not for the form. */
  const isElsewhere = (event) => event.target.closest?.("[role=region][tabindex='0'], .code-fold, [role=tablist], .checks") !== null;

  /** Outside of a review the arrows scroll, unless the focus is in the form. */
  const isScrolling = (event) => router.route.name !== "review" && event.target.closest?.(".verdict") === null;
  const field = (now, event, by) => (isElsewhere(event) || isScrolling(event) || !now() ? false : now().judging.field(by));

  /** The keys of a case; `now()` is the view that is shown, `walk(by)` goes to another case and returns false if there is none. */
  const keysOf = (now, walk) => [
    ["ArrowRight", "next case", (event) => (isElsewhere(event) ? false : walk(1)), ["→", "j"]], ["ArrowLeft", "previous case", (event) => (isElsewhere(event) ? false : walk(-1)), ["←", "k"]],
    ["j", "", () => walk(1)], ["k", "", () => walk(-1)],
    ["ArrowDown", "next field of the form", (event) => field(now, event, 1), "↓"], ["ArrowUp", "previous field", (event) => field(now, event, -1), "↑"],
    ["p", "verdict: pass", () => now()?.judging.choose("pass")], ["f", "verdict: fail", () => now()?.judging.choose("fail")],
    ["P", "pass, saved; in a review the next case follows", () => now()?.judging.choose("pass", true)], ["F", "fail; likewise", () => now()?.judging.choose("fail", true)],
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => [String(number), number === 1 ? "a tag (1 to 9); on severity or quality, an option" : "", () => now()?.judging.digit(number), "1–9"]),
    ["n", "to the note; Esc leaves it", () => now()?.judging.focus()], ["a", "", () => now()?.judging.focus()],
    ["Ctrl+Enter", "complete: save, and the next case", () => now()?.judging.complete()], ["s", "in a review: skip the case, without a verdict", () => now()?.judging.skip()],
    ["u", "undo: take back what was changed last", () => (now() ? now().judging.undo() : annotationUndo.undo())], ["m", "mark the selected place", () => now()?.judging.mark()],
    [".", "next finding, and its place", () => now()?.step(1)], [",", "previous finding", () => now()?.step(-1)],
    ["d", "next tab", () => now()?.nextTab(1)], ["/", "search in the document", () => now()?.search()],
  ];

  let shown = null, queue = null, place = -1;

  /** Another case of the list that this one was opened from. It takes this one's place in the browser's history, so that back leads to the list. */
  async function walk(by) {
    if (place + by >= queue.rows.length) await queue.more();
    const row = queue.rows[place + by];
    if (!row) return;
    scrollTo(0, 0);
    go(`${casePath(row.event_id, row.result_id)}&list=${encodeURIComponent(queue.filter)}`, {replace: true});
  }

  const step = (by) => (queue && place >= 0 ? void walk(by) : false);

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
    keys: keysOf(() => shown, step),
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
