// The page: figures from /v1/summary, asked for again when events have arrived, and a live list from the stream.

const DRAW_MS = 250;
const REFRESH_MS = 2_000;
const PAUSE_MS_MAX = 6_000; // figures are asked for at least this often while events come
const IDLE_MS = 10_000;
const AGE_MS = 5_000; // figures that are older say so
const PERIODS_MIN = [15, 60, 240, 1440];
const NEWS_MS = 8_000; // how long news about the connection is shown
const BEHIND_MS = 30_000; // results of this time say how far the list is behind
const BEHIND_MAX = 40;

const due = {figures: true, batches: true, suites: true};
let looked = false; // whether figures have been shown
let longer = null; // the time shown where nothing was scored lately, and no other was chosen
let kafkaAway = "", awaySince = 0, lostAt = 0, backFrom = 0, wasReset = false, retryAt = 0, news = "", newsUntil = 0, figuresAt = 0;
let onFiles = false, filesLeft = false; // whether the service reads files instead of Kafka, and whether it is still reading them
let progress = "", reading = false, synced = false; // `synced`: the stream has delivered everything from before; `reading`: the service itself is not there yet; `progress`: how far
let behind = []; // of the latest new results: when they arrived, and how long after their scoring

const STATES = {
  connecting: ["◌", "connecting"], catching: ["◔", "catching up"], live: ["●", "live"], reconnecting: ["◌", "stale"], closing: ["◌", "stale: the service is closing"],
  token: ["○", "token needed"], link: ["●", "opened by a link"], away: ["◐", "stale: Kafka unreachable"], files: ["○", "files, no live events"], gap: ["◐", "live, with a gap"], paused: ["❙❙", "live, list paused"],
};

/** Show the state of the connection. */
function showState(name, text = "") {
  const [mark, word] = STATES[name];
  const shown = $("state");
  if (document.body.dataset.state !== name) setText($("state-said"), text || word); // the seconds in it are not for a screen reader
  document.body.dataset.state = name;
  setText(shown.firstElementChild, mark);
  setText(shown.lastElementChild, text || word);
}

/** How long after its scoring a result is here: the middle of the latest new ones; null if none came lately. */
function behindMs() {
  behind = behind.filter((one) => Date.now() - one.at < BEHIND_MS).slice(-BEHIND_MAX);
  return behind.length ? behind.map((one) => one.ms).sort((one, other) => one - other)[behind.length >> 1] : null;
}

/** The word for a state, with what is known: how far, how late, since when. */
function stateText(name) {
  if ((name === "catching" || name === "files") && progress) return progress;
  if (name === "live") {
    const ms = behindMs();
    return ms === null ? "live" : `live, ${ms < 95 ? "< 0.1" : ms < 9_950 ? (ms / 1000).toFixed(1) : Math.round(ms / 1000)} s behind`;
  }
  const since = name === "away" ? awaySince : lostAt;
  if (["reconnecting", "closing", "away"].includes(name) && since) return `stale since ${moment(clock, since)}${name === "away" ? ": Kafka unreachable" : name === "closing" ? ": the service is closing" : ""}`;
  return "";
}

function drawState() {
  showAge();
  if (session.tokenAsked !== null) return;
  if (session.link) {
    $("notice").hidden = true;
    return void showState("link");
  }
  const now = Date.now();
  if (now > newsUntil) news = "";
  let name = state.connection;
  if (name === "live") name = onFiles ? "files" : kafkaAway ? "away" : !synced || reading ? (looked || progress ? "catching" : "connecting") : news.includes("gap in") ? "gap" : state.paused ? "paused" : "live";
  showState(name, stateText(name));
  const left = Math.ceil((retryAt - now) / 1000);
  const next = left > 0 ? `Next try in ${left} s.` : "Trying now …";
  let notice = news;
  if (lostAt && state.connection !== "live") notice = `${name === "closing" ? "The service has ended" : "Not connected"} since ${moment(clock, lostAt)}; the page shows the state of then. ${next}`;
  else if (name === "away") notice = `The service cannot reach Kafka${kafkaAway === "yes" ? "" : ` (${kafkaAway})`}. It continues by itself, and no event will be missed.`;
  else if (name === "catching") notice = "Earlier results are being read; figures and list are not complete yet.";
  $("notice").hidden = !notice;
  setText($("notice"), notice);
  nameAddress();
}

