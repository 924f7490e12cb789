// A queue of the service: its cases in their order, whose turn it is, and the texts that belong to it.

const reviewQueue = (() => {
  const PAGE = 200;
  const address = (name) => `/api/queues/${encodeURIComponent(name)}`;
  const withReviewer = (path, reviewer, more = {}) => {
    const query = new URLSearchParams({...more, ...(reviewer ? {reviewer} : {})});
    return query.size ? `${path}?${query}` : path;
  };

  let settings = null; // the tags for the keys 1 to 9, and the severities

  /**
   * What the service says of a queue, or of all: {found, reviewer}. `reviewer`: the name of the token or link, under which one then writes, or else the one
   * given before; empty without any.
   */
  async function ask(path, signal) {
    const found = await askJson(path, {signal}), named = (found?.can ?? found)?.reviewer ?? "", before = annotationsPanel.remembered().trim();
    if (named || !before || found === null) return {found, reviewer: named};
    return {found: await askJson(withReviewer(path, before), {signal}).catch(() => found), reviewer: before};
  }

  /** A queue by its name; `found` is null if there is none. */
  async function named(name, signal) {
    settings ??= await askJson("/api/settings/review", {signal}).catch(() => null);
    const answer = await ask(address(name), signal);
    return {...answer, found: answer.found && {...settings, ...answer.found}};
  }

  /** A queue as one reviewer walks through it; the same parts as `caseQueue`. `about`: what requests for its cases tell. */
  function open(info, reviewer) {
    const {name} = info, base = address(name);
    const queue = {info, rows: [], next: null, total: info.total, isWhole: false, about: {queue: name, reviewer}, done: info.mine?.done ?? null, more, find, advance, act};
    let loading = null;

    async function more() {
      if (queue.isWhole) return;
      loading ??= (async () => {
        const page = await askJson(withReviewer(`${base}/cases`, reviewer, {limit: PAGE, ...(queue.next ? {cursor: queue.next} : {})})) ?? {items: []};
        queue.rows.push(...page.items);
        Object.assign(queue, {next: page.next ?? null, isWhole: !page.next});
      })();
      try { await loading; } finally { loading = null; }
    }

    /** The place of a case; -1 if the queue has no such case. */
    async function find(eventId) {
      for (;;) {
        const at = queue.rows.findIndex((row) => row.event_id === eventId);
        if (at >= 0 || queue.isWhole) return at;
        await more();
      }
    }

    /** The next case that needs this reviewer, which is then reserved: its place, or -1 if there is none. Those after it are loaded ahead. */
    async function advance(after = null) {
      const turn = await askJson(`${base}/next`, {method: "POST", body: {reviewer, ...(after ? {after} : {}), skip_reserved: true}});
      queue.done = turn?.done ?? queue.done;
      if (!turn?.item) return -1;
      for (const one of [turn.item, ...turn.ahead ?? []]) caseLoad.ahead(one.event_id, one.result_id ?? null, queue.about);
      return find(turn.item.event_id);
    }

    /** Reserve, release, skip a case. */
    function act(eventId, action) {
      return askWhole(`${base}/cases/${encodeURIComponent(eventId)}`, {method: "POST", body: {reviewer, action}});
    }
    return queue;
  }

  let isRead = false; // whether the guideline was folded by the reader

  /** The guideline of a queue, its version named. */
  function guideline(info) {
    if (!info.guideline) return null;
    const node = h("details.card.section.guideline", {open: !isRead, toggle: () => { isRead = !node.open; }}, h("summary", {}, h("span.h", {}, "What counts as pass"), h("code.rest", {}, info.guideline)), h("div.prose", {}, info.guideline_text || "This version has no text."));
    return node;
  }

  return {ask, named, open, guideline, address, withReviewer};
})();
