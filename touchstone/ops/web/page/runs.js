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
    return h("tr", {"data-row": run.run}, radio("a", "Before"), radio("b", "Now"),
      h("th.c-name", {scope: "row"}, listing.link(".open.name", casesOf(run), {}, name), run.batch_id && run.concern_id ? h("span.rest", {}, ` ${run.concern_id}`) : null),
      h("td.c-suite", {}, listing.link(".plain", {suite: run.suite}, {}, run.suite), h("span.rest", {}, ` ${run.suite_version} · ${run.config_digest.slice(0, 8)}`)),
      h("td.number", {}, grouped.format(total)),
      h("td.c-share", {}, h("span", {}, words(run.labels)), shareBar(run.labels)),
      h("td.c-at", {}, h("time", {datetime: run.last_at, title: moment(full, run.last_at)}, ago(run.last_at, clockNow()))));
  }

  async function show(params, query, root, signal) {
    let runs;
    const head = [h("div.list-head", {}, h("h1", {}, "Runs"), h("p.total"))];
    try {
      runs = (await askJson(listing.path(listing.filterOf(query), "/api/runs"), {signal}))?.runs ?? [];
    } catch (error) {
      if (!signal.aborted) root.replaceChildren(...head, listing.refusal(error, () => showAddress()));
      return;
    }
    Object.assign(chosen, {a: null, b: null});
    if (!runs.length) {
      root.replaceChildren(...head, emptyState("No runs yet.", "A run is what one version and configuration of a suite has scored, by batch."));
      return;
    }
    setText(head[0].lastChild, counted(runs.length, "run"));
    head[0].append(h("span.compare-note.rest", {role: "status"}), h("a.button.compare", {"aria-disabled": "true", role: "link"}, "Compare"));
    const heads = [["Before"], ["Now"], ["Run"], ["Suite"], ["Results"], ["Labels"], ["Latest"]];
    root.replaceChildren(...head, h("div.card.scroll", {tabindex: 0, role: "region", "aria-label": "Runs"}, h("table.plain.runs", {"aria-label": "Runs"},
      h("thead", {}, h("tr", {}, heads.map(([text]) => h("th", {scope: "col"}, text)))), h("tbody", {}, runs.map((run) => row(run, root))))));
  }

  const pickHere = (side) => () => document.activeElement?.closest?.("[data-row]")?.querySelector(`input[name=${side}]`)?.click();
  routes.push({
    name: "runs", match: /^\/runs$/, title: () => "Runs", show,
    keys: [
      ["j", "next run", () => listing.walk(router.root, 1)], ["k", "previous run", () => listing.walk(router.root, -1)],
      ["a", "take this run as the one before", pickHere("a")], ["b", "take this run as the one now", pickHere("b")],
      ["c", "compare the two", () => router.root.querySelector("a.compare[href]")?.click()],
    ],
  });
}
