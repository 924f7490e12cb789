// Parts of the view of a case beside its reading: head, state of the text, other results, spans, the event as it was kept.

const caseParts = (() => {
  const {field, at, latestOf, pathOf} = caseLoad;
  const SPANS_SHOWN = 200;
  const STAYS = "What stays: its results, findings and values.";
  const TEXTS = {
    no_right: ["Texts are blocked out: this token may not read them.", "Marks and states are as they are. To read the text, use a token with the scope “text”; whoever runs this service grants it in serve.tokens, for example all/results+text:TOKEN."],
    not_kept: ["The case itself was not kept.", `The archive's policy did not name it. ${STAYS} Scoring it again needs its place on the topic.`],
    gone: ["The case itself is no longer there.", `It was forgotten on request, or its retention has ended. ${STAYS}`],
    unreadable: ["The case is kept, and the suite that is installed here cannot read it.", "Its results, findings and values are below; the event as it was kept is shown beside them to whoever may read texts."],
    away: ["The archive cannot be read now, so the text is not shown.", "What you see comes from the result store. Open the case again in a moment; this service's log says what is wrong."],
    no_archive: ["There is no archive here, so texts are not kept.", `“touchstone archive” keeps cases; it and this service need the same archive.url (docs/archive.md). ${STAYS}`],
    removed: ["The case itself is no longer there: its retention has ended.", STAYS],
    source_expired: ["The case itself is not there: Kafka had deleted the event before the archive read it.", STAYS],
    too_large: ["The case itself was not kept, because it is larger than archive.case_bytes_max.", STAYS],
    forgotten: ["This case was forgotten on request.", STAYS],
  };

  /** What keeps the text from being shown; null if nothing does. */
  function banner(one) {
    if (!one.result && !one.found.blind) return h("section.card.banner", {}, h("p", {}, "There is no result of this case that this token may see."));
    if (one.why) return h("section.card.banner", {}, h("p", {}, `Its reading could not be made: ${one.why}`));
    const kept = one.found.kept?.state;
    const lines = own(TEXTS, one.text !== "no_right" && kept && kept !== "kept" ? kept : one.text);
    return lines ? h("section.card.banner", {}, lines.map((line, index) => h("p", {class: index ? "rest" : null}, line))) : null;
  }

  const titleOf = (name) => state.suites.get(name)?.title ?? name;
  const eventOf = (result) => result?.result ?? result ?? {};

  /** The address of another result of the case that is shown; the list that it was opened from stays. */
  function hrefOf(resultId) {
    const query = new URLSearchParams(location.search);
    query.set("result", resultId);
    return `${location.pathname}?${query}`;
  }

  /** A button that copies a text. */
  function copying(word, text) {
    return h("button", {type: "button", title: text, click: async ({currentTarget: made}) => {
      try { await navigator.clipboard.writeText(text); setText(made, "Copied"); } catch { made.after(copyable(text, word)); made.hidden = true; }
      setTimeout(() => setText(made, word), 2500);
    }}, word);
  }

  /** The address of this case alone: no list, no text. */
  const linkOf = (one) => `${location.origin}${casePath(one.found.event_id ?? one.id, field(one.result, "result_id") ?? null)}`;

  function header(one) {
    const {result, found} = one, event = eventOf(result), replay = result?.replay ?? found.replay;
    const model = event.attributes?.model ?? event.correlation?.model ?? found.model;
    return [
      h("div.case-head", {}, h("h1", {}, result?.name ?? found.name ?? found.case_id ?? one.id), result && chip(field(result, "label")),
        one.about === null && h("div.case-tools", {}, replay && copying("Copy: score again", replay), copying("Copy: link", linkOf(one)))),
      h("p.case-facts", {}, [result && h("a", {href: casesPath({suite: field(result, "suite")})}, titleOf(field(result, "suite"))), result && h("span", {}, `version ${field(result, "suite_version")}`), found.kind && h("span", {}, found.kind),
        typeof model === "string" && h("a", {href: casesPath({model})}, model), result && h("time", {datetime: at(result)}, moment(full, at(result))), found.source && h("span", {}, found.source), h("span", {}, `event ${found.event_id ?? one.id}`)]),
    ];
  }

  function suiteTabs(one) {
    const latest = latestOf(one.found.results ?? []);
    if (latest.length < 2) return null;
    return h("nav.suite-tabs", {"aria-label": "Suites"}, latest.map((result) => h("a", {
      href: hrefOf(field(result, "result_id")), "aria-current": field(one.result, "suite") === field(result, "suite") ? "true" : null,
    }, titleOf(field(result, "suite")), chip(field(result, "label")))));
  }

  function pastResults(one) {
    const results = [...(one.found.results ?? [])].sort((first, other) => (at(first) < at(other) ? 1 : -1));
    if (results.length < 2) return null;
    const shown = field(one.result, "result_id");
    return h("section.card.section", {}, h("h2", {}, "All results"), h("div.scrolls", {tabindex: 0, role: "region", "aria-label": "All results: table"}, h("table.past", {}, h("tbody", {}, results.map((result) => h("tr", {},
      h("td", {}, h("a", {href: hrefOf(field(result, "result_id")), "aria-current": field(result, "result_id") === shown ? "true" : null}, `${titleOf(field(result, "suite"))} ${field(result, "suite_version") ?? ""}`)),
      h("td", {}, chip(field(result, "label"))), h("td.rest", {}, moment(full, at(result)))))))));
  }

  const inTime = (ms) => (ms >= 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${grouped.format(Math.round(ms))} ms`);

  /** The steps of the generation on one axis of time. A step without a start is drawn from the left, with a dashed edge. */
  function spans(one) {
    const rows = (one.found.spans ?? []).slice(0, SPANS_SHOWN);
    if (!rows.length) return null;
    const starts = rows.map(({started_at: begun}) => Date.parse(begun ?? "")), known = starts.filter(Number.isFinite), first = known.length ? Math.min(...known) : 0;
    const length = Math.max(1, ...rows.map(({duration_ms: ms}, row) => (Number.isFinite(starts[row]) ? starts[row] - first : 0) + (ms ?? 0)));
    const total = one.found.spans_total ?? rows.length;
    const line = (span, row) => {
      const has = Number.isFinite(starts[row]), from = has ? starts[row] - first : 0, bar = h(`i${span.status === "error" ? ".s-bad" : ""}${has ? "" : ".no-start"}`);
      bar.style.marginLeft = `${from / length * 100}%`;
      bar.style.width = `${(span.duration_ms ?? 0) / length * 100}%`;
      const about = [span.model, span.input_tokens !== null && span.input_tokens !== undefined && `${counted(span.input_tokens, "token")} in`, span.output_tokens !== null && span.output_tokens !== undefined && `${counted(span.output_tokens, "token")} out`, !has && known.length > 0 && "start unknown"].filter(Boolean);
      return h("li.span", {}, h("span.span-name", {}, span.status === "error" && stateSign("bad"), span.name ?? "░░░░", span.status === "error" && h("span.rest", {}, " failed")),
        h("span.span-ms", {}, typeof span.duration_ms === "number" ? inTime(span.duration_ms) : "–"), h("span.track", {"aria-hidden": "true"}, bar), about.length > 0 && h("span.rest", {}, about.join(" · ")));
    };
    return h("section.card.section", {"aria-label": "Spans"}, h("div.section-head", {}, h("h2", {}, "Spans"), h("span.rest", {}, `${inTime(length)}${known.length ? "" : "; lengths only, their starts are not told"}${total > rows.length ? `; the first ${rows.length} of ${grouped.format(total)}` : ""}`)), h("ol.spans", {}, rows.map(line)));
  }

  /** Whether the event as it was kept may be shown. */
  const hasDocument = (one) => ["shown", "unreadable"].includes(one.text) && one.found.can?.text !== false;

  /** The event as it was kept, as indented JSON. */
  async function kept(one, body) {
    body.append(h("p.rest", {}, "loading …"));
    const answer = await ask(`${pathOf(one.id)}/document`);
    if (!answer.ok) return body.replaceChildren(h("p", {}, `The service answers with status ${answer.status}.`));
    let text = await answer.text();
    try { text = JSON.stringify(JSON.parse(text), null, 1); } catch { /* as it is */ }
    const view = codeView({text, format: "json", label: "The event as it was kept", places: () => [], lit: new Set()});
    body.codeSearch = view.search;
    body.replaceChildren(h("p.rest", {}, "The event as it was kept; only indented."), view.node);
    return view.redraw();
  }

  return {banner, header, suiteTabs, pastResults, spans, hasDocument, kept, eventOf};
})();
