// Cases as rows: the live list and batches as cards. All lists are bounded, however long the page stays open.

const FEED_MAX = 200;
const CODES_IN_LIVE = 3;
const VALUES_IN_ROW = 4;
const BATCHES_SHOWN = 12;

/** The state of the page. `feed`: rows, newest first. `waiting`: results that arrived while it was paused, or since the list was drawn. */
const state = {
  open: new Set(), filter: {}, feed: [], waiting: [], paused: false, rows: 0, terms: [], suites: new Map(), minutes: 15, summary: null, connection: "connecting", skewMs: 0, marks: 0, taken: 0,
};

/** The service's clock, as far as it is known. */
const clockNow = () => Date.now() + state.skewMs;

/** The name of a case: the id that its suite calls it by, once that is known; else the case id. */
const nameOf = (one) => one.ids.name ?? one.ids[state.suites.get(one.suite)?.named_by] ?? one.ids.case_id ?? one.ids.event_id;

/** The ids of an event that may name it. */
const idsOf = (data) => Object.fromEntries(["name", "event_id", "case_id"].filter((name) => data[name] !== null && data[name] !== undefined).map((name) => [name, String(data[name])]));

/** What a row shows of a result event; the event itself is not kept. */
function rowOf(data) {
  const rank = Object.keys(SEVERITIES), found = new Map(); // code → how severe it is at worst, and how often it is there
  const all = [...(data.failures ?? []).map(({code}) => ({code, severity: "critical"})), ...(data.findings ?? []).filter((finding) => finding.severity !== "info")];
  for (const {code, severity: how} of all.sort((one, other) => rank.indexOf(one.severity) - rank.indexOf(other.severity))) {
    if (found.has(code)) found.get(code).count += 1;
    else found.set(code, {code: String(code), how, count: 1});
  }
  return {
    id: String(data.result_id), at: data.at ?? data.scored_at, label: data.label, suite: data.suite, ids: idsOf(data),
    values: Object.entries(data.values ?? {}).slice(0, 50), codes: [...found.values()].slice(0, CODES_IN_LIVE), more: Math.max(0, found.size - CODES_IN_LIVE),
  };
}

/** Take a result: it waits until the list is drawn next. A result that is scored again moves to the top. */
function takeResult(data) {
  if (typeof data.result_id !== "string") return;
  state.waiting.push(rowOf(data));
  $("feed").dataset.taken = String(++state.taken);
  if (state.waiting.length > FEED_MAX) state.waiting.splice(0, state.waiting.length - FEED_MAX);
}

/** A line between the rows that reports a gap. */
function takeMark(text) {
  state.marks += 1;
  state.waiting.push({id: `mark ${state.marks}`, mark: text, at: clockNow()});
}

/** Move what waits into the list, unless it is paused. */
function drawFeed() {
  if (state.paused || !state.waiting.length) {
    noteFeed();
    return;
  }
  const fresh = new Map();
  for (const one of state.waiting) {
    fresh.delete(one.id);
    fresh.set(one.id, one);
  }
  state.waiting = [];
  state.feed = [...[...fresh.values()].reverse(), ...state.feed.filter((one) => !fresh.has(one.id))].slice(0, FEED_MAX);
  state.rows = state.feed.length;
  $("live").hidden = false;
  $("empty").hidden = true;
  showFeed();
}

/** Draw new rows, and those of suites that have become known. */
function showFeed() {
  const hadFocus = document.activeElement?.closest?.("#feed") ? document.activeElement.dataset.result : null;
  keep($("feed"), state.feed, (one) => `${one.id} ${one.at} ${state.suites.has(one.suite)}`, (one) => (one.mark ? h("li.mark", {}, `${moment(clock, one.at)} · ${one.mark}`) : makeRow(one)));
  if (hadFocus && !document.activeElement?.closest?.("#feed")) rowFor(hadFocus)?.focus({preventScroll: true});
  filterRows();
}

