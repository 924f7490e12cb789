// The panel beside the page: one case, or one batch. Its address can be shared.

const FINDINGS_IN_PANEL = 100;
const BATCHES_BESIDE = 20;
const panel = $("panel");
let shownHash = "";

/** Show a result of the live list beside it, from the service's memory: also without a store, and before the result is in it. */
const openResult = (id) => openHash(`#result=${encodeURIComponent(id)}`);

function openHash(hash) {
  if (location.hash !== hash) history.pushState(null, "", hash);
  showHash();
}

/** Show what the address names, or close the panel where it names nothing. */
async function showHash() {
  const [, kind, given] = /^#(result|batch)=(.+)$/.exec(location.hash) ?? [];
  let id = "";
  try { id = decodeURIComponent(given ?? ""); } catch { /* then it names nothing */ }
  if (!id) {
    shownHash = "";
    if (panel.open) panel.close();
    return;
  }
  if (shownHash === location.hash && panel.open) return;
  const hash = shownHash = location.hash;
  const body = $("panel-body");
  body.replaceChildren(head(h("span", {}, id)), h("p.rest", {}, "loading …"));
  if (!panel.open) panel.showModal();
  panel.scrollTop = 0;
  let parts;
  try {
    const found = await askJson(`/v1/${kind === "result" ? "results" : "batches"}/${encodeURIComponent(id)}`);
    parts = found === null ? gone(kind, id) : kind === "result" ? resultParts(found) : batchParts(found, await beside(found));
  } catch {
    parts = [head(h("span", {}, id)), h("p", {}, "The service does not answer just now."), h("button", {type: "button", click: () => { shownHash = ""; showHash(); }}, "Try again")];
  }
  if (shownHash === hash && panel.open) {
    const focused = body.contains(document.activeElement);
    body.replaceChildren(...parts);
    if (focused) body.querySelector(".close").focus();
  }
}

panel.addEventListener("close", () => {
  shownHash = "";
  $("panel-body").replaceChildren();
  if (/^#(result|batch)=/.test(location.hash)) history.replaceState(null, "", location.pathname + location.search);
});
panel.addEventListener("click", (event) => {
  if (event.target === panel) panel.close();
});
addEventListener("popstate", showHash);
addEventListener("hashchange", showHash);

function head(...title) {
  return h("div.panel-head", {}, h("h2", {id: "panel-title"}, ...title), h("button.close", {type: "button", "aria-label": "Close", title: "Close (Esc)", click: () => panel.close()}, "✕"));
}

/** A case that has left the service's memory. */
function gone(kind, id) {
  return [head(h("span", {}, id)), h("p", {}, `No such ${kind} among the latest events. Older ones are in the store: `, h("code", {}, "touchstone report"), ".")];
}

const facts = (pairs) => h("dl.facts", {}, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
  .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value instanceof Node ? value : String(value)))));

const part = (title, ...children) => h("section", {}, h("h3", {}, title), ...children);

/** The position of an event: on a topic, or in a file. */
function place(source) {
  if (!source) return null;
  if (source.topic !== undefined) return h("code", {}, `${source.topic}[${source.partition}]@${source.offset}`);
  return h("code", {}, source.place ? `${source.file}, ${source.place}` : String(source.file));
}

function resultParts(found) {
  const {event} = found, suite = state.suites.get(found.suite);
  const findings = event.findings ?? [], failures = event.failures ?? [], unchecked = event.not_checked ?? [];
  const parts = [
    head(chip(found.label), h("a.name", {href: casePath(found.event_id, found.result_id)}, found.name)),
    h("p", {}, h("a.button", {href: casePath(found.event_id, found.result_id)}, "Open the case")),
    h("p.rest", {}, `${suite?.title ?? found.suite} · ${found.suite} ${event.suite_version ?? ""} · ${moment(full, event.scored_at ?? found.at)}`),
    valueTable(found.values, suite),
    part(findings.length ? counted(findings.length, "finding") : "Findings", findings.length ? findingList(findings) : h("p.rest", {}, "None.")),
  ];
  if (failures.length) parts.push(part("Could not be scored", h("ul.findings", {}, failures.slice(0, FINDINGS_IN_PANEL).map(({component, kind, code}) => h("li", {}, severity("critical"), h("code", {}, code), ` ${component}: ${kind}`)))));
  if (unchecked.length) parts.push(part("Not checked", h("ul.findings", {}, unchecked.slice(0, FINDINGS_IN_PANEL).map(({check, reason}) => h("li", {}, h("code", {}, check), ` ${reason}`)))));
  parts.push(
    part("Position on Kafka", facts([["event", place(found.source)], ["result", place(found.position)]])),
    found.replay
      ? part("Score it again", h("p.rest", {}, "Run it on a machine that can read the topic. The result keeps its id, so nothing counts twice."), copyable(found.replay, "Copy the command"))
      : part("Score it again", h("p.rest", {}, "Its event is not on a topic that a command can name.")),
    part("Share", copyable(location.href, "Copy the link")),
    part("Details", facts([
      ["event id", found.event_id], ["case id", found.case_id], ["result id", found.result_id], ["concern", found.concern_id], ["batch", found.batch_id],
      ["configuration", event.config_digest], ...named(event.models, "model"), ...named(event.correlation, "correlation"), ...named(event.duration_ms, "ms"),
    ])),
    h("details", {}, h("summary", {}, "The event as on its topic"), h("pre", {tabindex: 0}, JSON.stringify(event, null, 1))));
  return parts;
}

