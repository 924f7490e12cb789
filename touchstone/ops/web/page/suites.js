// The figures of all suites, and a card for each: pass rate, trend, results over time, values.

const TREND_MIN = 20; // scored cases in each half; with fewer, a difference says nothing
const VALUES_SHOWN = 6;
const MEANS_SHOWN = 3;
const CODES_SHOWN = 5;
const RATE_MS = 60_000; // results per second are those of this time

/** The trend of the pass rate: the second half of the period against the first; steady if chance explains the difference. */
function trendOf(suite) {
  // Another configuration measures something else: a trend across it would say nothing of what was generated.
  if (suite.changes.length) return {sign: "–", text: "not compared", tone: "other", description: `No trend: ${changeWords(suite.changes.at(-1))}`};
  const half = Math.floor(suite.minutes.length / 2);
  const [before, since] = [suite.minutes.slice(0, half), suite.minutes.slice(half)].map((minutes) => {
    const sum = (label) => minutes.reduce((total, minute) => total + (minute[label] ?? 0), 0);
    const scored = Object.keys(suite.labels).filter((label) => label !== "unscored").reduce((total, label) => total + sum(label), 0);
    return {pass: sum("Pass"), scored};
  });
  if (before.scored < TREND_MIN || since.scored < TREND_MIN) return null;
  const [was, is] = [before.pass / before.scored, since.pass / since.scored];
  const pooled = (before.pass + since.pass) / (before.scored + since.scored);
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / before.scored + 1 / since.scored));
  const description = `${percent(is)} of ${grouped.format(since.scored)} in the second half of this period, ${percent(was)} of ${grouped.format(before.scored)} in the first`;
  const points = Math.abs(Math.round((is - was) * 100));
  const told = {description, from: suite.minutes[half].at};
  if (Math.abs(is - was) <= 1.96 * error || points === 0) return {...told, sign: "→", text: "steady", tone: "other"};
  return is > was ? {...told, sign: "▲", text: `${counted(points, "point")}`, tone: "pass"} : {...told, sign: "▼", text: `${counted(points, "point")}`, tone: "fail"};
}

/** The address of the cases that a figure counts: of the period and the filter shown, or of a part of the period. */
function periodPath(filter, since = null, until = null) {
  const {now, minutes} = state.summary ?? {};
  if (!now) return casesPath({...state.filter, ...filter});
  const first = new Date(Date.parse(now) - minutes * 60_000).toISOString();
  return casesPath({...state.filter, ...filter, since: since && since > first ? since : first, until: until && until < now ? until : now});
}

/** The address where events without a result are explained. */
const accountsPath = (filter) => casesPath({minutes: state.summary?.minutes ?? state.minutes, suite: state.filter.suite, ...filter}, "/accounts");

/** The labels that count as scored, where some cases have no score. */
const scoredOnly = (suite) => (suite.labels.unscored ? {label: Object.keys(suite.labels).filter((label) => label !== "unscored")} : {});

/** A suite's row, empty, and what it opens to. */
function makeSuite(suite) {
  const more = h("div.more", {id: `more-${suite.suite}`, hidden: !state.open.has(suite.suite)});
  const toggle = h("button.toggle", {type: "button", "aria-expanded": String(state.open.has(suite.suite)), "aria-controls": `more-${suite.suite}`, click: () => {
    const open = more.hidden;
    more.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
    state.open[open ? "add" : "delete"](suite.suite);
    showMore(more, state.summary?.suites.find((one) => one.suite === suite.suite) ?? suite);
  }}, h("span.turn", {"aria-hidden": "true"}, "▸"), h("span.sr", {}, `Details of ${suite.title}`));
  return h("article.suite", {"aria-labelledby": `suite-${suite.suite}`},
    h("div.line", {},
      h("h2", {id: `suite-${suite.suite}`}, toggle, h("a.title"), h("small")),
      h("p.big", {}, h("a", {}, h("span"), h("span.sr.unit"))), h("p.trend"),
      h("div.drawing", {}, timeChart()), h("div.legend", {role: "group", "aria-label": `Cases of ${suite.title} by label`}), h("p.means")),
    more);
}

