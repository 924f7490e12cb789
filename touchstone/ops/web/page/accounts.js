// The view at /accounts: what became of every event lately, suite by suite, and where those lie that have no result.
{
  const SHOWN = 200;
  const NUMBERS = ["Results", "Waiting", "Skipped", "Dead", "Shed", "Expired", "Events"];
  const MEANINGS = {
    dead: ["Dead letters", "could not be read as a case of the suite. The bytes are on the dead-letter topic as they came.", "touchstone dlq list"],
    shed: ["Shed", "were left out by a limit or a budget, on purpose. They can be scored later.", "touchstone replay --help"],
    expired: ["Expired", "were deleted by Kafka before a worker had read them: the topic's retention is too short, or the workers were away for too long.", "touchstone reconcile"],
  };

  const countOf = (suite, outcome) => suite.without_result.filter((entry) => entry.outcome === outcome).reduce((sum, entry) => sum + entry.count, 0);
  const reasons = (suite, outcome) => suite.without_result.filter((entry) => entry.outcome === outcome).map((entry) => `${entry.reason} ${grouped.format(entry.count)}`).join(", ");

  /** A suite's row: every event of it has ended in one of these columns, or waits. */
  function row(suite, {minutes, since, until}) {
    const of = (filter) => casesPath({minutes, suite: suite.suite, ...filter}, "/accounts");
    const cell = (text, href, title = "") => h("td.number", {}, href ? h("a", {href, title}, text) : h("span", {title}, text));
    const lost = (outcome) => cell(grouped.format(countOf(suite, outcome)), countOf(suite, outcome) ? of({outcome}) : null, reasons(suite, outcome));
    const waiting = suite.lag?.records ?? null;
    return h("tr", {"data-row": suite.suite},
      h("th.c-name", {scope: "row"}, h("a.open.name", {href: of({})}, suite.title), h("span.rest", {}, ` ${suite.suite}`)),
      cell(grouped.format(suite.total), casesPath({suite: suite.suite, since, until})),
      h("td.number", {title: suite.lag ? `consumer group ${suite.lag.group}` : ""}, waiting === null ? h("span.rest", {}, suite.lag ? "no worker yet" : "–") : grouped.format(waiting)),
      cell(grouped.format(countOf(suite, "skipped")), null, reasons(suite, "skipped")), lost("dead"), lost("shed"), lost("expired"));
  }

  function place(one) {
    const events = one.last - one.first + 1;
    return h("tr", {"data-row": `${one.topic} ${one.partition} ${one.first} ${one.outcome} ${one.suite}`},
      h("td", {}, h("time", {datetime: one.at}, moment(clock, one.at))), h("td", {}, one.suite), h("td", {}, h(one.outcome === "shed" ? "b" : "b.tone-fail.toned", {}, one.outcome), " ", h("code", {}, one.reason)),
      h("td", {}, h("code", {}, `${one.topic}[${one.partition}]@${one.first}${events > 1 ? `–${one.last}` : ""}`)), h("td.number", {}, grouped.format(events)));
  }

  const table = (label, heads, rows) => h("div.card.scroll", {tabindex: 0, role: "region", "aria-label": label}, listing.stacked(h("table.plain", {"aria-label": label},
    h("thead", {}, h("tr", {}, heads.map((head) => h(NUMBERS.includes(head) ? "th.number" : "th", {scope: "col"}, head)))), h("tbody", {}, rows))));

  async function show(params, query, root, signal) {
    const minutes = Number(query.get("minutes")) || 15, suites = query.getAll("suite"), outcome = query.get("outcome");
    state.minutes = minutes;
    topbar.draw();
    const chosen = new URLSearchParams([["minutes", minutes], ...suites.map((suite) => ["suite", suite])]);
    const [summary, lost] = await Promise.all([
      askJson(`/v1/summary?${chosen}`, {signal}), askJson(`/v1/outcomes?${chosen}&limit=${SHOWN}${outcome ? `&outcome=${encodeURIComponent(outcome)}` : ""}`, {signal})]);
    if (signal.aborted) return;
    const until = summary.now, since = new Date(Date.parse(until) - minutes * 60_000).toISOString();
    const tabs = ["", ...Object.keys(MEANINGS)].map((one) => h("a", {href: casesPath({minutes, suite: suites, outcome: one}, "/accounts"), "aria-current": (outcome ?? "") === one ? "true" : null}, one ? MEANINGS[one][0] : "All"));
    const events = lost.outcomes.reduce((sum, one) => sum + one.last - one.first + 1, 0);
    root.replaceChildren(...[
      h("div.list-head", {}, h("h1", {}, "Accounts"), h("p.total", {}, rangeWords(minutes))),
      h("p", {}, "Each event of a suite ends in exactly one way: with a result, skipped because it is not meant for the suite, dead, shed or expired. What is in none of these columns waits."),
      table("Events by outcome", ["Suite", "Results", "Waiting", "Skipped", "Dead", "Shed", "Expired"], summary.suites.filter((suite) => suite.total || suite.without_result.length || suite.lag?.records !== null && suite.lag).map((suite) => row(suite, {minutes, since, until}))),
      h("nav.suite-tabs", {"aria-label": "Outcomes"}, tabs),
      h("h2", {"data-count": lost.events}, `${counted(lost.events, "event")} without a result${outcome ? `: ${outcome}` : ""}`),
      ...Object.entries(MEANINGS).filter(([name]) => name === outcome).map(([, [, what, command]]) => h("p", {}, `These events ${what} `, h("code", {}, command))),
      lost.outcomes.length ? table("Where events have no result", ["When", "Suite", "Why", "Where", "Events"], lost.outcomes.map(place)) : h("p.rest", {}, "None in this time."),
      events < lost.events && h("p.rest", {}, `Shown are the latest ${grouped.format(events)}. touchstone reconcile lists all.`),
    ].filter(Boolean));
  }

  routes.push({
    name: "accounts", match: /^\/accounts$/, title: () => "Accounts", show,
    keys: [["j", "next suite", () => listing.walk(router.root, 1)], ["k", "previous suite", () => listing.walk(router.root, -1)]],
  });
}
