// What the lists have in common: the filter in the address, bars, facets, links to cases.

const listing = (() => {
  // Parameters of the address and their words. Others are sent too: the service says which it does not know.
  const WORDS = {
    suite: "suite", label: "label", code: "code", concern: "concern", batch: "batch", model: "model", source: "source", kind: "kind", feedback: "feedback",
    kept: "kept", since: "since", until: "before", q: "id or code", version: "version", digest: "configuration", severity: "severity", value: "value",
  };
  const PAGING = ["cursor", "limit"];
  const FACETS_MAX = 40, FACETS_AGE_MS = 30_000;
  const facetsAsked = new Map();

  /** The filter of an address: its parameters without those of paging. */
  function filterOf(query) {
    const names = [...new Set(query.keys())].filter((name) => !PAGING.includes(name));
    const values = names.map((name) => query.getAll(name).filter(Boolean));
    return Object.fromEntries(names.map((name, place) => [name, values[place].length > 1 ? values[place] : values[place][0]]).filter(([, value]) => value));
  }

  /** An address with a filter; a parameter may have several values. */
  function path(filter = {}, base = "/cases") {
    const entries = Object.entries(filter).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
    const query = new URLSearchParams(entries.filter(([, value]) => value !== null && value !== undefined && value !== ""));
    return query.size ? `${base}?${query}` : base;
  }

  const without = (filter, ...names) => Object.fromEntries(Object.entries(filter).filter(([name]) => !names.includes(name)));

  /** The link that a chip, a facet or a code is. */
  const link = (name, filter, attributes, ...children) => h(`a${name}`, {href: path(filter), ...attributes}, ...children);

  /** A point in time as the filter's chip shows it. */
  const shown = (name, value) => (name === "since" || name === "until" ? moment(full, value) : [value].flat().join(", "));

  /** What narrows a list down: the filter without the order, which only arranges it. */
  const narrowing = (filter) => Object.entries(filter).filter(([name]) => name !== "sort");
  const words = ([name, value]) => `${own(WORDS, name) ?? name}: ${shown(name, value)}`;

  /** The filter as chips; each is a link to the same list without it. */
  function chips(filter, base) {
    const entries = narrowing(filter);
    if (!entries.length) return null;
    return h("ul.chips", {"aria-label": "Filters"},
      entries.map((entry) => h("li", {}, h("a.filter", {href: path(without(filter, entry[0]), base), title: `Remove the filter ${words(entry)}`},
        words(entry), h("span", {"aria-hidden": "true"}, " ✕"), h("span.sr", {}, " (remove)")))),
      entries.length > 1 ? h("li", {}, h("a.filter.clear", {href: base}, "Remove all")) : null);
  }

  /** A field with few values. */
  function choice(name, word, options, value, change) {
    return h("label", {}, h("span", {}, word), h("select", {"data-choice": name, change: (event) => change(event.currentTarget.value)},
      options.map(([its, text]) => h("option", {value: its, selected: its === value}, text))));
  }

  /** Counts of the results that a filter selects, by a property; kept for half a minute, because pages of a list ask for the same. */
  function facets(filter, by, signal) {
    const address = path({...filter, by}, "/api/facets");
    const known = facetsAsked.get(address);
    if (known && Date.now() - known.at < FACETS_AGE_MS) return known.answer;
    facetsAsked.delete(address);
    if (facetsAsked.size >= FACETS_MAX) facetsAsked.delete(facetsAsked.keys().next().value);
    const answer = askJson(address, {signal});
    facetsAsked.set(address, {at: Date.now(), answer});
    answer.catch(() => facetsAsked.delete(address));
    return answer;
  }

  /** A share as a bar. */
  function bar(share, name = "bar-of") {
    return s("svg", {class: name, "aria-hidden": "true"}, s("rect", {x: 0, y: 0, height: "100%", width: `${Math.max(share > 0 ? 1 : 0, Math.min(100, share * 100))}%`}));
  }

  /** The days of a facet in order, those without results too, at most `most` of them. */
  function daysOf(values, most = 60) {
    const known = new Map(values.map((one) => [one.value, one]));
    const names = [...known.keys()].filter((name) => /^\d{4}-\d\d-\d\d$/.test(name)).sort();
    if (!names.length) return [];
    const days = [];
    for (let at = Date.parse(names.at(-1)); at >= Date.parse(names[0]) && days.length < most; at -= 86_400_000) {
      const value = new Date(at).toISOString().slice(0, 10);
      days.push(known.get(value) ?? {value, count: 0, labels: {}});
    }
    return days.reverse();
  }

  /** The filter of one day. */
  const dayFilter = (day) => ({since: `${day}T00:00:00Z`, until: new Date(Date.parse(day) + 86_400_000).toISOString().replace(".000", "")});

  /** Counts by day as columns; each day is a link if `filter` is given. */
  function dayChart(days, name, filter = null) {
    const peak = Math.max(1, ...days.map((day) => day.count));
    const words = days.length ? `${name}: ${days.map((day) => `${day.value} ${grouped.format(day.count)}`).slice(-14).join(", ")}` : `${name}: none`;
    const columns = days.map((day) => {
      const height = day.count ? Math.max(3, (day.count / peak) * 100) : 0;
      const drawing = s("svg", {"aria-hidden": "true"}, s("rect", {x: "8%", width: "84%", y: `${100 - height}%`, height: `${height}%`}));
      const text = `${day.value}: ${counted(day.count, "result")}`;
      return filter ? link("", {...filter, ...dayFilter(day.value)}, {title: text, "aria-label": text}, drawing) : h("span", {title: text}, drawing);
    });
    return h("div.days", filter ? {role: "group", "aria-label": `${name} by day`} : {role: "img", "aria-label": words}, columns);
  }

  /** A table whose rows are blocks on a narrow screen: each cell gets the word of its column. */
  function stacked(table) {
    table.classList.add("stack");
    const words = [...table.querySelectorAll("thead th")].map((one) => one.textContent);
    for (const row of table.querySelectorAll("tbody tr")) for (const [place, cell] of [...row.children].entries()) cell.dataset.word = words[place] ?? "";
    return table;
  }

  /** Run tasks, a few at a time, so that a list does not take all of the service's threads. */
  async function few(tasks, atOnce = 2) {
    const waiting = [...tasks];
    await Promise.all(Array.from({length: atOnce}, async () => {
      while (waiting.length) await waiting.shift()();
    }));
  }

  /** Move the focus among the links of rows; true if it could. */
  function walk(root, by) {
    const links = [...root.querySelectorAll("[data-row] a.open")];
    if (!links.length) return false;
    const at = links.findIndex((one) => one.closest("[data-row]").contains(document.activeElement));
    const next = at < 0 ? 0 : at + by;
    if (next < 0 || next >= links.length) return false;
    links[next].focus();
    links[next].closest("[data-row]").scrollIntoView({block: "nearest"});
    return true;
  }

  /** What to do where the service has no history: it says so with 503. */
  function refusal(error, again) {
    const titles = {403: "This token may not see that.", 503: "The history is not available."};
    return emptyState(own(titles, error.status) ?? "The list could not be loaded.", error.message, h("button", {type: "button", click: again}, "Try again"));
  }

  /** Headings and places of values come from the suites; on a page that has just been opened they may not be there yet. */
  async function suitesKnown(signal) {
    if (state.suites.size) return;
    const found = await askJson("/v1/suites", {signal}).catch(() => null);
    if (!state.suites.size) state.suites = new Map((found?.suites ?? []).map((one) => [one.name, one]));
  }

  return {suitesKnown, filterOf, path, without, link, narrowing, words, chips, choice, facets, bar, daysOf, dayChart, few, walk, refusal, stacked};
})();