/** The age of the figures, once it matters. */
function showAge() {
  const ms = figuresAt ? Date.now() - figuresAt : 0;
  $("age").hidden = ms < AGE_MS;
  if (ms >= AGE_MS) setText($("age"), `figures ${ago(figuresAt, Date.now()).replace(" ago", "")} old`);
  document.body.classList.toggle("stale", ms >= AGE_MS && !["live", "files"].includes(document.body.dataset.state));
}

/** Everything from before has come: from now on what comes is new. */
function setSynced() {
  if (synced) return;
  synced = true;
  reading = false;
  progress = "";
  behind = [];
  if (backFrom) announce(`Connected again after ${ago(backFrom, Date.now()).replace(" ago", "")}${wasReset ? "." : ", and continued without a gap."}`);
  backFrom = 0;
  Object.assign(due, {figures: true, batches: true, suites: true});
  drawState();
}

function announce(text) {
  news = text;
  newsUntil = Date.now() + NEWS_MS;
}

const RESETS = {expired: "Kafka no longer has all events in between", future: "the topic was created again", unknown: "the topic has other partitions now"};

/** The top bar's choice as parameters of a request. */
const filterQuery = () => Object.entries(state.filter).flatMap(([name, values]) => [values].flat().map((value) => `&${name}=${encodeURIComponent(value)}`)).join("");

const hooks = {
  filter: filterQuery,
  event(type, data) {
    if (type === "touchstone.result") {
      takeResult(data);
      if (synced) behind.push({at: Date.now(), ms: Math.max(0, clockNow() - Date.parse(data.scored_at ?? data.at))});
      if (!state.suites.has(data.suite)) due.suites = true;
    } else if (type === "touchstone:prevalence:v1") return void refreshRates(true);
    else due.batches = true;
    due.figures = true;
  },
  note(comment) {
    if (comment === "kafka is away") {
      kafkaAway ||= "yes";
      awaySince ||= Date.now();
    } else if (comment === "kafka is back") kafkaAway = "";
    else if (comment.startsWith("catching up") || comment.startsWith("waiting for")) {
      synced = false;
      progress = comment.startsWith("catching up ") ? comment : "";
      if (comment === "waiting for kafka") due.figures = true;
    } else if (comment === "caught up" || comment === "alive") setSynced();
    if (!kafkaAway) awaySince = 0;
  },
  gap(dropped) {
    takeMark(`gap: ${counted(Number(dropped) || 0, "event")} left out here, because this page was too slow; the figures include them`);
    announce("There is a gap in the live list; the figures are complete.");
  },
  reset(reason) {
    wasReset = true;
    takeMark(`gap: ${RESETS[reason] ?? "the stream could not be continued"}; the latest results follow`);
    announce("There is a gap in the live list; the figures are complete.");
    Object.assign(due, {figures: true, batches: true, suites: true});
  },
  state(name, untilMs) {
    if (name === "live") {
      backFrom ||= lostAt;
      lostAt = 0;
      synced = wasReset = false;
      Object.assign(due, {figures: true, batches: true, suites: true});
    } else if (!lostAt && state.connection === "live") lostAt = Date.now();
    if (state.connection !== "closing" || name !== "reconnecting") state.connection = name;
    retryAt = untilMs;
    drawState();
  },
};
if (!session.link) follow(hooks); // a link opens a queue, and no figures

const isEmpty = (summary) => !summary.suites.some((suite) => suite.total || suite.dead_letters);

