// The view at /errors: which findings there are in the history, how many results have each, and how that went by day. What people found: error_kinds.js.
{
  const SHOWN = 25, TREND_DAYS = 30;
  let rows = null;

  /** One code: its count and share, the labels of its results, and its days once they are known. */
  function row(one, filter, total) {
    const share = total ? one.count / total : null;
    const target = {...filter, code: one.value};
    const days = h("td.c-days", {});
    const made = h("tr", {"data-row": one.value},
      h("th.c-name", {scope: "row"}, listing.link(".open.name", target, {}, h("code", {}, one.value))),
      h("td.number", {}, listing.link(".plain", target, {}, grouped.format(one.count))),
      h("td.c-share", {}, h("span", {}, percent(share)), listing.bar(share ?? 0)),
      h("td.c-labels", {}, labelsInOrder(one.labels ?? {}).filter(([, count]) => count).map(([label, count]) =>
        listing.link(".plain", {...target, label}, {title: `${grouped.format(count)} ${label}`}, h(`span.key.tone-${tone(label)}`, {}, h("i", {"aria-hidden": "true"}, sign(label)), h("span.sr", {}, label), h("b", {}, grouped.format(count)))))),
      days);
    return {made, days, target};
  }

  async function show(params, query, root, signal) {
    if (query.get("by") === "people") return errorKinds.show(query, root, signal);
    const filter = listing.filterOf(query);
    const head = [h("div.list-head", {}, h("h1", {}, "Errors"), h("p.total", {role: "status"}), h("a.button", {href: listing.path(filter)}, "Cases")), errorKinds.tabs(false), listing.chips(filter, "/errors")];
    let found, everything;
    try {
      [found, everything] = await Promise.all([listing.facets(filter, "code", signal), listing.facets(filter, "label", signal)]);
    } catch (error) {
      if (!signal.aborted) root.replaceChildren(...head.filter(Boolean), listing.refusal(error, () => showAddress()));
      return;
    }
    if (signal.aborted) return;
    const labels = [filter.label ?? []].flat(); // labels are counted without their own filter
    const total = (everything?.values ?? []).filter((one) => !labels.length || labels.includes(one.value)).reduce((sum, one) => sum + one.count, 0);
    const values = found?.values ?? [];
    setText(head[0].children[1], `${counted(values.length, "code")} in ${counted(total, "result")}`);
    if (!values.length) {
      rows = null;
      root.replaceChildren(...head.filter(Boolean), emptyState(total ? "No findings in these results." : "No results in the history yet.", ""));
      return;
    }
    rows = values.map((one) => row(one, filter, total));
    const body = h("tbody", {}, rows.slice(0, SHOWN).map((one) => one.made));
    const rest = rows.slice(SHOWN);
    const more = rest.length > 0 && h("button.more", {type: "button", click: (event) => {
      body.append(...rest.map((one) => one.made));
      listing.stacked(body.parentElement);
      event.currentTarget.remove();
    }}, `${rest.length} more codes`);
    root.replaceChildren(...head.filter(Boolean), h("div.card.scroll", {tabindex: 0, role: "region", "aria-label": "Findings"}, listing.stacked(h("table.plain.errors", {"aria-label": "Findings by code"},
      h("thead", {}, h("tr", {}, ["Finding", "Results", "Share of results", "Labels", "By day"].map((text) => h(text === "Results" ? "th.number" : "th", {scope: "col"}, text)))), body)), more || null));
    const trend = (one) => async () => {
      const days = listing.daysOf((await listing.facets(one.target, "day", signal))?.values ?? [], TREND_DAYS);
      if (!signal.aborted) one.days.replaceChildren(days.length > 1 ? listing.dayChart(days, "Results") : h("span.rest", {}, days[0]?.value ?? "–"));
    };
    listing.few(rows.slice(0, SHOWN).map(trend), 1).catch(() => { /* the table stands without them */ });
  }

  routes.push({
    name: "errors", match: /^\/errors$/, title: () => "Errors", show,
    keys: [["j", "next code", () => listing.walk(router.root, 1)], ["k", "previous code", () => listing.walk(router.root, -1)]],
  });
}