/** A suite's row, brought up to date. */
function updateSuite(card, suite) {
  const part = (name) => card.querySelector(name);
  const address = (filter, ...when) => periodPath({suite: suite.suite, ...filter}, ...when);
  setText(part(".title"), suite.title);
  part(".title").href = address({});
  setText(part("h2 small"), suite.version);
  setText(part(".big a span"), percent(suite.pass_rate));
  part(".big a").href = address(scoredOnly(suite));
  // If some cases have no score, the rate says how many have one.
  const unit = suite.labels.unscored ? `pass of ${grouped.format(suite.total - suite.labels.unscored)} scored` : "pass";
  setText(part(".big .unit"), ` ${unit}`);
  part(".big").title = unit;
  const trend = trendOf(suite), shown = part(".trend");
  // Without a trend there is nothing to count, and nothing to open.
  keep(shown, trend ? [trend] : [], (one) => String(Boolean(one.from)), (one) => h(one.from ? "a" : "span"), (node, one) => {
    setText(node, `${one.sign} ${one.text}`);
    if (one.from) node.href = address(scoredOnly(suite), one.from);
    node.title = one.description;
  });
  shown.className = `trend tone-${trend?.tone ?? "other"}`;
  drawTime(part(".time"), suite);
  keep(part(".legend"), Object.entries(suite.labels).filter(([label, count]) => count || label === "Fail"), ([label]) => label,
    ([label]) => h(`a.key.tone-${tone(label)}`, {title: `${label}: show the cases`}, h("i", {"aria-hidden": "true"}, sign(label)), h("span.sr", {}, ` ${label} `), h("b")),
    (node, [label, count]) => {
      setText(node.lastChild, grouped.format(count));
      node.href = address({label});
    });
  const listed = suite.values.filter((value) => value.listed);
  keep(part(".means"), (listed.length ? listed : suite.values).slice(0, MEANS_SHOWN), (value) => value.name,
    (value) => h("a", {}, `${value.heading} `, h("b")), (node, value) => {
      setText(node.lastChild, figure(value.mean, value.places));
      node.href = address({value: value.name});
      node.title = `mean of ${counted(value.count, "value")}`;
    });
  showMore(part(".more"), suite);
}

/** What a row opens to: distributions, codes, and events without a result. */
function showMore(more, suite) {
  if (more.hidden) return;
  if (!more.childElementCount) more.append(h("p.facts"), h("div.chart", {}, timeChart(), h("div")), h("div.values"), h("div.codes"));
  const [facts, chart, values, codes] = more.children;
  const lag = lagWords(suite.lag), minuteAgo = new Date(Date.parse(state.summary?.now ?? 0) - RATE_MS).toISOString();
  keep(facts, [
    ["name", suite.suite, null], ["results", counted(suite.total, "result"), periodPath({suite: suite.suite})],
    ["rate", `${rate(suite.per_second)} per second`, periodPath({suite: suite.suite}, minuteAgo)],
    lag && ["lag", lag, accountsPath({suite: suite.suite})],
    suite.last_result_at && ["last", `last ${ago(suite.last_result_at, clockNow())}`, null],
  ].filter(Boolean), ([name]) => name, ([, , href]) => h(href ? "a" : "span"), (node, [, text, href]) => {
    setText(node, text);
    if (href) node.href = href;
  });
  const axis = drawTime(chart.firstChild, suite), latest = suite.changes.at(-1);
  chart.lastChild.replaceChildren(...[axis(), latest && h("p.change", {}, changeWords(latest), suite.changes.length > 1 ? ` (${suite.changes.length} changes)` : "")].filter(Boolean));
  const listed = suite.values.filter((value) => value.listed);
  keep(values, (listed.length ? listed : suite.values).slice(0, VALUES_SHOWN), (value) => value.name, spread, (node, value) => drawSpread(node, value, suite));
  showCodes(codes, suite);
}