function noteFeed() {
  const waiting = state.waiting.filter((one) => !one.mark).length;
  const more = waiting >= FEED_MAX ? "or more " : "";
  const hidden = state.terms.length ? $("feed").querySelectorAll("li[hidden]").length : 0;
  setText($("live-note"), [state.paused ? `Paused. ${counted(waiting, `new ${more}result`)}.` : "", hidden ? `${counted(hidden, "row")} hidden by the filter.` : ""].filter(Boolean).join(" "));
}

const rowFor = (id) => [...document.querySelectorAll("#feed .row")].find((row) => row.dataset.result === id);

/** A row: a link to the case. */
function makeRow(one) {
  const component = (name) => state.suites.get(one.suite)?.components.find((known) => known.name === name);
  const listed = one.values.filter(([name]) => component(name)?.listed);
  const values = (listed.length ? listed : one.values).slice(0, VALUES_IN_ROW);
  const found = one.codes.map(({how, code, count}) => h(`span.found.tone-${(own(SEVERITIES, how) ?? ["other"])[0]}`, {title: how}, severity(how, true), h("code", {}, code), count > 1 && h("span", {}, `×${grouped.format(count)}`)));
  return h("li", {"data-text": [nameOf(one), one.suite, one.label, ...one.codes.map((finding) => finding.code)].join(" ").toLowerCase(), "data-suite": one.suite, "data-label": one.label},
    h(`a.row.tone-${tone(one.label)}`, {href: casePath(one.ids.event_id ?? one.id, one.id), "data-result": one.id},
      h("span.first", {}, chip(one.label), h("span.name", {}, nameOf(one)), h("time", {title: moment(full, one.at)}, moment(clock, one.at))),
      h("span.second", {}, h("span.suite-name", {}, one.suite), found.length ? [found, one.more > 0 && h("span", {}, `+${grouped.format(one.more)}`)].flat()
        : values.map(([name, value]) => h("span.figure", {}, component(name)?.heading ?? name, h("b", {}, figure(value, component(name)?.places)))))));
}

/** Filter the list. */
function setFilter(text) {
  $("filter").value = text;
  state.terms = text.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 20);
  filterRows();
}

function filterRows() {
  for (const row of document.querySelectorAll("#feed > li")) {
    const {text, suite, label} = row.dataset;
    row.hidden = state.terms.length > 0 && (text === undefined || !state.terms.every((term) => {
      if (term.startsWith("label:")) return label.toLowerCase() === term.slice(6);
      if (term.startsWith("suite:")) return suite.toLowerCase() === term.slice(6);
      return text.includes(term);
    }));
  }
  noteFeed();
}

/** The counts of a report, by label: whatever its suite counts as labels. */
function countsOf(report) {
  const skip = new Set(["total_cases", "overall_pass_rate"]);
  return Object.fromEntries(Object.entries(report.summary ?? {}).filter(([name, count]) => !skip.has(name) && Number.isInteger(count) && count >= 0));
}

/** The pass rate of a report; null if no case was scored, which is not a rate of 0. */
function passRateOf(report) {
  const counts = Object.entries(countsOf(report));
  const scored = counts.reduce((sum, [label, count]) => sum + (label === "unscored" ? 0 : count), 0);
  return counts.length && !scored ? null : report.summary?.overall_pass_rate;
}

function showBatches(batches) {
  $("batches-part").hidden = !batches.length;
  keep($("batches"), batches.slice(0, BATCHES_SHOWN), (batch) => `${batch.report_id} ${batch.at}`, (batch) => {
    const {report} = batch, counts = countsOf(report);
    return h("li", {}, h("a.batch", {href: `#batch=${encodeURIComponent(batch.report_id)}`},
      h("span.first", {}, h("span.name", {}, batch.batch_id), h("b", {}, percent(passRateOf(report)))),
      h("span.second", {}, h("span.suite-name", {}, batch.suite ?? batch.type), h("span", {}, batch.concern_id), h("span", {}, report.final ? "final" : "so far")),
      shareBar(counts),
      h("span.second", {}, h("span", {}, words(counts)))));
  });
}
