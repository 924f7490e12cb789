// One case: what it says, what was found in it and where, its other results, and what people say of it.

const caseView = (() => {
  const loaded = new Map(); // address → promise; the review loads the next case ahead
  const LOADED_MAX = 6;

  const casesOf = (id) => `/api/cases/${encodeURIComponent(id)}`;

  /** The event inside a result document, or the document itself. */
  const eventOf = (result) => result.result ?? result;
  const field = (result, name) => result[name] ?? result.result?.[name];

  /** A case with the reading of one of its results: {found, etag, result, reading, text}; null if it is unknown. */
  async function load(id, resultId = null, signal = undefined) {
    const answer = await askWhole(casesOf(id), {signal});
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(answer.data?.error ?? `The service answers with status ${answer.status}.`);
    const found = answer.data, results = found.results ?? [];
    const result = results.find((one) => field(one, "result_id") === (resultId ?? id)) ?? latestOf(results)[0] ?? null;
    let read = null, why = "";
    if (result) {
      const asked = await askWhole(`${casesOf(id)}/reading?result=${encodeURIComponent(field(result, "result_id"))}`, {signal});
      if (asked.ok) read = asked.data;
      else why = asked.data?.error ?? `The service answers with status ${asked.status}.`;
    }
    return {id, found, etag: answer.etag ?? found.etag, result, wanted: resultId, reading: read?.reading ?? null, text: read?.text ?? "", why};
  }

  /** Load ahead of being asked; `load` of the same case then takes it. */
  function ahead(id, resultId) {
    const key = `${id}\n${resultId}`;
    if (loaded.has(key)) return;
    const promise = load(id, resultId);
    promise.catch(() => loaded.delete(key));
    loaded.set(key, promise);
    if (loaded.size > LOADED_MAX) loaded.delete(loaded.keys().next().value);
  }

  /** A case that was loaded ahead, or a new one. It is taken once, because annotations may change. */
  async function take(id, resultId, signal) {
    const key = `${id}\n${resultId}`, promise = loaded.get(key);
    loaded.delete(key);
    return promise ? promise : load(id, resultId, signal);
  }

  const at = (result) => field(result, "at") ?? field(result, "scored_at") ?? "";

  /** The latest result of each suite, the latest first. */
  function latestOf(results) {
    const sorted = [...results].sort((one, other) => (at(one) < at(other) ? 1 : -1)), seen = new Set();
    return sorted.filter((result) => !seen.has(field(result, "suite")) && seen.add(field(result, "suite")));
  }

  const TEXTS = {
    no_right: ["Texts are blocked out: this token may not read them.", "Marks and states are as they are. To read the text, use a token with the scope “text”; whoever runs this service grants it in serve.tokens, for example all/results+text:TOKEN."],
    not_kept: ["The case itself was not kept.", "The archive's policy did not name it. What stays: its results, findings and values. Scoring it again needs its place on the topic."],
    no_archive: ["There is no archive here, so texts are not kept.", "“touchstone archive” keeps cases; it and this service need the same archive.url (docs/archive.md). What stays: its results, findings and values."],
    away: ["The archive cannot be read now, so the text is not shown.", "What you see comes from the result store. Open the case again in a moment; this service's log says what is wrong."],
    gone: ["The case itself is no longer there.", "It was forgotten on request, or its retention has ended. What stays: its results, findings and values."],
    unreadable: ["The case is kept, and the suite that is installed here cannot read it.", "Its results, findings and values are below; the event as it was kept can be opened beside them."],
    removed: ["The case itself is no longer there: its retention has ended.", "What stays: its results, findings and values."],
    source_expired: ["The case itself is not there: Kafka had deleted the event before the archive read it.", "What stays: its results, findings and values."],
    too_large: ["The case itself was not kept, because it is larger than archive.case_bytes_max.", "What stays: its results, findings and values."],
    forgotten: ["This case was forgotten on request.", "What stays: its results, findings and values."],
  };

  function banner(one) {
    if (!one.result) return h("section.card.banner", {}, h("p", {}, "There is no result of this case that this token may see."));
    if (one.why) return h("section.card.banner", {}, h("p", {}, `Its reading could not be made: ${one.why}`));
    const state = one.found.kept?.state;
    const lines = own(TEXTS, one.text !== "no_right" && state && state !== "kept" ? state : one.text);
    return lines ? h("section.card.banner", {}, lines.map((line, index) => h("p", {class: index ? "rest" : null}, line))) : null;
  }

  const titleOf = (name) => state.suites.get(name)?.title ?? name;
  const hrefOf = (one, resultId, inReview) => (inReview ? `${location.pathname}?${with_(new URLSearchParams(location.search), "result", resultId)}` : casePath(one.id, resultId));
  function with_(query, name, value) {
    query.set(name, value);
    return query;
  }

  function header(one) {
    const {result, found} = one, event = result ? eventOf(result) : {};
    const replay = result?.replay ?? found.replay;
    const models = [...Object.values(event.models ?? {}), event.model ?? result?.model].filter((model) => typeof model === "string");
    const button = (word, text) => h("button", {type: "button", title: text, click: async (click) => {
      const made = click.currentTarget;
      try { await navigator.clipboard.writeText(text); setText(made, "Copied"); } catch { made.after(copyable(text, word)); made.hidden = true; }
      setTimeout(() => setText(made, word), 2500);
    }}, word);
    return [
      h("div.case-head", {}, h("h1", {}, result?.name ?? found.name ?? found.case_id ?? one.id), result && chip(field(result, "label")),
        h("div.case-tools", {}, replay && button("Copy: score again", replay), button("Copy: link", location.href))),
      h("p.case-facts", {}, [result && h("a", {href: casesPath({suite: field(result, "suite")})}, titleOf(field(result, "suite"))), result && h("span", {}, `version ${field(result, "suite_version")}`), found.kind && h("span", {}, found.kind),
        ...[...new Set(models)].map((model) => h("a", {href: casesPath({model})}, model)), result && h("time", {datetime: at(result)}, moment(full, at(result))), found.source && h("span", {}, found.source), h("span", {}, `event ${found.event_id ?? one.id}`)]),
    ];
  }

  function suiteTabs(one, inReview) {
    const latest = latestOf(one.found.results ?? []);
    if (latest.length < 2) return null;
    return h("nav.suite-tabs", {"aria-label": "Suites"}, latest.map((result) => h("a", {
      href: hrefOf(one, field(result, "result_id"), inReview), "aria-current": field(one.result, "suite") === field(result, "suite") ? "true" : null,
    }, titleOf(field(result, "suite")), chip(field(result, "label")))));
  }

  function history_(one, inReview) {
    const results = [...(one.found.results ?? [])].sort((first, other) => (at(first) < at(other) ? 1 : -1));
    if (results.length < 2) return null;
    return h("section.card.section", {}, h("h2", {}, "All results"), h("div.scrolls", {tabindex: 0, role: "region", "aria-label": "All results: table"}, h("table.past", {}, h("tbody", {}, results.map((result) => h("tr", {},
      h("td", {}, h("a", {href: hrefOf(one, field(result, "result_id"), inReview), "aria-current": result === one.result ? "true" : null}, `${field(result, "suite")} ${field(result, "suite_version") ?? ""}`)),
      h("td", {}, chip(field(result, "label"))), h("td.rest", {}, moment(full, at(result)))))))));
  }

  function spans(one) {
    const rows = one.found.spans ?? [];
    if (!rows.length) return null;
    const longest = Math.max(...rows.map((span) => span.duration_ms ?? 0), 1);
    return h("details.card.section", {}, h("summary", {}, h("span.h", {}, counted(rows.length, "span"))), h("dl.bars", {}, rows.slice(0, 200).map((span) => {
      const fill = h("i");
      fill.style.width = `${(span.duration_ms ?? 0) / longest * 100}%`;
      return h("div", {}, h("dt", {}, span.name ?? "span"), h("dd", {}, typeof span.duration_ms === "number" ? `${grouped.format(Math.round(span.duration_ms))} ms` : "–"), h("span.track", {"aria-hidden": "true"}, fill));
    })));
  }

  function documentPart(one) {
    if (!["shown", "unreadable"].includes(one.text) || one.found.can?.text === false) return null;
    const body = h("div.section-body"), box = h("details.card.section", {}, h("summary", {}, h("span.h", {}, "The event as it was kept")), body);
    box.addEventListener("toggle", async () => {
      if (!box.open || body.childElementCount) return;
      body.append(h("p.rest", {}, "loading …"));
      const answer = await ask(`${casesOf(one.id)}/document`);
      const text = answer.ok ? await answer.text() : "";
      let printed = text;
      try { printed = JSON.stringify(JSON.parse(text), null, 1); } catch { /* as it is */ }
      body.replaceChildren(answer.ok ? codeView({text: printed, format: "json", label: "The event as it was kept", places: [], lit: new Set()}).node : h("p", {}, `The service answers with status ${answer.status}.`));
    });
    return box;
  }

  /** Draw a loaded case. `review`: hide others' annotations until one's own is saved, and call `saved` then. */
  function draw(root, one, {review = null} = {}) {
    const drawn = one.reading && drawReading(one.reading, {findings: eventOf(one.result).findings ?? [], prefix: "case"});
    const judging = annotationsPanel(one, {review});
    const page = h("article.case", {}, header(one), suiteTabs(one, review !== null), banner(one),
      h("div.case-body", {}, drawn ? [drawn.texts, drawn.checks] : [], h("aside.case-side", {"aria-label": "People and history"}, judging.node, history_(one, review !== null), spans(one))));
    const kept = documentPart(one);
    if (kept) (drawn?.texts ?? page.querySelector(".case-side")).append(kept); // where the document has room
    root.replaceChildren(...(review ? [review.bar] : []), page);
    return {step: (by) => drawn?.step(by), judging};
  }

  let shown = null;
  const KEYS = [
    ["n", "next finding, and its place", () => shown?.step(1)],
    ["N", "previous finding", () => shown?.step(-1)],
    ["a", "annotate: to the note", () => shown?.judging.focus()],
    ["P", "verdict: pass", () => shown?.judging.choose("pass")],
    ["F", "verdict: fail", () => shown?.judging.choose("fail")],
  ];

  routes.push({
    name: "case", match: /^\/cases\/(?<id>.+)$/, title: () => "Case", keys: KEYS,
    hide: () => { shown = null; },
    async show({id}, query, root, signal) {
      if (!root.childElementCount) root.replaceChildren(h("h1", {}, "Case"), h("p.rest", {}, "loading …"));
      const one = await take(id, query.get("result"), signal);
      if (signal.aborted) return;
      if (one === null) root.replaceChildren(h("h1", {}, "Case"), emptyState("There is no such case.", "No result with this id is in the store, or this token may not see its suite.", h("a", {href: "/cases"}, "To the cases")));
      else shown = draw(root, one);
    },
  });

  return {load, ahead, take, draw, keys: KEYS.slice(0, 3)};
})();