/** What rises beyond chance. */
function showRising(entries) {
  $("rising-part").hidden = !entries.length;
  keep($("rising"), entries, (one) => JSON.stringify([one.suite, one.code, one.label, one.concern, one.model]), () => h("li"), (node, one) => {
    const address = periodPath({suite: one.suite, code: one.code, label: one.label, concern: one.concern ?? state.filter.concern, model: one.model, version: one.suite_version, digest: one.config_digest}, one.since);
    if (!node.firstChild) node.append(h("a.rise"));
    const link = dress(node.firstChild, {href: address, title: `${one.count} of ${grouped.format(one.of)} since ${moment(hour, one.since)}, ${one.before} of ${grouped.format(one.before_of)} before`});
    link.replaceChildren(h("span.riser", {}, one.code ? h("code", {}, one.code) : chip(one.label)), h("b", {}, `×${grouped.format(one.count)} `, h("span.tone-fail.grown", {}, `+${grouped.format(one.more)}`)),
      h("span.rest", {}, [one.title, one.concern ?? one.model].filter(Boolean).join(" · ")), sparkline(one.minutes), h("span.rest", {}, `since ${moment(hour, one.since)}`));
  });
}

/** Counts as a small line of columns; the words beside it say the same. */
function sparkline(counts) {
  const peak = Math.max(1, ...counts), width = 100 / counts.length;
  return s("svg", {class: "spark tone-fail", "aria-hidden": "true"},
    ...counts.map((count, place) => s("rect", {x: `${place * width + width * 0.1}%`, y: `${100 - (count / peak) * 100}%`, width: `${width * 0.8}%`, height: `${(count / peak) * 100}%`})));
}

/** The most frequent findings, and events without a result. */
function showCodes(codes, suite) {
  if (!codes.childElementCount) codes.append(...["Most frequent findings", "Without a result"].map((title) => h("div", {}, h("h3", {}, title), h("ul"))));
  const fill = (box, rows) => {
    box.hidden = !rows.length;
    keep(box.lastChild, rows, ([name]) => name, ([, , , tones]) => h(`li${tones}`, {}, h("a")), (node, [, href, parts]) => {
      const link = node.firstChild, text = parts.map((part) => part.textContent).join("");
      link.href = href;
      if (link.textContent !== text) link.replaceChildren(...parts);
    });
  };
  fill(codes.firstChild, suite.codes.slice(0, CODES_SHOWN).map(({code, count}) => [code, periodPath({suite: suite.suite, code}), [h("code", {}, code), h("span", {}, ` ${grouped.format(count)}`)], ""]));
  const skipped = suite.without_result.filter((entry) => entry.outcome === "skipped").reduce((sum, entry) => sum + entry.count, 0);
  const lost = suite.without_result.filter((entry) => entry.outcome !== "skipped").map(({outcome, reason, count}) =>
    [`${outcome} ${reason}`, accountsPath({suite: suite.suite, outcome}), [h("b", {}, outcome), h("span", {}, " "), h("code", {}, reason), h("span", {}, ` ${grouped.format(count)}`)], ".tone-fail"]);
  fill(codes.lastChild, [...lost, ...(skipped ? [["skipped", accountsPath({suite: suite.suite}), [h("span", {}, `${grouped.format(skipped)} skipped`)], ""]] : [])]);
}

const rate = (perSecond) => (perSecond === 0 ? "0" : perSecond < 0.05 ? "< 0.1" : figure(perSecond, perSecond < 10 ? 1 : 0));

function lagWords(lag) {
  if (!lag) return "";
  if (lag.records === null) return "its workers have not started";
  return lag.records ? `${grouped.format(lag.records)} behind` : "up to date";
}

