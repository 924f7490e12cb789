// Asks for a case and its reading, both at once, and loads the next one ahead. And the list that a case was opened from.

const caseLoad = (() => {
  const LOADED_MAX = 3; // a reading can have megabytes
  const loaded = new Map(); // address → what is being loaded

  const pathOf = (id) => `/api/cases/${encodeURIComponent(id)}`;
  /** A path with what a request tells of its queue: `about` is {queue, reviewer, pass}, or null outside of queues. The service keeps a queue blind by it. */
  const withQuery = (path, about, more = {}) => {
    const query = new URLSearchParams({...more, ...(about ? {queue: about.queue, reviewer: about.reviewer} : {})});
    return query.size ? `${path}?${query}` : path;
  };
  /** A field of a result, which lists and events have at different places. */
  const field = (result, name) => result?.[name] ?? result?.result?.[name];
  const at = (result) => field(result, "at") ?? field(result, "scored_at") ?? "";

  /** The latest result of each suite, the latest first. */
  function latestOf(results) {
    const sorted = [...results].sort((one, other) => (at(one) < at(other) ? 1 : -1)), seen = new Set();
    return sorted.filter((result) => !seen.has(field(result, "suite")) && seen.add(field(result, "suite")));
  }

  /** Which of them is shown first, as the service chooses it. */
  const gravest = (results) => results.reduce((best, one) => (best && gravity(field(best, "label")) <= gravity(field(one, "label")) ? best : one), null);

  const refused = (answer) => answer.data?.error ?? `The service answers with status ${answer.status}.`;

  /** A case, and then the same with the reading of one of its results: {first, whole}, promises of {id, about, found, etag, result, reading, text, why}; null if it is unknown. */
  function load(id, resultId = null, signal = undefined, about = null) {
    const asked = askWhole(withQuery(pathOf(id), about), {signal});
    const read = askWhole(withQuery(`${pathOf(id)}/reading`, about, resultId ? {result: resultId} : {}), {signal});
    const first = asked.then((answer) => {
      if (answer.status === 404) return null;
      if (!answer.ok) throw new Error(refused(answer));
      const found = answer.data, results = found.results ?? [];
      const result = results.find((one) => field(one, "result_id") === (resultId ?? id)) ?? gravest(latestOf(results)) ?? null;
      return {id, about, found, etag: answer.etag ?? found.etag, result, reading: null, text: "", why: ""};
    });
    const whole = Promise.all([first, read]).then(([one, answer]) => {
      if (one === null || (one.result === null && !one.found.blind)) return one;
      if (!answer.ok) return {...one, why: refused(answer)};
      const {reading, text, result_id: its} = answer.data;
      return {...one, reading, text, result: one.found.results.find((result) => field(result, "result_id") === its) ?? one.result};
    });
    for (const promise of [first, whole, read]) promise.catch(() => {}); // whoever waits for them hears of it
    return {first, whole};
  }

  const keyOf = (id, resultId, about) => `${id}\n${resultId ?? ""}\n${about?.queue ?? ""}\n${about?.reviewer ?? ""}`;

  /** Load before it is asked for; `take` of the same case then has it. */
  function ahead(id, resultId, about = null) {
    const key = keyOf(id, resultId, about);
    if (loaded.has(key)) return;
    const loading = load(id, resultId, undefined, about);
    loading.whole.catch(() => loaded.delete(key));
    loaded.set(key, loading);
    if (loaded.size > LOADED_MAX) loaded.delete(loaded.keys().next().value);
  }

  /** A case that was loaded ahead, or a new one. It is taken once, because annotations may change. */
  function take(id, resultId, signal, about = null) {
    const key = keyOf(id, resultId, about), loading = loaded.get(key);
    loaded.delete(key);
    return loading ?? load(id, resultId, signal, about);
  }

  /** What was loaded ahead of a case is no longer so. */
  function forget(id) {
    for (const key of loaded.keys()) if (key.startsWith(`${id}\n`)) loaded.delete(key);
  }

  return {pathOf, withQuery, field, at, latestOf, ahead, take, forget};
})();

/** The cases of a filter, page by page: {filter, rows, next, total, more(), find(resultId)}. `filter`: a query, which may name the cursor of its first page. */
function caseQueue(filter) {
  const PAGE = 50;
  const FOUND_ROWS_MAX = 500; // so far a case is looked for
  const query = new URLSearchParams(filter), cursor = query.get("cursor");
  query.delete("cursor");
  const queue = {filter, rows: [], next: cursor, total: null, isPart: cursor !== null, isWhole: false, more, find};
  let loading = null;

  /** Ask for the next page; several callers share one request. */
  async function more() {
    if (queue.isWhole) return;
    loading ??= (async () => {
      const asked = new URLSearchParams(query);
      asked.set("limit", PAGE);
      if (queue.next) asked.set("cursor", queue.next);
      const page = await askJson(`/api/cases?${asked}`) ?? {cases: []};
      queue.rows.push(...page.cases);
      Object.assign(queue, {next: page.next ?? null, total: page.total ?? null, isWhole: !page.next});
    })();
    try { await loading; } finally { loading = null; }
  }

  /** The place of a result in the list; -1 if it is not among the first rows. */
  async function find(eventId, resultId) {
    for (;;) {
      const at = queue.rows.findIndex((row) => (resultId ? row.result_id === resultId : row.event_id === eventId));
      if (at >= 0 || queue.isWhole || queue.rows.length >= FOUND_ROWS_MAX) return at;
      await more();
    }
  }
  return queue;
}

/** The address of a case, with the list that it is opened from. */
function caseInList(one, filter) {
  const list = listing.path(filter, "").slice(1), path = casePath(one.event_id, one.result_id);
  return `${path}&list=${encodeURIComponent(list)}`;
}
