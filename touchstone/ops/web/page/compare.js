// The view at /compare: two runs side by side. Which labels changed, how far values moved, which findings came and went, and a changed case read twice.
{
  const PAGE = 50, FIRST = 10; // of changed cases: a few, so that values and findings are near; more once somebody has chosen a change
  const ORDER = ["Pass", "Review", "Warn", "Fail", "unscored"];

  /** A part that scrolls sideways on a narrow screen can be scrolled from the keyboard. */
  const region = (name) => ({tabindex: 0, role: "region", "aria-label": name});

  const caption = (run) => `${run.batch_id ? [run.concern_id, run.batch_id].filter(Boolean).join("/") : "all"}, version ${run.suite_version}, ${run.config_digest.slice(0, 8)}`;

  /** The labels before as rows, now as columns; a count that changed is a link to its cases. */
  function matrix(found, query) {
    if (!found.pairs) return null;
    const labels = [...new Set([...ORDER.filter((label) => found.flips.some((flip) => flip.from === label || flip.to === label)), ...found.flips.flatMap((flip) => [flip.from, flip.to])])];
    const count = (from, to) => found.flips.find((flip) => flip.from === from && flip.to === to)?.count ?? 0;
    const cell = (from, to) => {
      const number = count(from, to);
      const its = {a: query.get("a"), b: query.get("b"), from, to};
      return h(from === to ? "td.number.same" : "td.number", {}, number && from !== to ? h("a", {href: listing.path(its, "/compare"), title: `${from} before, ${to} now`}, grouped.format(number)) : grouped.format(number));
    };
    return h("section.card.scroll", region("Labels"), h("h2", {}, "Labels"), h("table.plain.matrix", {"aria-label": "Labels before and now"},
      h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "before ↓ now →"), labels.map((label) => h("th", {scope: "col"}, chip(label))))),
      h("tbody", {}, labels.map((from) => h("tr", {}, h("th", {scope: "row"}, chip(from)), labels.map((to) => cell(from, to)))))));
  }

  /** The cases of a run. */
  const casesIn = (run, more = {}) => ({suite: run.suite, version: run.suite_version, digest: run.config_digest, concern: run.batch_id ? run.concern_id : null, batch: run.batch_id, ...more});

  /** Better and worse in words, each a link to its changes: what one asks first. */
  function verdict(found, query) {
    const rank = (label) => ORDER.indexOf(label);
    const sum = (fits) => found.flips.filter((flip) => flip.from !== flip.to && fits(flip)).reduce((all, flip) => all + flip.count, 0);
    const scored = (flip) => flip.from !== "unscored" && flip.to !== "unscored";
    const worse = sum((flip) => scored(flip) && rank(flip.to) > rank(flip.from)), better = sum((flip) => scored(flip) && rank(flip.to) < rank(flip.from));
    const lost = sum((flip) => flip.to === "unscored"), gained = sum((flip) => flip.from === "unscored");
    const largest = [...found.flips].filter((flip) => flip.from !== flip.to).sort((one, other) => other.count - one.count).slice(0, 4);
    const parts = [`${counted(worse, "case")} worse`, `${grouped.format(better)} better`, lost && `${grouped.format(lost)} without a score now`, gained && `${grouped.format(gained)} with a score now`];
    if (!found.pairs) return h("section.card.flips", {}, h("h2", {}, "No case was scored in both runs"), h("p", {}, "Labels and values of cases cannot be compared. What follows counts all results of each run."));
    return h("section.card.flips", {}, h("h2", {}, largest.length ? `${parts.filter(Boolean).join(", ")}` : "No label changed"),
      largest.length > 0 && h("ul.chips", {"aria-label": "Largest changes"}, largest.map((flip) => h("li", {}, h("a.filter", {href: listing.path({a: query.get("a"), b: query.get("b"), from: flip.from, to: flip.to}, "/compare")},
        `${sign(flip.from)} ${flip.from} → ${sign(flip.to)} ${flip.to}: ${grouped.format(flip.count)}`)))));
  }

  /** Labels of both runs by model and by concern, where a run has several: drawn when they are known, after all else. */
  async function drawSlices(found, place, signal) {
    const slices = [["model", "Model"], ["concern", "Concern"]];
    const share = (one) => (one && one.count ? (one.labels?.Pass ?? 0) / one.count : null);
    const counts = (run, by) => listing.facets(casesIn(run), by, signal).then((answer) => new Map((answer?.values ?? []).map((one) => [one.value, one])));
    for (const [by, word] of slices) {
      const [before, now] = await Promise.all([counts(found.a, by), counts(found.b, by)]);
      if (signal.aborted) return;
      const names = [...new Set([...before.keys(), ...now.keys()])];
      if (names.length < 2) continue;
      const cell = (run, one, name) => h("td.number", {}, one ? listing.link("", casesIn(run, {[by]: name}), {title: "The cases"}, `${percent(share(one))} of ${grouped.format(one.count)}`) : "–");
      place.append(h("section.card.scroll", region(`By ${by}`), h("h2", {}, `Passed, by ${word.toLowerCase()}`), h("p.rest", {}, "Of all results of each run, those that only one of them has included."),
        listing.stacked(h("table.plain.numbers", {"aria-label": `Passed, by ${by}`}, h("thead", {}, h("tr", {}, [word, "Before", "Now"].map((text) => h("th", {scope: "col"}, text)))),
          h("tbody", {}, names.map((name) => h("tr", {}, h("th.c-name", {scope: "row"}, name), cell(found.a, before.get(name), name), cell(found.b, now.get(name), name))))))));
    }
  }

  const signed = (value) => (value > 0 ? `+${figure(value, 3)}` : figure(value, 3).replace("-", "−"));

  function shifts(found) {
    if (!found.shifts.length) return null;
    return h("section.card.scroll", region("Values"), h("h2", {}, "Values"), listing.stacked(h("table.plain.numbers", {"aria-label": "Values before and now"},
      h("thead", {}, h("tr", {}, ["Value", "Before", "Now", "Difference", "95 % interval", "Cases that differ"].map((text) => h("th", {scope: "col"}, text)))),
      h("tbody", {}, found.shifts.map((one) => h("tr", {}, h("th", {scope: "row"}, one.name), ...[[found.a, one.before], [found.b, one.now]].map(([run, value]) =>
          h("td.number", {}, listing.link("", casesIn(run, {value: one.name}), {title: `The cases of this run that have ${one.name}`}, figure(value, 3)))),
        h("td.number", {}, signed(one.difference)), h("td.number", {}, one.low === null ? "–" : `${signed(one.low)} to ${signed(one.high)}`),
        h("td.number", {}, `${grouped.format(one.changed)} of ${grouped.format(one.pairs)}`)))))));
  }

  function codes(found) {
    const changed = found.codes.filter((one) => one.before !== one.now);
    if (!changed.length) return null;
    return h("section.card.scroll", region("Findings"), h("h2", {}, "Findings"), h("p.rest", {}, `Of all results of each run: ${grouped.format(found.a.total)} before, ${grouped.format(found.b.total)} now.`), listing.stacked(h("table.plain.numbers", {"aria-label": "Findings before and now"},
      h("thead", {}, h("tr", {}, ["Finding", "Before", "Now", "Change"].map((text) => h("th", {scope: "col"}, text)))),
      h("tbody", {}, changed.map((one) => h("tr", {}, h("th", {scope: "row"}, h("code", {}, one.code)),
        h("td.number", {}, listing.link("", casesIn(found.a, {code: one.code}), {}, grouped.format(one.before))), h("td.number", {}, listing.link("", casesIn(found.b, {code: one.code}), {}, grouped.format(one.now))),
        h("td.number", {}, one.now > one.before ? `▲ +${grouped.format(one.now - one.before)}` : `▼ −${grouped.format(one.before - one.now)}`)))))));
  }

  /** Both readings of one changed case. */
  async function sideBySide(one, place, signal) {
    const half = async (word, eventId, resultId, label, prefix) => {
      const node = h("section.card", {}, h("h3", {}, `${word} `, chip(label), " ", h("a", {href: casePath(eventId, resultId)}, "open")));
      try {
        const found = await askJson(`/api/cases/${encodeURIComponent(eventId)}/reading?result=${encodeURIComponent(resultId)}`, {signal});
        if (!found) node.append(h("p.rest", {}, "This result is no longer there."));
        else node.append(drawReading(found.reading, {prefix}).node);
      } catch (error) {
        if (!signal.aborted) node.append(h("p.fault", {}, error.message));
      }
      return node;
    };
    place.replaceChildren(h("h2", {}, `${one.name}: before and now`), h("p.rest", {role: "status"}, "Loading both readings …"));
    const halves = await Promise.all([half("Before", one.event_before, one.result_before, one.label_before, "before"), half("Now", one.event_id, one.result_id, one.label, "now")]);
    if (signal.aborted) return;
    place.replaceChildren(h("h2", {}, `${one.name}: before and now`), h("div.two", {}, halves));
    place.focus();
    place.scrollIntoView({block: "start"});
  }

  /** The cases whose label changed, in pages. */
  function changed(found, query, signal) {
    const its = {a: query.get("a"), b: query.get("b"), from: query.get("from"), to: query.get("to")};
    const place = h("div.pair", {tabindex: -1});
    const row = (one) => h("tr", {"data-row": one.result_id}, h("th.c-name", {scope: "row"}, h("a.open.name", {href: casePath(one.event_id, one.result_id)}, one.name)),
      h("td", {}, chip(one.label_before), " → ", chip(one.label)),
      h("td", {}, h("button.both", {type: "button", "aria-label": `Read both of ${one.name}`, click: () => sideBySide(one, place, signal).catch(() => {})}, "Side by side")));
    const only = its.from ? h("p", {}, `${its.from} before, ${its.to} now. `, h("a", {href: listing.path({a: its.a, b: its.b}, "/compare")}, "All changed cases")) : null;
    const table = found.cases.length
      ? listing.stacked(h("table.plain", {"aria-label": "Cases whose label changed"}, h("thead", {}, h("tr", {}, ["Case", "Label", "Readings"].map((text) => h("th", {scope: "col"}, text)))), h("tbody", {}, found.cases.map(row))))
      : h("p", {}, found.pairs ? "No case changed its label." : "There is nothing to compare case by case.");
    return [h("section.card.scroll", region("Changed cases"), h("h2", {}, "Changed cases"), only, table,
      h("nav.pages", {"aria-label": "Pages"}, query.get("cursor") && h("a.button", {href: listing.path(its, "/compare")}, "First"), found.next && h("a.button.older", {href: listing.path({...its, cursor: found.next}, "/compare")}, "More ▸"))), place];
  }

  async function show(params, query, root, signal) {
    const head = h("div.list-head", {}, h("h1", {}, "Compare"), h("p.total"), h("a.button", {href: "/runs"}, "Choose other runs"));
    if (!query.get("a") || !query.get("b")) return root.replaceChildren(head, emptyState("Choose two runs.", "", h("p", {}, h("a", {href: "/runs"}, "To the runs"))));
    let found;
    try {
      const wish = Object.fromEntries(["a", "b", "from", "to", "cursor"].map((name) => [name, query.get(name)]));
      found = await askJson(listing.path({...wish, limit: wish.from || wish.cursor ? PAGE : FIRST}, "/api/compare"), {signal});
    } catch (error) {
      if (!signal.aborted) root.replaceChildren(head, listing.refusal(error, () => showAddress()));
      return undefined;
    }
    if (signal.aborted) return undefined;
    if (!found) return root.replaceChildren(head, emptyState("One of these runs is not in the history.", ""));
    setText(head.children[1], `${found.a.suite}: ${caption(found.a)} → ${caption(found.b)}; ${counted(found.pairs, "case")} scored in both${found.paired_by === "case_id" ? ", paired by case id" : ""}`);
    const slices = h("div.slices");
    root.replaceChildren(...[head, verdict(found, query), ...changed(found, query, signal), matrix(found, query), shifts(found), codes(found), slices].filter(Boolean));
    return drawSlices(found, slices, signal).catch(() => { /* the rest stands without them */ });
  }

  const beside = () => document.activeElement?.closest?.("[data-row]")?.querySelector("button.both")?.click();
  routes.push({
    name: "compare", match: /^\/compare$/, title: () => "Compare", show,
    keys: [["j", "next changed case", () => listing.walk(router.root, 1)], ["k", "previous changed case", () => listing.walk(router.root, -1)], ["s", "read both side by side", beside]],
  });
}