/** Show a summary. */
function showSummary(summary) {
  const total = summary.suites.reduce((sum, suite) => sum + suite.total, 0);
  const known = summary.suites.map((suite) => suite.lag?.records).filter((lag) => typeof lag === "number");
  const lag = known.length ? grouped.format(known.reduce((sum, one) => sum + one, 0)) : "–";
  const sum = (number) => summary.suites.reduce((all, suite) => all + number(suite), 0);
  const unscored = sum((suite) => suite.labels.unscored ?? 0);
  const expired = sum((suite) => suite.without_result.filter((entry) => entry.outcome === "expired").reduce((all, entry) => all + entry.count, 0));
  const figures = [
    ["Results", grouped.format(total), rangeWords(summary.minutes), "", periodPath({})],
    ["Per second", rate(summary.per_second), "", "", periodPath({}, new Date(Date.parse(summary.now) - RATE_MS).toISOString())],
    ["Waiting", lag, "", "", accountsPath({})],
    ["Dead letters", grouped.format(summary.dead_letters), "", summary.dead_letters ? "fail" : "", accountsPath({outcome: "dead"})],
    ["Unscored", grouped.format(unscored), "", unscored ? "unscored" : "", periodPath({label: "unscored"})],
    ["Expired", grouped.format(expired), "", expired ? "fail" : "", accountsPath({outcome: "expired"})],
  ];
  keep($("figures"), figures, ([name]) => name, ([name]) => h("div", {}, h("dt", {}, name), h("dd", {}, h("a"), h("small"))), (node, [name, text, note, tones, href]) => {
    const place = node.children[1].firstChild;
    setText(place, text);
    place.href = href;
    place.setAttribute("aria-label", `${name}: ${text === "–" ? "not known" : text}`);
    setText(node.children[1].lastChild, note);
    node.className = tones ? `tone-${tones}` : "";
  });
  const busy = summary.suites.filter((suite) => suite.total || suite.dead_letters);
  const quiet = summary.suites.filter((suite) => !busy.includes(suite));
  keep($("suites"), busy, (suite) => suite.suite, makeSuite, updateSuite);
  $("figures").hidden = false;
  $("empty").hidden = Boolean(busy.length) || state.rows > 0;
  $("quiet").hidden = !busy.length || !quiet.length;
  const unrun = quiet.filter((suite) => !suite.lag || suite.lag.records === null);
  setText($("quiet-title"), `${counted(quiet.length, "suite")} without results ${rangeWords(summary.minutes)}`);
  keep($("quiet-list"), quiet, (suite) => suite.suite, () => h("li", {}, h("b"), h("span.rest")), (node, suite) => {
    setText(node.firstChild, suite.title);
    setText(node.lastChild, unrun.includes(suite) ? " no worker runs it" : ` ${lagWords(suite.lag)}`);
  });
  showRising(summary.rising ?? []);
  setText($("empty-suite"), summary.suites[0]?.suite ?? "SUITE");
  const chosen = Object.keys(state.filter).length > 0;
  setText($("empty-title"), chosen ? "No results with this filter" : "No results yet");
  setText($("empty-why"), emptyWords(summary));
  $("empty-all").hidden = !chosen;
  const parts = [`${counted(summary.window.events, "event")} in memory`];
  if (!summary.window.is_whole && summary.window.first_at) parts.push(`the figures reach back to ${moment(clock, summary.window.first_at)} only`);
  parts.push(`${counted(summary.clients, "stream")} open`, `service up since ${moment(full, summary.started_at)}`);
  setText($("foot"), `${parts.join(" · ")}.`);
}

function emptyWords(summary) {
  if (summary.connection.state === "catching_up") return "Earlier results are still being read.";
  if (!["live", "files"].includes(summary.connection.state)) return `The service cannot reach Kafka: ${summary.connection.reason ?? "no reason given"}.`;
  const names = summary.suites.map((suite) => suite.title).join(", ");
  return `${names ? `Installed here: ${names}. ` : ""}Nothing has been scored ${rangeWords(summary.minutes)}.`;
}

const rangeWords = (minutes) => `in the last ${minutes % 60 ? `${minutes} minutes` : minutes === 60 ? "hour" : `${minutes / 60} hours`}`;
