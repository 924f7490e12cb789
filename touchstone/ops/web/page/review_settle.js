// The view at /review/NAME/disagreements: what reviewers said differently of a case, side by side, a form that settles it, and how well each pair agrees.

const reviewSettle = (() => {
  const signed = (value) => (typeof value === "number" ? value.toFixed(2) : "–");

  /** Cohen's κ of each pair with its interval, and how many cases both have judged. */
  function agreement(pairs) {
    if (!pairs.length) return h("p.rest", {}, "No two reviewers have judged the same case yet.");
    return h("div.scrolls", {tabindex: 0, role: "region", "aria-label": "Agreement: table"}, h("table.agreement", {}, h("thead", {}, h("tr", {}, ["Reviewers", "Both judged", "The same", "Cohen's κ", "95 % interval"].map((word) => h("th", {scope: "col"}, word)))),
      h("tbody", {}, pairs.map((one) => h("tr", {}, h("th", {scope: "row"}, one.reviewers.join(" and ")), h("td", {}, grouped.format(one.cases)), h("td", {}, percent(one.same)),
        h("td", {}, h("b", {}, signed(one.kappa)), one.kappa === null && h("span.rest", {}, " all verdicts are alike, so κ says nothing")), h("td", {}, one.low === null || one.low === undefined ? "–" : `${signed(one.low)} to ${signed(one.high)}`))))));
  }

  /** The verdict that counts, with a note. Nobody's own annotation changes. */
  function settleForm(item, info, reviewer, settled) {
    if (!reviewer) return h("p.rest", {}, "To settle it, begin with the queue: it asks for your name.");
    const said = h("p.saved", {role: "status"}), note = h("textarea", {name: "notes", rows: 2, maxlength: 10_000}), mode = h("input", {name: "failureMode", maxlength: 200, autocomplete: "off", spellcheck: "false"});
    const choice = (value, word) => h("label.choice", {}, h("input", {type: "radio", name: "verdict", value}), h("span", {}, word));
    const form = h("form.verdict", {submit: async (event) => {
      event.preventDefault();
      const data = new FormData(form), path = caseLoad.pathOf(item.event_id);
      if (!data.get("verdict")) return setText(said, "Choose the verdict that counts.");
      try {
        const now = await askWhole(caseLoad.withQuery(path, {queue: info.name, reviewer}));
        if (!now.ok) throw new Error(now.data?.error ?? `the service answers with status ${now.status}`);
        const body = {reviewer, reviewPass: info.review_pass ?? 1, verdict: data.get("verdict"), notes: note.value || null, failureMode: mode.value.trim() || null, queue: info.name, settled: true, timestamp: new Date().toISOString()};
        const answer = await askWhole(path, {method: "PATCH", body: {annotations: [body]}, headers: {"If-Match": now.etag ?? now.data.etag}});
        if (!answer.ok) throw new Error(answer.data?.error ?? `the service answers with status ${answer.status}`);
      } catch (error) {
        return setText(said, `Not settled: ${error.message}`);
      }
      return settled(data.get("verdict"));
    }}, h("fieldset.pass-fail", {}, h("legend", {}, "The verdict that counts"), choice("pass", "✓ Pass"), choice("fail", "✕ Fail")), h("label.field", {}, "Why", note), h("label.field", {}, "Failure mode", mode),
    h("button", {type: "submit"}, `Settle as ${reviewer}`), said);
    return form;
  }

  function disagreement(item, info, reviewer, at) {
    const made = h("article.card.disagreement", {"data-row": item.event_id, "aria-label": item.name || item.event_id}), address = `${casePath(item.event_id)}`;
    made.append(h("div.section-head", {}, h("h2", {}, at >= 0 ? h("a.open", {href: `/review/${encodeURIComponent(info.name)}?at=${at + 1}`}, item.name || item.event_id) : h("a.open", {href: address}, item.name || item.event_id))),
      h("ul.sides", {}, item.annotations.map(annotationsPanel.judgement)), item.settled_by ? h("p", {}, `Settled by ${item.settled_by}.`) : settleForm(item, info, reviewer, (verdict) => {
        made.replaceChildren(h("div.section-head", {}, h("h2", {}, item.name || item.event_id)), h("p", {role: "status"}, "Settled: ", chip(verdict), ` by ${reviewer}.`));
      }));
    return made;
  }

  async function show(root, name, signal) {
    if (!root.childElementCount) root.replaceChildren(h("h1", {}, "Disagreements"), h("p.rest", {}, "loading …"));
    const {found: info, reviewer} = await reviewQueue.named(name, signal);
    if (signal.aborted) return;
    if (info === null) return void root.replaceChildren(h("h1", {}, "Disagreements"), emptyState("There is no such queue.", "", h("p", {}, h("a", {href: "/review"}, "All queues"))));
    const path = reviewQueue.address(name), back = h("a", {href: `/review/${encodeURIComponent(name)}`}, "To the queue");
    const refused = (error) => ({why: error.message});
    const [found, agreed] = await Promise.all([askJson(reviewQueue.withReviewer(`${path}/disagreements`, reviewer), {signal}).catch(refused), askJson(`${path}/agreement`, {signal}).catch(refused)]);
    if (signal.aborted) return;
    const queue = reviewQueue.open(info, reviewer), items = [...found?.items ?? []].sort((one, other) => Number(Boolean(one.settled_by)) - Number(Boolean(other.settled_by)));
    const places = await Promise.all(items.map((item) => queue.find(item.event_id).catch(() => -1)));
    if (signal.aborted) return;
    root.replaceChildren(h("div.list-head", {}, h("h1", {}, `${info.title || info.name}: disagreements`), h("p.total", {role: "status"}, `${grouped.format(items.filter((item) => !item.settled_by).length)} open, ${grouped.format(items.filter((item) => item.settled_by).length)} settled`), back),
      h("section.card.section", {"aria-label": "Agreement"}, h("h2", {}, "How well reviewers agree"), agreed?.why ? h("p.rest", {}, agreed.why) : agreement(agreed?.pairs ?? [])), ...[reviewQueue.guideline(info)].filter(Boolean),
      ...(found?.why ? [emptyState("The disagreements are not shown.", found.why)] : items.length ? items.map((item, at) => disagreement(item, info, reviewer, places[at])) : [emptyState("No disagreement.", "A case is here when its reviewers differ; in a blind queue you see those in which you have given your own verdict.")]));
  }

  return {show};
})();
