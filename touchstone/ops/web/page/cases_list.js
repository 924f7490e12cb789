// The view at /cases: a table over the whole history. Its query is the address, and so is the page of the table.
{
  const PAGE = 50;
  const CODES_IN_ROW = 3, VALUES_IN_ROW = 3, FACET_SHOWN = 8;
  const FACETS = [["label", "Label"], ["suite", "Suite"], ["code", "Finding"], ["model", "Model"], ["concern", "Concern"], ["batch", "Batch"], ["source", "Source"]];
  const SPANS = [["", "any time"], ["3600", "last hour"], ["86400", "last 24 hours"], ["604800", "last 7 days"], ["2592000", "last 30 days"]];
  const CHOICES = {feedback: ["up", "down", "none"], kept: ["yes", "no"]};
  const parts = {}; // of the view that is drawn
  const before = new Map(); // cursor → the cursor of the page before it, as far as it was walked
  let filter = {}, nextCursor = null, cursor = null;

  /** A row: what it is, what was found, where it comes from. */
  function row(one) {
    const codes = one.codes.slice(0, CODES_IN_ROW), more = one.codes.length - codes.length;
    const values = Object.entries(one.values ?? {}).filter(([, value]) => value !== null).slice(0, VALUES_IN_ROW);
    const from = [["model", one.model], ["concern", one.concern_id], ["batch", one.batch_id]].filter(([, value]) => value);
    return h("tr", {"data-row": one.result_id},
      h("td.c-label", {}, listing.link(".plain", {...filter, label: one.label}, {title: `Only ${one.label}`}, chip(one.label))),
      h("th.c-name", {scope: "row"}, h("a.open.name", {href: caseInList(one, {...filter, cursor})}, one.name || one.event_id), signs(one)),
      h("td.c-suite", {}, listing.link(".plain", {...filter, suite: one.suite}, {}, one.suite), h("span.rest", {}, ` ${one.suite_version}`)),
      h("td.c-codes", {}, codes.map((code) => listing.link(".code", {...filter, code}, {}, h("code", {}, code))), more > 0 && h("span.rest", {}, `+${more}`),
        !codes.length && h("span.rest", {}, "–")),
      h("td.c-values", {}, values.map(([name, value]) => h("span.figure", {}, name, h("b", {}, figure(value))))),
      h("td.c-from", {}, from.map(([name, value]) => listing.link(".plain", {...filter, [name]: value}, {title: name}, value))),
      h("td.c-at", {}, h("time", {datetime: one.at, title: moment(full, one.at)}, ago(one.at, clockNow()))));
  }

  /** Signs after a name, each with its word. */
  function signs(one) {
    const all = [[one.kept, "▣", "the case is kept"], [one.feedback === "up", "▲", "feedback: up"], [one.feedback === "down", "▼", "feedback: down"], [one.annotated, "✎", "annotated"]];
    const had = all.filter(([has]) => has);
    return had.length ? h("span.signs", {}, had.map(([, mark, word]) => h("span", {title: word}, h("span", {"aria-hidden": "true"}, mark), h("span.sr", {}, ` ${word} `)))) : null;
  }

  const HEADS = ["Label", "Case", "Suite", "Findings", "Values", "Model, concern, batch", "Scored"];

  /** The table of some cases. */
  function table(cases) {
    return h("table.cases", {"aria-label": "Cases"}, h("thead", {}, h("tr", {}, HEADS.map((head) => h("th", {scope: "col"}, head)))), h("tbody", {}, cases.map(row)));
  }

  /** The parts that stay while the query changes. */
  function build(root) {
    const search = parts.search ?? textSearch({filter: () => filter, draw: drawFound}); // with what it found before
    Object.assign(parts, {
      root, search, total: h("p.total", {role: "status"}), chips: h("div"), choices: h("div.choices"), days: h("div"), list: h("div.list"),
      facets: h("div.facets-in"), views: savedViews(() => filter),
    });
    const wide = matchMedia("(min-width: 66.01rem)").matches;
    root.replaceChildren(
      h("div.list-head", {}, h("h1", {}, "Cases"), parts.total, parts.views),
      search.form, parts.chips, parts.choices, search.progress,
      h("div.with-facets", {}, h("details.facets", {open: wide}, h("summary", {}, "Narrow down"), parts.facets), h("div.main-list", {}, parts.days, parts.list)));
  }

  const choose = (name, value) => go(listing.path({...listing.without(filter, name), ...(value ? {[name]: value} : {})}));

  /** A field with few values. */
  function choice(name, word, options, value, change = (chosen) => choose(name, chosen)) {
    return h("label", {}, h("span", {}, word), h("select", {"data-choice": name, change: (event) => change(event.currentTarget.value)},
      options.map(([its, text]) => h("option", {value: its, selected: its === value}, text))));
  }

  function drawChoices() {
    const since = filter.since ? [["kept", `since ${moment(hour, filter.since)}`]] : [];
    const span = choice("since", "Time", [...since, ...SPANS], filter.since ? "kept" : "", (seconds) => {
      const from = seconds ? new Date(clockNow() - Number(seconds) * 1000).toISOString().replace(/\.\d+/, "") : "";
      go(listing.path({...listing.without(filter, "since", "until"), since: from}));
    });
    const walkThem = h("a.button", {href: listing.path(filter, "/review")}, "Review these");
    parts.choices.replaceChildren(span, ...Object.entries(CHOICES).map(([name, values]) =>
      choice(name, name === "kept" ? "Case kept" : "Feedback", [["", "any"], ...values.map((value) => [value, value])], filter[name] ?? "")),
    walkThem, h("a.button", {href: listing.path(filter, "/errors")}, "Errors in these"));
  }

  const totalWords = (page) => (page.total === null || page.total === undefined ? `more than ${counted(page.total_at_least ?? page.cases.length, "result")}` : counted(page.total, "result"));

  /** A page of the table, and the way to the others. */
  function drawPage(page) {
    nextCursor = page.next;
    setText(parts.total, totalWords(page));
    if (!page.cases.length) {
      const any = Object.keys(filter).length;
      parts.list.replaceChildren(emptyState(any ? "No result fits these filters." : "No results in the history yet.", any ? "Remove a filter, or choose a longer time." : "Results appear here once a worker has scored events and touchstone projector has written them."));
      return;
    }
    const newer = cursor && (before.get(cursor) ?? "");
    parts.list.replaceChildren(table(page.cases), h("nav.pages", {"aria-label": "Pages"},
      cursor && h("a.button", {href: listing.path(filter)}, "Newest"),
      newer && h("a.button", {href: listing.path({...filter, cursor: newer})}, "◂ Newer"),
      page.next && h("a.button.older", {href: listing.path({...filter, cursor: page.next})}, "Older ▸")));
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
    const drawn = table(cases);
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

  async function drawFacets(signal) {
    const slots = FACETS.map(([by]) => [...parts.facets.children].find((one) => one.dataset.slot === by) ?? h("div", {"data-slot": by}));
    parts.facets.replaceChildren(...slots);
    const asked = filter;
    const day = async () => {
      const found = await listing.facets(listing.without(asked, "sort"), "day", signal);
      const days = listing.daysOf(found?.values ?? []);
      if (!signal.aborted && parts.list.querySelector("table.found") === null) parts.days.replaceChildren(...(days.length > 1 ? [listing.dayChart(days, "Results", asked)] : []));
    };
    const tasks = FACETS.map(([by, heading], place) => async () => {
      const found = await listing.facets(listing.without(asked, by, "sort"), by, signal);
      if (!signal.aborted) slots[place].replaceChildren(...[drawFacet(by, heading, found)].filter(Boolean));
    });
    await listing.few([...tasks, day]);
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
      const page = await askJson(listing.path({...filter, cursor, limit: PAGE}, "/api/cases"), {signal});
      drawPage(page ?? {cases: [], next: null, total: 0});
    } catch (error) {
      if (signal.aborted) return;
      setText(parts.total, "");
      parts.list.replaceChildren(listing.refusal(error, () => showAddress()));
      return;
    } finally {
      if (!signal.aborted) root.removeAttribute("aria-busy");
    }
    facetsDrawn();
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
      ["n", "older cases", () => { if (nextCursor) go(listing.path({...filter, cursor: nextCursor})); }],
      ["p", "newer cases", () => { if (cursor) go(listing.path({...filter, cursor: before.get(cursor) ?? ""})); }],
      ["x", "remove all filters", () => go("/cases")],
    ],
  });
}