const named = (map, what) => Object.entries(map ?? {}).slice(0, 20).map(([name, value]) => [`${what}: ${name}`, typeof value === "number" ? String(Math.round(value * 1000) / 1000) : value]);

function findingList(findings) {
  const rank = Object.keys(SEVERITIES);
  const sorted = [...findings].sort((one, other) => rank.indexOf(one.severity) - rank.indexOf(other.severity));
  const rows = sorted.slice(0, FINDINGS_IN_PANEL).map((finding) => h("li", {}, severity(finding.severity), h("code", {}, finding.code),
    h("span.path", {}, finding.path), finding.message && h("span.message", {}, finding.message), finding.suggestion && h("span.message", {}, finding.suggestion)));
  if (sorted.length > rows.length) rows.push(h("li.rest", {}, `and ${grouped.format(sorted.length - rows.length)} more`));
  return h("ul.findings", {}, rows);
}

function valueTable(values, suite) {
  const known = new Map((suite?.components ?? []).map((component) => [component.name, component]));
  const order = [...known.keys()];
  const rows = Object.entries(values).sort(([one], [other]) => (order.indexOf(one) + 1 || 1e9) - (order.indexOf(other) + 1 || 1e9)).slice(0, 100);
  if (!rows.length) return h("p.rest", {}, "No values.");
  return h("dl.scores", {}, rows.map(([name, value]) => {
    const component = known.get(name);
    const [arrow, direction] = DIRECTIONS[component?.better] ?? ["", ""];
    return h("div", {title: direction}, h("dt", {}, component?.heading ?? name, arrow && ` ${arrow}`), h("dd", {}, figure(value, component?.places)));
  }));
}

/** A word of a command line that a shell takes as it is. */
const quoted = (word) => (/^[\w.+:@-]+$/.test(word) && !word.startsWith("-") ? word : `'${String(word).replaceAll("'", "'\\''")}'`);

/** The pass rate of a batch with its interval; null where nothing was scored. */
function rateOf({report}) {
  const {pass, total_cases: total} = report.summary ?? {};
  return Number.isInteger(pass) && Number.isInteger(total) && total > 0 && pass <= total ? {...wilson(pass, total), total} : null;
}

/** The last batches of the same concern that have a pass rate, in the order of their last reports. */
async function beside(found) {
  if (!found.suite) return [];
  const chosen = `suite=${encodeURIComponent(found.suite)}&concern=${encodeURIComponent(found.concern_id)}`;
  const listed = (await askJson(`/v1/batches?limit=${BATCHES_BESIDE}&${chosen}`))?.batches ?? [];
  return listed.map((batch) => ({batch, rate: rateOf(batch)})).filter(({rate}) => rate).reverse().map(({batch, rate}) => ({id: batch.report_id, name: batch.batch_id, ...rate}));
}

/** The course of the batches, and what the pass rate did since the one before. */
function courseParts(found, batches) {
  const place = batches.findIndex((batch) => batch.id === found.report_id);
  if (batches.length < 2) return null;
  const change = place > 0 ? changeOf(batches[place - 1], batches[place]) : null;
  return part(`Batches of ${found.concern_id}`, rateLine(batches, place),
    change && h("p", {}, h(`span.trend.tone-${change.tone}`, {}, `${change.sign} ${change.text}`), h("span.rest", {}, ` since ${batches[place - 1].name}`)));
}

function batchParts(found, batches) {
  const {report} = found, suite = state.suites.get(found.suite), rate = rateOf(found);
  const means = Object.fromEntries(Object.entries(report.mean_scores ?? {}).filter(([, value]) => typeof value === "number"));
  const counts = countsOf(report);
  const asked = `touchstone report${found.suite ? ` --suite ${quoted(found.suite)}` : ""} --concern=${quoted(found.concern_id)} --batch=${quoted(found.batch_id)}`;
  const plain = [found.suite ?? "", found.concern_id, found.batch_id].every((name) => !/[\p{Cc}\p{Cf}]/u.test(name));
  return [
    head(h("span.name", {}, found.batch_id)),
    h("p.rest", {}, `${suite?.title ?? found.suite ?? found.type} · ${found.concern_id} · ${report.final ? "final" : "so far"} · ${moment(full, found.at)}`),
    h("p.big", {}, h("b", {}, percent(passRateOf(report))), h("span.unit", {}, ` pass of ${counted(report.summary?.total_cases ?? 0, "case")}`)),
    rate && h("p.rest", {}, spanWords(rate)),
    shareBar(counts),
    h("p", {}, words(counts)),
    found.suite && h("p", {}, h("a.button", {href: casesPath({suite: found.suite, concern: found.concern_id, batch: found.batch_id})}, "The cases")),
    courseParts(found, batches),
    part("Means", valueTable(means, suite)),
    plain ? part("The full report", copyable(asked, "Copy the command")) : null,
    part("Share", copyable(location.href, "Copy the link")),
    part("Reports of this batch", h("ul.findings", {}, found.reports.slice(0, 20).map((one) =>
      h("li", {}, h("span", {}, moment(clock, one.at)), h("b", {}, percent(passRateOf(one.report))), h("span.rest", {}, `${counted(one.report.summary?.total_cases ?? 0, "case")}, ${one.report.final ? "final" : "so far"}`))))),
    h("details", {}, h("summary", {}, "The report event as on its topic"), h("pre", {tabindex: 0}, JSON.stringify(report, null, 1))),
  ].filter(Boolean);
}
