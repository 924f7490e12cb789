// The cases of a filtered list, one after the other: judge one, and the next is there. The address is the list's filter and the case's place in it.
{
  const AHEAD_ROWS = 5; // the list's next page is asked for this many cases before it is needed
  let queue = null, shown = null, index = 0, judged = 0;

  const OWN = ["at", "result"];

  /** The filter of the address, without the review's own parameters. */
  function filterOf(query) {
    const filter = new URLSearchParams(query);
    for (const name of OWN) filter.delete(name);
    filter.sort();
    return filter.toString();
  }

  const address = (to) => `/review?${queue.filter}${queue.filter && "&"}at=${to + 1}`;

  async function walk(by) {
    if (!queue) return;
    const to = index + by;
    if (to >= queue.rows.length) await queue.more();
    if (to >= 0 && to <= queue.rows.length) await go(address(to));
  }

  const totalWords = () => (queue.total === null ? (queue.isWhole ? grouped.format(queue.rows.length) : `${grouped.format(queue.rows.length)} or more`) : grouped.format(queue.total));

  function bar() {
    const button = (by, word, key, disabled) => h("button", {type: "button", disabled, "aria-keyshortcuts": key, click: () => walk(by)}, word);
    const filter = Object.entries(listing.filterOf(new URLSearchParams(queue.filter))).map(([name, value]) => `${name}: ${[value].flat().join(", ")}`).join(" · ");
    return h("nav.review-bar", {"aria-label": "Review"}, button(-1, "◂ Previous (k)", "k", index === 0), h("b", {role: "status"}, `${grouped.format(index + 1)} of ${totalWords()}`), button(1, "Next (j) ▸", "j", false),
      h("span.rest", {}, filter || "all cases"), judged > 0 && h("span.rest", {}, `${grouped.format(judged)} judged`), h("a", {href: `/cases?${queue.filter}`}, "The list"));
  }

  /** What may be reviewed: links for each label, and for each suite's failures. */
  async function choose(root, signal) {
    const [labels, suites] = await Promise.all(["/api/facets?by=label", "/api/facets?by=suite"].map((path) => askJson(path, {signal})));
    if (signal.aborted) return;
    const link = (filter, text, count) => h("li", {}, h("a", {href: casesPath(filter, "/review")}, text), ` ${counted(count, "result")}`);
    root.replaceChildren(h("h1", {}, "Review"), h("section.card", {}, h("p", {}, "Walk through the cases of a list, one after the other. Any list of ", h("a", {href: "/cases"}, "cases"), " can be reviewed; these are a beginning:"),
      h("ul.review-choices", {}, [...labels?.values ?? []].sort((one, other) => gravity(one.value) - gravity(other.value)).map(({value, count}) => link({label: value}, `All with ${value}`, count)),
        (suites?.values ?? []).filter(({labels: of}) => of?.Fail).map(({value, labels: of}) => link({suite: value, label: "Fail"}, `${value}: failed`, of.Fail)))));
  }

  /** There is no case at this place: the list is empty, or one has come to its end. */
  function drawEnd(root) {
    const many = queue.rows.length, last = h("a", {href: address(many - 1)}, "To its last case (k)"), other = h("a", {href: "/review"}, "Choose another list");
    const words = judged ? `${counted(judged, "case")} judged since you began.` : "";
    index = Math.min(index, many);
    root.replaceChildren(h("h1", {}, "Review"), many ? emptyState(`That was the last of ${counted(many, "case")}.`, words, h("p", {}, last), h("p", {}, other)) : emptyState("No case has this filter.", "", h("p", {}, other)));
  }

  async function show(params, query, root, signal) {
    const filter = filterOf(query);
    shown?.judging.leave();
    shown = null;
    if (!filter && !query.has("at")) return choose(root, signal);
    if (queue?.filter !== filter) [queue, judged] = [caseQueue(filter), 0];
    index = Math.max(0, (Number.parseInt(query.get("at") ?? "1", 10) || 1) - 1);
    if (!root.childElementCount) root.replaceChildren(h("h1", {}, "Review"), h("p.rest", {}, "loading …"));
    while (index >= queue.rows.length && !queue.isWhole) {
      await queue.more();
      if (signal.aborted) return undefined;
    }
    const row = queue.rows[index];
    if (!row) return drawEnd(root);
    if (index + AHEAD_ROWS >= queue.rows.length) queue.more().catch(() => {}); // asked for again when it is needed
    const saved = () => {
      judged += 1;
      walk(1);
    };
    const view = await caseView.present(root, caseLoad.take(row.event_id, query.get("result") ?? row.result_id, signal), signal, {bar: bar(), review: {saved}, drawn: (early) => { shown = early; }});
    if (signal.aborted) return undefined;
    if (view === null) root.replaceChildren(bar(), emptyState("This case is no longer there.", "It was removed since the list was read."));
    shown = view;
    const following = queue.rows[index + 1];
    if (following) caseLoad.ahead(following.event_id, following.result_id);
    return undefined;
  }

  routes.push({
    name: "review", match: /^\/review(?:\/(?<queue>.+))?$/, title: () => "Review", show,
    hide: () => {
      shown?.judging.leave();
      queue = shown = null;
    },
    keys: [["j", "next case", () => walk(1)], ["k", "previous case", () => walk(-1)], ...caseView.keysOf(() => shown)],
  });
}
