// The figures of all suites, and a card for each: pass rate, trend, results over time, values.

const TREND_MIN = 20; // scored cases in each half; with fewer, a difference says nothing
const VALUES_SHOWN = 6;
const CODES_SHOWN = 5;

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
  if (Math.abs(is - was) <= 1.96 * error || points === 0) return {sign: "→", text: "steady", tone: "other", description};
  return is > was ? {sign: "▲", text: `up ${counted(points, "point")}`, tone: "pass", description} : {sign: "▼", text: `down ${counted(points, "point")}`, tone: "fail", description};
}

/** A suite's card, empty. */
function makeSuite(suite) {
  return h("article.card.suite", {"aria-labelledby": `suite-${suite.suite}`},
    h("div.about", {},
      h("h2", {id: `suite-${suite.suite}`}, h("span.title"), h("small")),
      h("p.big", {}, h("b"), h("span.unit", {}, "pass"), h("span.trend")),
      h("p.facts")),
    h("div.course", {}, h("div.drawing"), h("div.legend", {role: "group", "aria-label": "Show only"})),
    h("div.values"),
    h("div.codes"));
}

/** A suite's card, brought up to date. */
function updateSuite(card, suite) {
  const part = (name) => card.querySelector(name);
  setText(part(".title"), suite.title);
  setText(part("h2 small"), ` ${suite.suite} ${suite.version}`);
  card.className = "card suite";
  setText(part(".big b"), percent(suite.pass_rate));
  // If some cases have no score, the rate says how many have one.
  setText(part(".big .unit"), suite.labels.unscored ? `pass of ${grouped.format(suite.total - suite.labels.unscored)} scored` : "pass");
  const trend = trendOf(suite), shown = part(".trend");
  setText(shown, trend ? `${trend.sign} ${trend.text}` : "");
  shown.className = `trend tone-${trend?.tone ?? "other"}`;
  shown.title = trend?.description ?? "";
  const facts = [counted(suite.total, "result"), `${rate(suite.per_second)} per second`, lagWords(suite.lag)];
  if (suite.last_result_at) facts.push(`last ${ago(suite.last_result_at, clockNow())}`);
  keep(part(".facts"), facts.filter(Boolean), (fact) => fact.replace(/[0-9.,]+/g, ""), () => h("span"), (node, fact) => setText(node, fact));
  part(".drawing").replaceChildren(timeChart(suite));
  keep(part(".legend"), Object.entries(suite.labels), ([label]) => label,
    ([label]) => h(`button.key.tone-${tone(label)}`, {type: "button", title: `Show only these below`, click: () => setFilter(`suite:${suite.suite} label:${label}`)},
      h("i", {"aria-hidden": "true"}, sign(label)), h("span", {}, ` ${label} `), h("b")),
    (node, [, count]) => setText(node.lastChild, grouped.format(count)));
  const listed = suite.values.filter((value) => value.listed);
  part(".values").replaceChildren(...(listed.length ? listed : suite.values).slice(0, VALUES_SHOWN).map(spread));
  part(".codes").replaceChildren(...codesOf(suite));
}

/** The most frequent findings, and events without a result. */
function codesOf(suite) {
  const found = suite.codes.slice(0, CODES_SHOWN).map(({code, count}) => h("li", {}, h("code", {}, code), ` ${grouped.format(count)}`));
  const lost = suite.without_result.filter((entry) => entry.outcome !== "skipped");
  const without = lost.map(({outcome, reason, count}) => h("li.tone-fail", {}, h("b", {}, `${outcome} `), h("code", {}, reason), ` ${grouped.format(count)}`));
  const skipped = suite.without_result.filter((entry) => entry.outcome === "skipped").reduce((sum, entry) => sum + entry.count, 0);
  return [
    found.length && h("div", {}, h("h3", {}, "Most frequent findings"), h("ul", {}, found)),
    (without.length || skipped) && h("div", {}, h("h3", {}, "Without a result"), h("ul", {}, without, skipped ? h("li", {}, `${grouped.format(skipped)} skipped`) : null)),
  ].filter(Boolean);
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
  const figures = [
    ["Results", grouped.format(total), rangeWords(summary.minutes), ""],
    ["Per second", rate(summary.per_second), "last minute", ""],
    ["Waiting", lag, "events without an outcome yet", ""],
    ["Dead letters", grouped.format(summary.dead_letters), rangeWords(summary.minutes), summary.dead_letters ? "fail" : ""],
  ];
  keep($("figures"), figures, ([name]) => name, ([name]) => h("div", {}, h("dt", {}, name), h("dd"), h("small")), (node, [, text, note, tones]) => {
    setText(node.children[1], text);
    setText(node.children[2], note);
    node.className = tones ? `tone-${tones}` : "";
  });
  const busy = summary.suites.filter((suite) => suite.total || suite.dead_letters);
  const quiet = summary.suites.filter((suite) => !busy.includes(suite));
  keep($("suites"), busy, (suite) => suite.suite, makeSuite, updateSuite);
  $("figures").hidden = false;
  $("empty").hidden = Boolean(busy.length) || state.rows > 0;
  $("quiet").hidden = !busy.length || !quiet.length;
  setText($("quiet"), `No results ${rangeWords(summary.minutes)}: ${quiet.map((suite) => [suite.title, lagWords(suite.lag)].filter(Boolean).join(", ")).join("; ")}.`);
  setText($("empty-suite"), summary.suites[0]?.suite ?? "SUITE");
  setText($("empty-why"), emptyWords(summary));
  const parts = [`${counted(summary.window.events, "event")} in memory`];
  if (!summary.window.is_whole && summary.window.first_at) parts.push(`the figures reach back to ${moment(clock, summary.window.first_at)} only`);
  parts.push(`${counted(summary.clients, "stream")} open`, `service up since ${moment(full, summary.started_at)}`);
  setText($("foot"), `${parts.join(" · ")}.`);
}

function emptyWords(summary) {
  if (summary.connection.state === "catching_up") return "Earlier results are still being read.";
  if (summary.connection.state !== "live") return `The service cannot reach Kafka: ${summary.connection.reason ?? "no reason given"}.`;
  const names = summary.suites.map((suite) => suite.title).join(", ");
  return `${names ? `Installed here: ${names}. ` : ""}Nothing has been scored ${rangeWords(summary.minutes)}.`;
}

const rangeWords = (minutes) => `in the last ${minutes % 60 ? `${minutes} minutes` : minutes === 60 ? "hour" : `${minutes / 60} hours`}`;
