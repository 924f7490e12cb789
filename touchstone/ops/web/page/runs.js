// The view at /runs: what was scored alike, latest first; two of them are compared.
{
  const chosen = {a: null, b: null};

  /** The name of a run for people. */
  const nameOfRun = (run) => run.batch_id || `all of version ${run.suite_version}`;

  /** Cases of a run. */
  const casesOf = (run) => ({suite: run.suite, version: run.suite_version, digest: run.config_digest, concern: run.batch_id ? run.concern_id : null, batch: run.batch_id});

  function pick(side, run, root) {
    chosen[side] = run;
    const ready = chosen.a && chosen.b && chosen.a !== chosen.b && chosen.a.suite === chosen.b.suite;
    const link = root.querySelector("a.compare");
    if (ready) link.href = listing.path({a: chosen.a.run, b: chosen.b.run}, "/compare");
    else link.removeAttribute("href");
    link.setAttribute("aria-disabled", String(!ready));
    setText(root.querySelector(".compare-note"), ready || !(chosen.a && chosen.b) ? "" : "Choose two different runs of one suite.");
  }

  function row(run, root) {
    const total = run.total || 0;
    const name = nameOfRun(run);
    const radio = (side, word) => h("td.c-pick", {}, h("label", {}, h("input", {type: "radio", name: side, "aria-label": `${word}: ${name} of ${run.suite}`, change: () => pick(side, run, root)})));
    return h("tr", {"data-row": run.run, "data-words": [name, run.concern_id, run.batch_id, run.suite, run.suite_version, run.config_digest].filter(Boolean).join(" ").toLowerCase()}, radio("a", "Before"), radio("b", "Now"),
      h("th.c-name", {scope: "row"}, listing.link(".open.name", casesOf(run), {}, name), run.batch_id && run.concern_id ? h("span.rest", {}, ` ${run.concern_id}`) : null),
      h("td.c-suite", {}, listing.link(".plain", {suite: run.suite}, {}, run.suite), h("span.rest", {}, ` ${run.suite_version} · ${run.config_digest.slice(0, 8)}`)),
      h("td.number", {}, listing.link(".plain", casesOf(run), {title: "The cases of this run"}, grouped.format(total))),
      h("td.c-share", {}, h("span", {}, words(run.labels)), shareBar(run.labels)),
      h("td.c-at", {}, h("time", {datetime: run.last_at, title: moment(full, run.last_at)}, ago(run.last_at, clockNow()))));
  }

  /** The fields above the table: labels with their counts, and words of a name. Time, suite and concern are in the bar above. */
  function fields(filter, labels, find) {
    const chooser = (name, word, found) => {
      const values = (found?.values ?? []).map((one) => [one.value, `${one.value} (${grouped.format(one.count)})`]);
      const extra = [filter[name]].flat().filter((value) => value && !values.some(([its]) => its === value)).map((value) => [value, value]);
      return listing.choice(name, word, [["", "any"], ...extra, ...values], [filter[name] ?? ""].flat()[0], (value) => go(listing.path({...listing.without(filter, name), [name]: value, find: find()}, "/runs")));
    };
    return [chooser("label", "With label", labels)];
  }

  /** Show the runs whose name, batch, suite, version or digest has all the words. */
  function narrow(body, total, words) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of body.children) {
      row.hidden = !wanted.every((word) => row.dataset.words.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    setText(total, shown === body.children.length ? counted(shown, "run") : `${grouped.format(shown)} of ${counted(body.children.length, "run")}`);
  }

  async function show(params, query, root, signal) {
    let runs, labels;
    const all = listing.filterOf(query), filter = listing.without(all, "find", "sort");
    const total = h("p.total", {role: "status"});
    const head = [h("div.list-head", {}, h("h1", {}, "Runs"), total), listing.chips(filter, "/runs")].filter(Boolean);
    try {
      [runs, labels] = await Promise.all([
        askJson(listing.path(filter, "/api/runs"), {signal}).then((found) => found?.runs ?? []),
        listing.facets(listing.without(filter, "label"), "label", signal)]);
    } catch (error) {
      if (!signal.aborted) root.replaceChildren(...head, listing.refusal(error, () => showAddress()));
      return;
    }
    if (signal.aborted) return;
    Object.assign(chosen, {a: null, b: null});
    const find = h("input", {type: "search", maxlength: 100, autocomplete: "off", spellcheck: false, value: [all.find ?? ""].flat()[0], placeholder: "Batch, concern, version"});
    const choices = h("div.list-choices", {}, fields(filter, labels, () => find.value.trim() || null), h("label", {}, h("span", {}, "Words"), find));
    if (!runs.length) {
      const any = listing.narrowing(filter).length;
      root.replaceChildren(...head, choices, emptyState(any ? "No run fits these filters." : "No runs yet.", any ? "Choose “any” in one of the fields, here or in the bar above." : "A run is what one version and configuration of a suite has scored, by batch."));
      return;
    }
    head[0].append(h("span.compare-note.rest", {role: "status"}), h("a.button.compare", {"aria-disabled": "true", role: "link"}, "Compare"));
    const heads = [["Before"], ["Now"], ["Run"], ["Suite"], ["Results", ".number"], ["Labels"], ["Latest"]];
    const body = h("tbody", {}, runs.map((run) => row(run, root)));
    root.replaceChildren(...head, choices, h("div.card.scroll", {tabindex: 0, role: "region", "aria-label": "Runs"}, h("table.plain.runs", {"aria-label": "Runs"},
      h("thead", {}, h("tr", {}, heads.map(([text, kind = ""]) => h(`th${kind}`, {scope: "col"}, text)))), body)));
    find.addEventListener("input", () => {
      narrow(body, total, find.value);
      history.replaceState(history.state, "", listing.path({...filter, find: find.value.trim() || null}, "/runs"));
      router.shown = location.pathname + location.search;
    });
    narrow(body, total, find.value);
  }

  const pickHere = (side) => () => document.activeElement?.closest?.("[data-row]")?.querySelector(`input[name=${side}]`)?.click();
  routes.push({
    name: "runs", match: /^\/runs$/, title: () => "Runs", show,
    keys: [
      ["j", "next run", () => listing.walk(router.root, 1)], ["k", "previous run", () => listing.walk(router.root, -1)],
      ["/", "words of a run", () => router.root.querySelector("input[type=search]")?.focus()],
      ["a", "take this run as the one before", pickHere("a")], ["b", "take this run as the one now", pickHere("b")],
      ["c", "compare the two", () => router.root.querySelector("a.compare[href]")?.click()],
    ],
  });
}
