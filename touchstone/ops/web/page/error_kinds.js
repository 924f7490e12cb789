// The second part of /errors: kinds of failure that people named, how frequent each is, whether more would be found, and coding for those who may.
const errorKinds = (() => {
  const PEOPLE = "/errors?by=people";
  const BASES = {
    random: (one) => `Shares are of the ${counted(one.base_total, "case")} that queues drew at random.`,
    outside: (one) => `Shares are of the ${counted(one.base_total, "case")} that no queue's filter chose.`,
    all: (one) => `Shares are of all ${counted(one.base_total, "reviewed case")}, as if they had been drawn at random.`,
    none: () => "A filter chose every reviewed case, so no share can be estimated. A queue with random cases gives them.",
  };
  const KINDS = [["", "not said"], ["specification", "specification"], ["generalization", "generalization"]];
  const NAME = "[a-z][a-z0-9_]{0,63}";
  let pass = null; // what is coded until the page is loaded again is one review pass

  const tabs = (ofPeople) => h("nav.suite-tabs", {"aria-label": "Errors by"}, [["/errors", "Findings", !ofPeople], [PEOPLE, "What people found", ofPeople]].map(([href, word, is]) => h("a", {href, "aria-current": is ? "true" : null}, word)));
  const caseLink = (one) => h("a", {href: `/cases/${encodeURIComponent(one.event_id)}`}, one.trace_id);
  const span = (rate) => `${percent(rate.share)} (${percent(rate.low)} to ${percent(rate.high)})`;
  const nameOf = (name) => name ?? "not coded";

  /** The share with its interval, as words and as a bar. */
  function share(rate) {
    if (!rate) return h("span.rest", {}, "no share");
    const at = (value) => `${value * 100}%`;
    return h("span.c-share", {title: `${rate.count} of ${rate.total}`}, h("span", {}, span(rate)), s("svg", {class: "interval", "aria-hidden": "true"},
      s("rect", {class: "within", x: at(rate.low), width: at(rate.high - rate.low), y: 0, height: "100%"}), s("rect", {class: "at", x: at(rate.share), width: 2, y: 0, height: "100%"})));
  }

  /** New kinds in each ten cases, as columns with words for those who do not see them. */
  function saturation({step, new_kinds: news, kinds, unseen}) {
    const words = news.map((count, place) => `cases ${place * step + 1} to ${(place + 1) * step}: ${count}`).join(", ");
    const peak = Math.max(1, ...news);
    return h("section.card.section", {}, h("h2", {}, "Would more review find more?"),
      h("p", {}, `${counted(kinds, "kind")} so far; at least ${figure(unseen, 1)} not seen yet (Chao1). Go on reviewing while new kinds come.`),
      news.length > 0 && h("div.days", {role: "img", "aria-label": `New kinds of failure by ${step} cases: ${words}`}, news.map((count, place) => h("span", {title: `cases ${place * step + 1} to ${(place + 1) * step}: ${counted(count, "new kind")}`},
        s("svg", {"aria-hidden": "true"}, s("rect", {x: "8%", width: "84%", y: `${100 - (count / peak) * 100}%`, height: `${(count / peak) * 100}%`}))))));
  }

  async function show(query, root, signal) {
    const only = query.get("category"), queue = query.get("queue");
    const address = queue ? `/api/errors?queue=${encodeURIComponent(queue)}` : "/api/errors";
    const found = await askJson(address, {signal});
    if (!signal.aborted) draw(root, found, {only, queue, signal});
  }

  /** Send an act of coding, and show what it has made. What went wrong is said beside the form. */
  async function code(root, chosen, body, said) {
    said.replaceChildren();
    try {
      const found = await askJson("/api/errors/coding", {method: "POST", body: {...body, ...(pass && body.action !== "describe" ? {review_pass: pass} : {})}});
      if (body.action !== "describe") pass = found.review_pass;
      if (chosen.queue || (chosen.only && !found.categories.some((one) => nameOf(one.name) === chosen.only))) return void go(chosen.queue ? location.href : PEOPLE, {replace: true});
      draw(root, found, chosen);
      root.querySelector(".kinds-said")?.replaceChildren("Coded.");
    } catch (error) {
      pass = null;
      said.replaceChildren(h("p.fault", {}, error.message));
    }
  }

  /** A category: its figures and examples, and for those who may code, its name and what it is a failure of. */
  function kind(one, root, chosen, can) {
    const said = h("div", {role: "status"}), name = nameOf(one.name);
    const rename = can.annotate && one.name && h("details", {}, h("summary", {}, "Change"),
      h("form.inline", {submit: (event) => { event.preventDefault(); code(root, chosen, {action: "rename", category: one.name, to: event.currentTarget.elements.to.value.trim()}, said); }},
        h("label.field", {}, "Name; that of another category merges both", h("input", {name: "to", value: one.name, required: true, pattern: NAME, maxlength: 64, autocomplete: "off"})), h("button", {type: "submit"}, "Rename")),
      h("form.inline", {submit: (event) => {
        event.preventDefault();
        const {elements} = event.currentTarget;
        code(root, chosen, {action: "describe", category: one.name, kind: elements.kind.value || null, description: elements.description?.value.trim() ?? ""}, said);
      }}, h("label.field", {}, "Failure of", h("select", {name: "kind"}, KINDS.map(([value, word]) => h("option", {value, selected: value === (one.kind ?? "")}, word)))),
        can.text && h("label.field", {}, "A case has it when", h("input", {name: "description", value: one.description ?? "", maxlength: 2000, autocomplete: "off"})), can.text && h("button", {type: "submit"}, "Save")), said);
    return h("li.card.kind", {"data-row": name},
      h("div.kind-head", {}, h("h3", {}, h("a.open.name", {href: `${PEOPLE}&category=${encodeURIComponent(name)}`}, one.name ? h("code", {}, name) : name)), h("span", {}, counted(one.cases, "case")), share(one.rate), one.kind && h("span.rest", {}, `${one.kind} failure`)),
      one.description && h("p", {}, one.description), h("p.rest.examples", {}, "Examples: ", one.examples.slice(0, 5).flatMap((example, place) => [place ? ", " : "", caseLink(example)])), rename);
  }

  /** The failures, each with a box; the form puts those that are marked into a category. */
  function failures(found, root, chosen) {
    const shown = found.failures.filter((one) => !chosen.only || nameOf(one.category) === chosen.only), said = h("div.kinds-said", {role: "status"});
    const line = (one, place) => h("li", {"data-failure": `${one.trace_id} ${one.reviewer}${one.suite ? ` ${one.suite}` : ""}`},
      found.can.annotate && h("label.box", {}, h("input", {type: "checkbox", name: "picked", value: place}), h("span.sr", {}, `Pick ${one.trace_id} of ${one.reviewer}`)),
      h("div", {}, h("p.rest", {}, caseLink(one), ` · ${one.reviewer}${one.suite ? ` on ${one.suite}` : ""}${one.settled ? " · settled" : ""} · `, one.category ? h("code", {}, one.category) : "not coded"), one.notes && h("p.notes", {}, one.notes)));
    const form = h("form.kinds-coding", {submit: (event) => {
      event.preventDefault();
      const picked = [...form.querySelectorAll("input[name=picked]:checked")].map((box) => shown[Number(box.value)]);
      if (!picked.length) return void said.replaceChildren(h("p.fault", {}, "Mark the failures first."));
      code(root, chosen, {action: "assign", to: form.elements.to.value.trim() || null, annotations: picked.map(({trace_id, reviewer, suite, category}) => ({trace_id, reviewer, suite, category}))}, said);
    }}, found.can.annotate && h("div.inline", {}, h("label.field", {}, "Category of those marked; empty: none", h("input", {name: "to", list: "kinds-known", pattern: NAME, maxlength: 64, autocomplete: "off"})),
      h("datalist", {id: "kinds-known"}, found.categories.filter((one) => one.name).map((one) => h("option", {value: one.name}))), h("button", {type: "submit"}, "Assign")), said,
      h("ul.failures", {"aria-label": "Failures"}, shown.map(line)), found.failures_total > found.failures.length && h("p.rest", {}, `Shown are ${grouped.format(found.failures.length)} of ${counted(found.failures_total, "failure")}.`));
    return h("section.card.section", {}, h("h2", {}, `${counted(shown.length, "failure")}${chosen.only ? `: ${chosen.only}` : ""}`), chosen.only && h("p", {}, h("a", {href: PEOPLE}, "All failures")),
      !found.can.text && h("p.rest", {}, "Notes are shown with the right to text."), form);
  }

  function draw(root, found, chosen) {
    const head = [h("div.list-head", {}, h("h1", {}, "Errors"), h("p.total", {role: "status"}, `${counted(found.reviewed, "case")} reviewed, ${grouped.format(found.failed)} failed${found.rate ? `: ${span(found.rate)}` : ""}`)), tabs(true)];
    if (!found.reviewed) return void root.replaceChildren(...head, emptyState("Nobody has given a verdict yet.", "Review cases, and say what is wrong with those that fail.", h("a.button", {href: "/review"}, "Review")));
    const left = [found.disagreed && `${counted(found.disagreed, "case")} with different verdicts`, found.withheld && `${counted(found.withheld, "annotation")} of blind queues withheld until their cases are reviewed`].filter(Boolean);
    root.replaceChildren(...head, h("p", {}, BASES[found.base](found), left.length ? ` ${left.join("; ")}.` : ""),
      found.categories.length ? h("ul.kinds", {"aria-label": "Kinds of failure"}, found.categories.map((one) => kind(one, root, chosen, found.can))) : emptyState("No failures.", "Every reviewed case passed."),
      saturation(found.saturation), ...(found.failures.length ? [failures(found, root, chosen)] : []),
      h("p.rest", {}, `Review passes: ${found.passes.map((one) => `${one.review_pass} (${counted(one.annotations, "annotation")}, ${grouped.format(one.coded)} coded)`).join(", ")}. A report: `, h("code", {}, "touchstone errors report")));
  }

  return {show, tabs};
})();
