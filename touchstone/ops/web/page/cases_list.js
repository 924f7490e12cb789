// The view at /cases: a table over the whole history. Its query is the address, and so is the page of the table.
{
  const PAGE = 50;
  const DAYS_MS = 50;
  const CODES_IN_ROW = 3, VALUES_IN_ROW = 3, FACET_SHOWN = 8;
  const FACETS = [["label", "Label"], ["suite", "Suite"], ["code", "Finding"], ["model", "Model"], ["concern", "Concern"], ["batch", "Batch"], ["severity", "Severity"], ["kind", "Kind of event"], ["version", "Version"], ["source", "Source"]];
  const NEWEST = "-time";
  // As the service sorts: "overall" and "label" begin with the worst, a leading "-" with the largest.
  const ORDERS = [[NEWEST, "newest first"], ["time", "oldest first"], ["overall", "worst value first"], ["-overall", "best value first"], ["label", "worst label first"],
    ["-label", "best label first"], ["-findings", "most findings first"], ["findings", "fewest findings first"]];
  const CHOICES = {feedback: ["up", "down", "none"], kept: ["yes", "no"]};
  const parts = {}; // of the view that is drawn
  const before = new Map(); // cursor → the cursor of the page before it, as far as it was walked
  let filter = {}, nextCursor = null, cursor = null;

  /** The values of a result, those that its suite shows first in front: [heading, value, places]. */
  function valuesOf(one) {
    const told = (state.suites.get(one.suite)?.components ?? []).filter((its) => its.listed);
    const rest = Object.keys(one.values ?? {}).filter((name) => !told.some((its) => its.name === name));
    return [...told, ...rest.map((name) => ({name, heading: name}))].map((its) => [its.heading, one.values?.[its.name], its.places ?? 2]).filter(([, value]) => value !== null && value !== undefined);
  }

  /** A row: what it is, what was found, where it comes from. */
  function row(one) {
    const codes = one.codes.slice(0, CODES_IN_ROW), more = one.codes.length - codes.length;
    const values = valuesOf(one).slice(0, VALUES_IN_ROW);
    const all = [["model", one.model], ["concern", one.concern_id], ["batch", one.batch_id]].filter(([, value]) => value);
    const from = all.filter(([, value], place) => all.findIndex(([, other]) => other === value) === place); // a suite may group by model
    return h("tr", {"data-row": one.result_id},
      h("td.c-label", {}, listing.link(".plain", {...filter, label: one.label}, {title: `Only ${one.label}`}, chip(one.label))),
      h("th.c-name", {scope: "row"}, h("a.open.name", {href: caseInList(one, {...filter, cursor})}, one.name || one.event_id), signs(one)),
      h("td.c-suite", {}, listing.link(".plain", {...filter, suite: one.suite}, {}, one.suite), h("span.rest", {}, ` ${one.suite_version}`)),
      h("td.c-codes", {}, codes.map((code) => listing.link(".code", {...filter, code}, {}, h("code", {}, code))), more > 0 && h("span.rest", {}, `+${more}`),
        !codes.length && h("span.rest", {}, "–")),
      h("td.c-values", {}, values.map(([word, value, places]) => h("span.figure", {}, word, h("b", {}, figure(value, places))))),
      h("td.c-from", {}, from.map(([name, value]) => listing.link(".plain", {...filter, [name]: value}, {title: name}, value))),
      h("td.c-at", {}, h("time", {datetime: one.at, title: moment(full, one.at)}, ago(one.at, clockNow()))));
  }

  /** Signs after a name, each with its word. */
  function signs(one) {
    const all = [[one.kept, "▣", "the case is kept"], [one.feedback === "up", "▲", "feedback: up"], [one.feedback === "down", "▼", "feedback: down"], [one.annotated, "✎", "annotated"]];
    const had = all.filter(([has]) => has);
    return had.length ? h("span.signs", {}, had.map(([, mark, word]) => h("span", {title: word}, h("span", {"aria-hidden": "true"}, mark), h("span.sr", {}, ` ${word} `)))) : null;
  }

  // A column and the two orders by it, the one that a first click chooses first.
  const HEADS = [["Label", "label", "-label"], ["Case"], ["Suite"], ["Findings", "-findings", "findings"], ["Values", "overall", "-overall"], ["Model, concern, batch"], ["Scored", NEWEST, "time"]];
  const order = () => filter.sort ?? NEWEST;
  const sorted = (by) => listing.path({...listing.without(filter, "sort"), sort: by === NEWEST ? null : by});

  /** The head of a column; those by which the list can be sorted are links. */
  function head([word, first, second]) {
    if (!first) return h("th", {scope: "col"}, word);
    const by = order(), isOn = by === first || by === second, falls = by.startsWith("-");
    const target = by === first ? second : first;
    return h("th", {scope: "col", "aria-sort": isOn ? (falls ? "descending" : "ascending") : "none"},
      h("a.sort", {href: sorted(target), title: `Sort: ${ORDERS.find(([name]) => name === target)[1]}`}, word, h("span", {"aria-hidden": "true"}, isOn ? (falls ? "▼" : "▲") : "")));
  }

  /** The table of some cases. What a search has found is newest first, whatever the order of the list. */
  function table(cases, isFound = false) {
    const heads = isFound ? HEADS.map(([word]) => h("th", {scope: "col"}, word)) : HEADS.map(head);
    return h("table.cases", {"aria-label": "Cases"}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, cases.map(row)));
  }

  /** The parts that stay while the query changes. */
  function build(root) {
    const search = parts.search ?? textSearch({filter: () => filter, draw: drawFound}); // with what it found before
    Object.assign(parts, {
      root, search, total: h("p.total", {role: "status"}), chips: h("div"), choices: h("div.list-choices"), days: h("div"), list: h("div.list"),
      facets: h("div.facets-in"), views: savedViews(() => filter),
    });
    const wide = matchMedia("(min-width: 66.01rem)").matches;
    root.replaceChildren(
      h("div.list-head", {}, h("h1", {}, "Cases"), parts.total, parts.views),
      search.form, parts.chips, parts.choices, search.progress,
      h("div.with-facets", {}, h("details.facets", {open: wide}, h("summary", {}, "Narrow down"), parts.facets), h("div.main-list", {}, parts.days, parts.list)));
  }

  const choose = (name, value) => go(listing.path({...listing.without(filter, name), ...(value ? {[name]: value} : {})}));

  function drawChoices() {
    const sort = listing.choice("sort", "Order", ORDERS, order(), (by) => go(sorted(by)));
    const walkThem = h("a.button", {href: listing.path(filter, "/review")}, "Review these");
    parts.choices.replaceChildren(sort, ...Object.entries(CHOICES).map(([name, values]) =>
      listing.choice(name, name === "kept" ? "Case kept" : "Feedback", [["", "any"], ...values.map((value) => [value, value])], filter[name] ?? "", (chosen) => choose(name, chosen))),
    walkThem, h("a.button", {href: listing.path(listing.without(filter, "sort"), "/errors")}, "Errors in these"));
  }

  /** An empty list: how many results there would be without each of its filters, the most first. */
  async function drawLifts(signal) {
    const place = h("ul.lifts", {"aria-label": "Filters to remove"});
    const hint = h("p", {role: "status"}, "Looking for the filter that leaves nothing …");
    parts.list.replaceChildren(emptyState("No result fits these filters.", "", hint, place));
    const found = [];
    await listing.few(listing.narrowing(filter).map((entry) => async () => {
      const page = await askJson(listing.path({...listing.without(filter, entry[0], "sort"), limit: 1}, "/api/cases"), {signal});
      const count = page?.total ?? page?.total_at_least ?? page?.cases.length ?? 0;
      if (count) found.push([count, entry, page.total === null || page.total === undefined]);
    }));
    if (signal.aborted) return;
    found.sort(([one], [other]) => other - one);
    place.replaceChildren(...found.map(([count, entry, isMore]) => h("li", {}, h("a.lift", {href: listing.path(listing.without(filter, entry[0]))},
      `without “${listing.words(entry)}”: ${isMore ? "more than " : ""}${counted(count, "result")}`))));
    setText(hint, found.length ? "There are results" : "Removing one filter is not enough; remove several, or all (x).");
  }

  const totalWords = (page) => (page.total === null || page.total === undefined ? `more than ${counted(page.total_at_least ?? page.cases.length, "result")}` : counted(page.total, "result"));

  /** A page of the table, and the way to the others. */
  function drawPage(page, signal) {
    nextCursor = page.next;
    setText(parts.total, totalWords(page));
    if (!page.cases.length) {
      if (listing.narrowing(filter).length) return void drawLifts(signal).catch((error) => { if (!signal.aborted) parts.list.replaceChildren(listing.refusal(error, () => showAddress())); });
      return void parts.list.replaceChildren(emptyState("No results in the history yet.", "Results appear here once a worker has scored events and touchstone projector has written them."));
    }
    const newer = cursor && (before.get(cursor) ?? "");
    const [first, previous, next] = order() === NEWEST ? ["Newest", "◂ Newer", "Older ▸"] : ["First", "◂ Previous", "Next ▸"];
    parts.list.replaceChildren(table(page.cases), h("nav.pages", {"aria-label": "Pages"},
      cursor && h("a.button", {href: listing.path(filter)}, first),
      newer && h("a.button", {href: listing.path({...filter, cursor: newer})}, previous),
      page.next && h("a.button.older", {href: listing.path({...filter, cursor: page.next})}, next)));
    if (page.next) {
      if (before.size > 500) before.clear();
      before.set(page.next, cursor ?? "");
    }
  }

  /** What a search in the texts has found so far. */
  function drawFound(cases) {
    if (cases === null) return showAddress();
    parts.days.replaceChildren();
    nextCursor = null;
    const body = parts.list.querySelector("table.found tbody");
    if (body && cases.length) return body.append(...cases.slice(body.children.length).map(row));
    const drawn = table(cases, true);
    drawn.classList.add("found");
    return parts.list.replaceChildren(drawn);
  }

  /** One facet: values with their counts, the filter's own value marked. Counts ignore the filter of the same name, so that one can change it. */
  function drawFacet(by, heading, found) {
    const values = found?.values ?? [];
    const chosen = filter[by];
    if (!values.length || (values.length === 1 && chosen === undefined && by !== "label" && by !== "suite")) return null;
    const peak = Math.max(1, ...values.map((one) => one.count));
    const items = values.map((one, place) => {
      const on = [chosen].flat().includes(one.value);
      const target = on ? listing.without(filter, by) : {...filter, [by]: one.value};
      return h("li", {hidden: place >= FACET_SHOWN && !on}, listing.link(".facet", target, {"aria-current": on ? "true" : null, title: on ? "Remove this filter" : null},
        h("span.facet-name", {}, by === "label" ? chip(one.value) : one.value, on && " ✕"), h("span.facet-count", {}, grouped.format(one.count)), listing.bar(one.count / peak)));
    });
    const list = h("ol", {}, items);
    const more = items.filter((item) => item.hidden).length;
    const open = more > 0 && h("button.more", {type: "button", click: (event) => { items.forEach((item) => { item.hidden = false; }); event.currentTarget.remove(); }}, `${more} more`);
    return h("section", {"data-by": by}, h("h2", {}, heading), list, open);
  }

  /** The results by day, above the table. */
  async function drawDays(signal) {
    const asked = filter;
    const found = await listing.facets(listing.without(asked, "sort"), "day", signal);
    const days = listing.daysOf(found?.values ?? []);
    if (!signal.aborted && parts.list.querySelector("table.found") === null) parts.days.replaceChildren(...(days.length > 1 ? [listing.dayChart(days, "Results", asked)] : []));
  }

  async function drawFacets(signal) {
    const slots = FACETS.map(([by]) => [...parts.facets.children].find((one) => one.dataset.slot === by) ?? h("div", {"data-slot": by}));
    parts.facets.replaceChildren(...slots);
    const asked = filter;
    const tasks = FACETS.map(([by, heading], place) => async () => {
      const found = await listing.facets(listing.without(asked, by, "sort"), by, signal);
      if (!signal.aborted) slots[place].replaceChildren(...[drawFacet(by, heading, found)].filter(Boolean));
    });
    await listing.few(tasks);
  }

  async function show(params, query, root, signal) {
    if (parts.root !== root || !root.contains(parts.list)) build(root);
    filter = listing.filterOf(query);
    cursor = query.get("cursor");
    parts.chips.replaceChildren(...[listing.chips(filter, "/cases")].filter(Boolean));
    drawChoices();
    parts.views.refresh(signal);
    const facetsDrawn = () => drawFacets(signal).catch(() => { /* the table stands without them */ });
    if (parts.search.resume(filter)) return void facetsDrawn();
    root.setAttribute("aria-busy", "true");
    try {
      const [page] = await Promise.all([askJson(listing.path({...filter, cursor, limit: PAGE}, "/api/cases"), {signal}), listing.suitesKnown(signal)]);
      drawPage(page ?? {cases: [], next: null, total: 0}, signal);
    } catch (error) {
      if (signal.aborted) return;
      setText(parts.total, "");
      parts.list.replaceChildren(listing.refusal(error, () => showAddress()));
      return;
    } finally {
      if (!signal.aborted) root.removeAttribute("aria-busy");
    }
    facetsDrawn();
    // Back in the list, its place is found again after this: the days are known then, and would push the table down later.
    await Promise.race([drawDays(signal).catch(() => { /* as above */ }), new Promise((done) => { setTimeout(done, DAYS_MS); })]);
  }

  /** The next row; after the last one the next page. */
  function step(by) {
    if (listing.walk(parts.root, by)) return;
    if (by > 0 && nextCursor) go(listing.path({...filter, cursor: nextCursor}));
  }

  routes.push({
    name: "cases", match: /^\/cases$/, title: () => "Cases", show,
    hide: () => parts.search?.pause(),
    keys: [
      ["j", "next case", () => step(1)], ["k", "previous case", () => step(-1)], ["/", "search", () => parts.search.focus()],
      ["n", "next page", () => { if (nextCursor) go(listing.path({...filter, cursor: nextCursor})); }],
      ["p", "previous page", () => { if (cursor) go(listing.path({...filter, cursor: before.get(cursor) ?? ""})); }],
      ["x", "remove all filters", () => go("/cases")],
    ],
  });
}
