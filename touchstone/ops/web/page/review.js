// The cases of a filtered list, one after the other: judge one, and the next is there. The address is the list's filter and the case's place in it.
{
  const PAGE = 50;
  const AHEAD_ROWS = 5; // the list's next page is asked for this many cases before it is needed
  let queue = null; // {filter, rows, next, total, loading}
  let shown = null, index = 0;

  const OWN = ["at", "result"];

  /** The filter of the address, without the review's own parameters. */
  function filterOf(query) {
    const filter = new URLSearchParams(query);
    for (const name of OWN) filter.delete(name);
    filter.sort();
    return filter.toString();
  }

  async function more() {
    const mine = queue;
    if (mine.next === null && mine.rows.length) return;
    mine.loading ??= (async () => {
      const page = await askJson(`/api/cases?${mine.filter}${mine.filter && "&"}limit=${PAGE}${mine.next ? `&cursor=${encodeURIComponent(mine.next)}` : ""}`);
      mine.rows.push(...page.cases);
      Object.assign(mine, {next: page.next ?? null, total: page.total ?? null});
    })();
    try { await mine.loading; } finally { mine.loading = null; }
  }

  const address = (to, result = null) => `/review?${queue.filter}${queue.filter && "&"}at=${to + 1}${result ? `&result=${encodeURIComponent(result)}` : ""}`;

  async function walk(by) {
    if (!queue) return;
    const to = index + by;
    if (to >= queue.rows.length) await more();
    if (to >= 0 && to < queue.rows.length) go(address(to));
  }

  function bar() {
    const total = queue.total === null ? (queue.next ? `${grouped.format(queue.rows.length)} or more` : grouped.format(queue.rows.length)) : grouped.format(queue.total);
    const button = (by, word) => h("button", {type: "button", disabled: by < 0 && index === 0 || by > 0 && index + 1 >= queue.rows.length && !queue.next, click: () => walk(by)}, word);
    return h("nav.review-bar", {"aria-label": "Review"}, button(-1, "◂ Previous (k)"), h("b", {role: "status"}, `${grouped.format(index + 1)} of ${total}`), button(1, "Next (j) ▸"), h("a", {href: casesPath(Object.fromEntries(new URLSearchParams(queue.filter)))}, "The list"));
  }

  /** What may be reviewed: links for each label, and for each suite's failures. */
  async function choose(root, signal) {
    const [labels, suites] = await Promise.all(["/api/facets?by=label", "/api/facets?by=suite"].map((path) => askJson(path, {signal})));
    if (signal.aborted) return;
    const link = (filter, text, count) => h("li", {}, h("a", {href: casesPath(filter, "/review")}, text), ` ${counted(count, "result")}`);
    root.replaceChildren(h("h1", {}, "Review"), h("section.card", {}, h("p", {}, "Walk through the cases of a list, one after the other. Any list of ", h("a", {href: "/cases"}, "cases"), " can be reviewed; these are a beginning:"),
      h("ul.review-choices", {}, (labels?.values ?? []).map(({value, count}) => link({label: value}, `All with ${value}`, count)),
        (suites?.values ?? []).filter(({labels: of}) => of?.Fail).map(({value, labels: of}) => link({suite: value, label: "Fail"}, `${value}: failed`, of.Fail)))));
  }

  async function show(params, query, root, signal) {
    const filter = filterOf(query);
    if (!filter && !query.has("at")) return choose(root, signal);
    if (queue?.filter !== filter) queue = {filter, rows: [], next: null, total: null, loading: null};
    index = Math.max(0, (Number.parseInt(query.get("at") ?? "1", 10) || 1) - 1);
    if (!root.childElementCount) root.replaceChildren(h("h1", {}, "Review"), h("p.rest", {}, "loading …"));
    while (index >= queue.rows.length && (queue.next !== null || !queue.rows.length)) {
      const before = queue.rows.length;
      await more();
      if (signal.aborted) return;
      if (queue.rows.length === before) break;
    }
    const row = queue.rows[index];
    if (!row) {
      root.replaceChildren(h("h1", {}, "Review"), emptyState(queue.rows.length ? "The list ends before this place." : "No case has this filter.", "", h("a", {href: queue.rows.length ? address(queue.rows.length - 1) : "/review"}, queue.rows.length ? "To its last case" : "Choose another list")));
      return;
    }
    const one = await caseView.take(row.event_id, query.get("result") ?? row.result_id, signal);
    if (signal.aborted) return;
    shown = caseView.draw(root, one ?? {id: row.event_id, found: {results: []}, result: null, reading: null, text: "", why: ""}, {review: {bar: bar(), saved: () => walk(1)}});
    if (index + AHEAD_ROWS >= queue.rows.length) more().catch(() => {}); // asked for again when it is needed
    const following = queue.rows[index + 1];
    if (following) caseView.ahead(following.event_id, following.result_id);
  }

  routes.push({
    name: "review", match: /^\/review(?:\/(?<queue>.+))?$/, title: () => "Review", show,
    hide: () => { queue = shown = null; },
    keys: [
      ["j", "next case", () => walk(1)],
      ["k", "previous case", () => walk(-1)],
      ["P", "verdict: pass; saved at once if the reviewer is known", () => shown?.judging.choose("pass")],
      ["F", "verdict: fail; saved at once if the reviewer is known", () => shown?.judging.choose("fail")],
      ["n", "next finding, and its place", () => shown?.step(1)],
      ["N", "previous finding", () => shown?.step(-1)],
      ["a", "annotate: to the note", () => shown?.judging.focus()],
    ],
  });
}
