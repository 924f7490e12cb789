// The view at /review: the queues, how far they are, what else may be reviewed, and for an admin a form for a new queue, links for reviewers, guidelines.

const reviewHome = (() => {
  const STATES = [["open", "open"], ["needs_another", "need another"], ["disagreed", "disagreed"], ["settled", "settled"]];
  const HOURS = 24 * 7;
  const labelled = (word, control, hint = "") => h("label.field", {}, word, control, hint && h("span.rest", {}, hint));
  const input = (name, attributes = {}) => h("input", {name, autocomplete: "off", spellcheck: "false", ...attributes});
  const number = (name, attributes) => input(name, {type: "number", ...attributes});

  /** A form that says what became of it. `send(data)` may throw; what it returns is said. */
  function asking(name, fields, word, send) {
    const said = h("div.said", {role: "status"});
    const form = h(`form.${name}`, {submit: async (event) => {
      event.preventDefault();
      said.replaceChildren();
      try { said.replaceChildren(...[await send(new FormData(form))].flat().filter(Boolean)); } catch (error) { said.replaceChildren(h("p.fault", {}, error.message)); }
    }}, fields, h("button", {type: "submit"}, word), said);
    return form;
  }

  /** A link that lets one reviewer into one queue. */
  function linkForm(info) {
    return h("details", {}, h("summary", {}, "Link for a reviewer"), asking("inline", [labelled("Reviewer", input("reviewer", {required: true, maxlength: 100})), labelled("Valid for hours", number("hours", {min: 1, max: 2160, value: HOURS, required: true}))], "Make a link", async (data) => {
      const made = await askJson(`${reviewQueue.address(info.name)}/links`, {method: "POST", body: {reviewer: data.get("reviewer").trim(), expires_in_s: Number(data.get("hours")) * 3600}});
      return [copyable(new URL(made.address, location.href).href, "Copy the link"), h("p.rest", {}, `It opens this queue for ${data.get("reviewer").trim()} and nothing else, until ${moment(full, made.expires_at)}. Whoever has it can read the queue's cases: send it to this person alone.`)];
    }));
  }

  /** The newest version of a guideline, to read and, for an admin, to change. */
  function guidelineEditor(reference) {
    const [name, version] = reference.split("@"), path = `/api/guidelines/${encodeURIComponent(name)}`;
    const body = h("div", {}), node = h("details", {toggle: async () => {
      if (!node.open || body.childElementCount) return;
      const found = await askJson(path).catch(() => null), text = h("textarea", {name: "text", rows: 10, maxlength: 60_000, "aria-label": `Text of ${name}`});
      text.value = found?.text ?? "";
      body.replaceChildren(h("p.rest", {}, found ? `Newest version: ${name}@${found.version}. ${version && Number(version) !== found.version ? `This queue keeps version ${version}. ` : ""}A change makes a new version; annotations keep the version that they were written under.` : "There is no text yet."),
        asking("inline", [text], "Save as a new version", async (data) => {
          const now = await askJson(path, {method: "PUT", body: {text: data.get("text")}});
          return h("p", {}, `Saved: ${name}@${now.version}.`);
        }));
    }}, h("summary", {}, `Guideline ${reference}`), body);
    return node;
  }

  function card(info, isAdmin) {
    const place = `/review/${encodeURIComponent(info.name)}`, {counts = {}, mine} = info;
    return h("li.card.queue", {"data-queue": info.name}, h("div.queue-head", {}, h("h2", {}, h("a", {href: place}, info.title || info.name)), h("span.rest", {}, counted(info.total, "case"), info.blind ? ", blind" : "", info.reviewers > 1 ? `, ${info.reviewers} reviewers each` : "", info.review_pass > 1 ? `, pass ${info.review_pass}` : "")),
      h("dl.counts", {}, STATES.map(([name, word]) => h("div", {}, h("dt", {}, word), h("dd", {}, grouped.format(counts[name] ?? 0)))), mine && h("div", {}, h("dt", {}, "yours"), h("dd", {}, `${grouped.format(mine.done)} done, ${grouped.format(mine.left)} left${mine.skipped ? `, ${grouped.format(mine.skipped)} skipped` : ""}`))),
      h("p.rest", {}, `${grouped.format(info.arms?.chosen ?? 0)} chosen by ${info.filter || "no filter"}; ${grouped.format(info.arms?.random ?? 0)} at random`),
      h("div.queue-ways", {}, h("a.button", {href: place}, mine?.done ? "Go on" : "Begin"), counts.disagreed || info.reviewers > 1 ? h("a", {href: `${place}/disagreements`}, `Disagreements (${grouped.format(counts.disagreed ?? 0)})`) : null),
      isAdmin && linkForm(info), isAdmin && info.guideline && guidelineEditor(info.guideline));
  }

  /** A text that says what passes; queues name it. */
  function newGuideline() {
    return h("details.card.section", {}, h("summary", {}, h("span.h", {}, "New guideline")), asking("inline", [labelled("Name", input("name", {required: true, pattern: "[a-z0-9][a-z0-9\\-]{0,63}", maxlength: 64})),
      h("textarea", {name: "text", rows: 8, maxlength: 60_000, required: true, "aria-label": "What counts as pass", placeholder: "What counts as pass, and what as fail?"})], "Save the guideline", async (data) => {
      const now = await askJson(`/api/guidelines/${encodeURIComponent(data.get("name").trim())}`, {method: "PUT", body: {text: data.get("text")}});
      return h("p", {}, `Saved: ${now.name}@${now.version}. Name it in a new queue.`);
    }));
  }

  /** A filled field as a number, or nothing. */
  const numberOf = (data, name) => (data.get(name) === "" || data.get(name) === null ? undefined : Number(data.get(name)));
  const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== "" && value !== null));

  function newQueue(filter) {
    const suites = [["", "the case as a whole"], ...[...state.suites.values()].map((one) => [one.name, one.title])];
    const options = (pairs) => pairs.map(([value, word]) => h("option", {value}, word));
    return h("details.card.section", {open: filter !== null}, h("summary", {}, h("span.h", {}, "New queue")), asking("new-queue", [
      labelled("Name", input("name", {required: true, pattern: "[a-z0-9][a-z0-9\\-]{0,63}", maxlength: 64}), "small letters, digits, hyphens: it is part of the address"), labelled("Title", input("title", {maxlength: 200})),
      labelled("Cases: the filter of a list", input("filter", {value: filter ?? "", maxlength: 4_000, placeholder: "suite=safe_v0&label=Fail"}), "what stands after the ? of /cases; empty: every case"),
      labelled("Judged is", h("select", {name: "suite"}, options(suites))), labelled("Chosen cases at most", number("size", {min: 1, max: 200_000, placeholder: "all"})),
      labelled("Random cases, percent of the queue", number("random", {min: 0, max: 99, value: 20}), "drawn by chance beside the chosen ones: without them no rate can be estimated"),
      labelled("As many of each", h("select", {name: "stratify"}, options([["", "as they come"], ["label", "label"], ["suite", "suite"], ["model", "model"]]))),
      labelled("Guideline", input("guideline", {maxlength: 71, placeholder: "coherence or coherence@3"})), labelled("Reviewers of each case", number("reviewers", {min: 1, max: 20, value: 1})),
      labelled("Review pass", number("review_pass", {min: 1, value: 1})), labelled("Seed", number("seed", {min: 0, value: 0}), "the same seed draws the same cases"),
      h("label.box", {}, h("input", {type: "checkbox", name: "blind", checked: true}), "Blind: scores and others' verdicts are hidden until one's own is given"),
    ], "Make the queue", async (data) => {
      const text = (name) => data.get(name).trim();
      const body = given({
        name: text("name"), title: text("title"), filter: text("filter").replace(/^\?/, ""), suite: text("suite"), size: numberOf(data, "size"), random_share: (numberOf(data, "random") ?? 0) / 100, stratify: text("stratify"),
        guideline: text("guideline"), reviewers: numberOf(data, "reviewers"), review_pass: numberOf(data, "review_pass"), seed: numberOf(data, "seed"), blind: data.has("blind"),
      });
      await askJson("/api/queues", {method: "POST", body});
      return void go("/review");
    }));
  }

  /** Lists that may be reviewed without a queue: links for each label, and for each suite's failures. */
  function lists(labels, suites) {
    const link = (filter, text, count) => h("li", {}, h("a", {href: casesPath(filter, "/review")}, text), ` ${counted(count, "result")}`);
    return h("section.card.section", {}, h("h2", {}, "Lists"), h("p", {}, "Walk through the cases of a list, one after the other. Any list of ", h("a", {href: "/cases"}, "cases"), " can be reviewed; these are a beginning:"),
      h("ul.review-choices", {}, [...labels?.values ?? []].sort((one, other) => gravity(one.value) - gravity(other.value)).map(({value, count}) => link({label: value}, `All with ${value}`, count)),
        (suites?.values ?? []).filter(({labels: of}) => of?.Fail).map(({value, labels: of}) => link({suite: value, label: "Fail"}, `${value}: failed`, of.Fail))));
  }

  async function show(root, query, signal) {
    if (session.link) return void root.replaceChildren(h("h1", {}, "Review"), emptyState("Your link opens one queue.", "", h("p", {}, h("a", {href: session.link}, "To the queue"))));
    const none = () => null; // a service without queues still has lists
    const [queues, labels, suites] = await Promise.all([reviewQueue.ask("/api/queues", signal).then(({found}) => found).catch(none), ...["/api/facets?by=label", "/api/facets?by=suite"].map((path) => askJson(path, {signal}))]);
    if (signal.aborted) return;
    const all = queues?.queues ?? [], isAdmin = queues !== null && queues.can.admin;
    root.replaceChildren(h("h1", {}, "Review"), ...(all.length ? [h("ul.queues", {"aria-label": "Queues"}, all.map((info) => card(info, isAdmin)))] : queues ? [h("p.rest", {}, "No queue yet. A queue keeps its cases, counts verdicts, and may ask several reviewers.")] : []),
      ...(isAdmin ? [newQueue(query.get("queue_of")), newGuideline()] : []), lists(labels, suites));
  }

  return {show};
})();