/** The summary of the chosen period. If that is empty when the page opens, the shortest period that has a result. */
async function askSummary(minutes) {
  const asked = await askJson(`/v1/summary?minutes=${minutes}${filterQuery()}`);
  if (asked.connection.state !== "live") return asked; // what is still being read may hold results
  if (looked || new URLSearchParams(location.search).has("minutes") || !isEmpty(asked) || !asked.window.events) return asked;
  for (const period of PERIODS_MIN.filter((one) => one > minutes)) {
    const summary = await askJson(`/v1/summary?minutes=${period}${filterQuery()}`);
    if (looked || state.minutes !== minutes) return asked;
    if (!isEmpty(summary)) {
      state.minutes = longer = period;
      topbar.draw();
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
    topbar.draw();
    showFeed();
  }
  due.figures = false;
  try {
    const asked = filterQuery();
    const summary = await askSummary(state.minutes);
    if (asked !== filterQuery()) return void (due.figures = true); // of a filter that is gone
    looked = true;
    state.skewMs = new Date(summary.now) - Date.now();
    state.summary = summary;
    figuresAt = Date.now();
    const {connection} = summary;
    kafkaAway = connection.state === "away" ? connection.reason ?? "yes" : "";
    awaySince = kafkaAway ? (connection.since ? Date.parse(connection.since) - state.skewMs : awaySince || Date.now()) : 0;
    reading = connection.state === "catching_up";
    if (reading && connection.to_read) progress = `catching up ${grouped.format(connection.read)} of ${grouped.format(connection.to_read)}`;
    showSummary(summary);
    if (connection.state === "files") showFiles(connection);
  } catch (error) {
    due.figures = true;
    throw error;
  }
  refreshRates();
  if (due.batches) {
    due.batches = false;
    showBatches((await askJson(`/v1/batches?limit=${BATCHES_SHOWN}${filterQuery()}`))?.batches ?? []);
  }
}

/** There are no live events: the page is for reading and reviewing what is in the files, so it begins there. */
function showFiles({read, to_read: total}) {
  const wasReading = filesLeft;
  [onFiles, filesLeft] = [true, total !== null];
  progress = filesLeft ? `files: ${grouped.format(read)} of ${grouped.format(total)} read` : "";
  for (const link of document.querySelectorAll('#nav a[href="/"], #nav a[href^="/?"]')) link.hidden = true;
  if (router.route?.name === "overview") go("/review", {replace: true});
  else if (wasReading && !filesLeft && ["/cases", "/review"].includes(location.pathname)) showAddress(); // what was read meanwhile belongs in the list
  if (filesLeft) due.figures = true;
  drawState();
}

/** Keep the figures fresh: soon after an event, otherwise every IDLE_MS. A slow service is asked less often, up to PAUSE_MS_MAX. */
async function keepFresh() {
  for (let asked = 0, pauseMs = 0; ; ) {
    const now = Date.now();
    if (!document.hidden && now - asked >= pauseMs && (due.figures || now - asked >= IDLE_MS)) {
      asked = now;
      try {
        await refresh();
      } catch { /* the stream shows whether the service is reachable */ }
      pauseMs = Math.min(PAUSE_MS_MAX, Math.max(REFRESH_MS, 10 * (Date.now() - now)));
      asked = Date.now();
    }
    await new Promise((resolve) => { setTimeout(resolve, DRAW_MS); });
  }
}

/** The overview with the filter of its address. Another filter is another list, which begins anew. */
function showOverview(params, query) {
  if (onFiles) return go("/review", {replace: true});
  const filter = Object.fromEntries(["suite", "concern"].map((name) => [name, query.getAll(name)]).filter(([, values]) => values.length));
  const minutes = Math.min(1440, Number.parseInt(query.get("minutes") ?? "", 10)) || longer || PERIODS_MIN[0];
  const other = JSON.stringify(filter) !== JSON.stringify(state.filter);
  if (other || minutes !== state.minutes) Object.assign(due, {figures: true, batches: true});
  Object.assign(state, {filter, minutes});
  topbar.draw();
  if (other) {
    Object.assign(state, {feed: [], waiting: [], rows: 0});
    showFeed();
    hooks.restart?.();
  }
  if (due.figures) refresh().catch(() => { due.figures = true; });
  return showHash();
}

setInterval(drawFeed, DRAW_MS);
setInterval(drawState, 1000);
document.addEventListener("visibilitychange", () => { due.figures = true; });
routes.push({name: "overview", match: /^\/$/, title: () => "Overview", show: showOverview, hide: () => { if (panel.open) panel.close(); }, keys: OVERVIEW_KEYS});
showAddress();
drawState();
if (!session.link) keepFresh();
