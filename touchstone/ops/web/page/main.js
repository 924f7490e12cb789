// The page: figures from /v1/summary, asked for again when events have arrived, and a live list from the stream.

const DRAW_MS = 250;
const REFRESH_MS = 2_000;
const IDLE_MS = 10_000;
const NEWS_MS = 8_000; // how long news about the connection is shown

const due = {figures: true, batches: true, suites: true};
let looked = false; // whether figures have been shown
let kafkaAway = "", lostAt = 0, retryAt = 0, news = "", newsUntil = 0;

const STATES = {
  connecting: ["◌", "connecting"], live: ["●", "live"], reconnecting: ["◌", "not connected"], closing: ["◌", "the service is closing"],
  token: ["○", "token needed"], away: ["◐", "Kafka unreachable"], gap: ["◐", "live, with a gap"], paused: ["❙❙", "live, list paused"],
};

/** Show the state of the connection. */
function showState(name, text = "") {
  const [mark, word] = STATES[name];
  const shown = $("state");
  document.body.dataset.state = name;
  setText(shown.firstElementChild, mark);
  setText(shown.lastElementChild, text || word);
}

function drawState() {
  if (session.tokenAsked !== null) return;
  const now = Date.now();
  if (now > newsUntil) news = "";
  let name = state.connection;
  if (name === "live") name = kafkaAway ? "away" : news.includes("gap") ? "gap" : state.paused ? "paused" : "live";
  showState(name);
  const left = Math.ceil((retryAt - now) / 1000);
  const next = left > 0 ? `Next try in ${left} s.` : "Trying now …";
  let notice = news;
  if (lostAt && state.connection !== "live") notice = `${name === "closing" ? "The service has ended" : "Not connected"} since ${moment(clock, lostAt)}; the page shows the state of then. ${next}`;
  else if (kafkaAway) notice = `The service cannot reach Kafka${kafkaAway === "yes" ? "" : ` (${kafkaAway})`}. It continues by itself, and no event will be missed.`;
  $("notice").hidden = !notice;
  setText($("notice"), notice);
  nameAddress();
}

function announce(text) {
  news = text;
  newsUntil = Date.now() + NEWS_MS;
}

const RESETS = {expired: "Kafka no longer has all events in between", future: "the topic was created again", unknown: "the topic has other partitions now"};

follow({
  event(type, data) {
    if (type === "touchstone.result") {
      takeResult(data);
      if (!state.suites.has(data.suite)) due.suites = true;
    } else due.batches = true;
    due.figures = true;
  },
  note(comment) {
    if (comment === "kafka is away") kafkaAway = "yes";
    else if (comment === "kafka is back") kafkaAway = "";
  },
  gap(dropped) {
    takeMark(`gap: ${counted(Number(dropped) || 0, "event")} left out here, because this page was too slow; the figures include them`);
    announce("There is a gap in the live list; the figures are complete.");
  },
  reset(reason) {
    takeMark(`gap: ${RESETS[reason] ?? "the stream could not be continued"}; the latest results follow`);
    announce("There is a gap in the live list; the figures are complete.");
    Object.assign(due, {figures: true, batches: true, suites: true});
  },
  state(name, untilMs) {
    if (name === "live") {
      if (lostAt) announce(`Connected again after ${ago(lostAt, Date.now()).replace(" ago", "")}, and continued without a gap.`);
      lostAt = 0;
      Object.assign(due, {figures: true, batches: true, suites: true});
    } else if (!lostAt && state.connection === "live") lostAt = Date.now();
    if (state.connection !== "closing" || name !== "reconnecting") state.connection = name;
    retryAt = untilMs;
    drawState();
  },
});

const isEmpty = (summary) => !summary.suites.some((suite) => suite.total || suite.dead_letters);

/** The summary of the chosen period. If that is empty when the page opens, the shortest period that has a result. */
async function askSummary(minutes) {
  const asked = await askJson(`/v1/summary?minutes=${minutes}`);
  if (looked || !isEmpty(asked) || !asked.window.events) return asked;
  for (const option of $("minutes").options) {
    const longer = Number(option.value);
    const summary = longer > minutes ? await askJson(`/v1/summary?minutes=${longer}`) : asked;
    if (looked || state.minutes !== minutes) return asked;
    if (!isEmpty(summary)) {
      $("minutes").value = option.value;
      state.minutes = longer;
      return summary;
    }
  }
  return asked;
}

/** Ask for everything that is due. */
async function refresh() {
  if (due.suites) {
    const found = await askJson("/v1/suites");
    state.suites = new Map((found?.suites ?? []).map((suite) => [suite.name, suite]));
    due.suites = false;
    showFeed();
  }
  due.figures = false;
  try {
    const summary = await askSummary(state.minutes);
    const {minutes} = summary;
    looked = true;
    state.skewMs = new Date(summary.now) - Date.now();
    state.summary = summary;
    kafkaAway = summary.connection.state === "live" ? "" : summary.connection.reason ?? "yes";
    showSummary(summary);
    showWorst((await askJson(`/v1/results?minutes=${minutes}&limit=${WORST_SHOWN * 2}`))?.results ?? []);
  } catch (error) {
    due.figures = true;
    throw error;
  }
  if (due.batches) {
    due.batches = false;
    showBatches((await askJson(`/v1/batches?limit=${BATCHES_SHOWN}`))?.batches ?? []);
  }
}

/** Keep the figures fresh: soon after an event, otherwise every IDLE_MS, and busy for at most a tenth of the time. */
async function keepFresh() {
  for (let asked = 0, pauseMs = 0; ; ) {
    const now = Date.now();
    if (!document.hidden && now - asked >= pauseMs && (due.figures || now - asked >= IDLE_MS)) {
      asked = now;
      try {
        await refresh();
      } catch { /* the stream shows whether the service is reachable */ }
      pauseMs = Math.max(REFRESH_MS, 10 * (Date.now() - now));
      asked = Date.now();
    }
    await new Promise((resolve) => { setTimeout(resolve, DRAW_MS); });
  }
}

$("minutes").addEventListener("change", () => {
  state.minutes = Number($("minutes").value);
  refresh().catch(() => { due.figures = true; });
});
setInterval(drawFeed, DRAW_MS);
setInterval(drawState, 1000);
document.addEventListener("visibilitychange", () => { due.figures = true; });
routes.push({name: "overview", match: /^\/$/, title: () => "Overview", show: () => showHash(), hide: () => { if (panel.open) panel.close(); }, keys: OVERVIEW_KEYS});
showAddress();
drawState();
keepFresh();
