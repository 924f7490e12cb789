// What people say of a case: verdict, note, tags, severity, rating, and the thumbs of its users. It is saved by itself; nobody overwrites another's unseen.

const annotationsPanel = (() => {
  const {draftOf, reviewerOf, passOf} = annotationDrafts;
  const REVIEWER_KEY = "touchstone.reviewer", PASS_KEY = "touchstone.review_pass";
  const SEVERITY_TAGS = [["", "none"], ["clinician_would_notice", "a clinician would notice"], ["subtle_issue", "subtle issue"], ["cosmetic", "cosmetic"]];
  const RATINGS = ["poor", "weak", "fair", "good", "excellent"];
  const TAGS = ["missing_meds", "irrelevant_labs", "terminology_error", "temporal_inconsistency", "missing_facts", "wrong_facts", "wrong_tone"];
  const PASS_MAX = 1_000_000;

  const remembered = (key) => { try { return sessionStorage.getItem(key) ?? ""; } catch { return ""; } };
  function remember(key, text) {
    try { sessionStorage.setItem(key, text); } catch { /* then it is asked for again */ }
  }

  const choice = (group, value, text, type = "radio") => h("label.choice", {}, h("input", {type, name: group, value}), h("span", {}, text));
  const labelled = (text, control) => h("label.field", {}, text, control);
  const words = (name) => String(name).replaceAll("_", " ");

  /** An annotation of either shape in words. */
  function judgement(one) {
    const facts = [one.severityTag && words(one.severityTag), one.qualityRating && `quality ${one.qualityRating}`, ...(one.commonIssues ?? []).map(words), one.failureMode && `failure mode ${one.failureMode}`];
    return h("li.judgement", {}, h("div", {}, h("b", {}, reviewerOf(one) ?? "somebody"), " ", one.verdict && chip(one.verdict), passOf(one) > 1 && ` pass ${passOf(one)}`),
      h("span.rest", {}, [moment(full, one.timestamp ?? one.annotatedAt ?? one.at), ...facts].filter(Boolean).join(" · ")), one.notes && h("p", {}, one.notes));
  }

  /** The fields of the form. */
  function fields() {
    const made = {
      note: h("textarea", {name: "notes", maxlength: 10_000, rows: 3}), reviewer: h("input", {name: "reviewer", required: true, maxlength: 100, value: remembered(REVIEWER_KEY), autocomplete: "off", spellcheck: "false"}),
      pass: h("input", {name: "reviewPass", type: "number", min: 1, max: PASS_MAX, value: remembered(PASS_KEY) || "1", title: "1: the first reading; raise it to judge again, for example once failure modes are named"}),
      mode: h("input", {name: "failureMode", maxlength: 200, autocomplete: "off", spellcheck: "false"}), other: h("input", {name: "commonIssues", maxlength: 500, autocomplete: "off", spellcheck: "false", "aria-label": "Other tags, separated by commas", placeholder: "other tags, with commas"}),
      status: h("p.saved", {role: "status"}), conflict: h("div.conflict", {hidden: true, role: "group", "aria-label": "Two versions"}),
    };
    made.form = h("form.verdict", {novalidate: true}, h("fieldset.pass-fail", {}, h("legend.sr", {}, "Verdict"), choice("verdict", "pass", ["✓ Pass ", h("kbd", {}, "P")]), choice("verdict", "fail", ["✕ Fail ", h("kbd", {}, "F")])),
      labelled(h("span", {}, "Note: write what you see ", h("kbd", {}, "a")), made.note),
      h("fieldset.tags", {}, h("legend", {}, "Tags"), TAGS.map((tag, at) => choice("tag", tag, [h("kbd", {}, String(at + 1)), ` ${words(tag)}`], "checkbox")), made.other),
      labelled("Severity", h("select", {name: "severityTag"}, SEVERITY_TAGS.map(([value, text]) => h("option", {value}, text)))),
      h("fieldset.ratings", {}, h("legend", {}, "Quality, 1 (poor) to 5 (excellent)"), RATINGS.map((name, at) => choice("qualityRating", String(at + 1), h("span", {title: name}, String(at + 1)).textContent))),
      labelled("Failure mode", made.mode),
      h("div.who", {}, labelled("Reviewer", made.reviewer), labelled("Review pass", made.pass)), h("button", {type: "submit"}, "Save now"), made.status, made.conflict);
    made.modeRow = made.mode.closest("label");
    return made;
  }

  /** What the form says, in the specification's names. */
  function read({form, note, reviewer, pass, mode, other}) {
    const data = new FormData(form), said = {
      verdict: data.get("verdict"), notes: note.value, severityTag: data.get("severityTag") || null, reviewer: reviewer.value.trim(),
      reviewPass: Math.min(PASS_MAX, Math.max(1, Math.trunc(Number(pass.value)) || 1)), failureMode: mode.value.trim() || null,
    };
    if (data.get("qualityRating")) said.qualityRating = Number(data.get("qualityRating"));
    const issues = [...new Set([...data.getAll("tag"), ...other.value.split(",").map((one) => one.trim()).filter(Boolean)])];
    if (issues.length) said.commonIssues = issues;
    return said;
  }

  /** Put an annotation into the form; null empties it. */
  function write({form, note, mode, other}, one) {
    const issues = one?.commonIssues ?? [];
    for (const input of form.querySelectorAll("input[type=radio], input[type=checkbox]")) {
      input.checked = input.name === "verdict" ? input.value === one?.verdict : input.name === "qualityRating" ? input.value === String(one?.qualityRating ?? "") : issues.includes(input.value);
    }
    note.value = one?.notes ?? "";
    mode.value = one?.failureMode ?? "";
    form.elements.severityTag.value = SEVERITY_TAGS.some(([value]) => value === one?.severityTag) ? one.severityTag : "";
    other.value = issues.filter((issue) => !TAGS.includes(issue)).join(", ");
  }

  /** The panel of a case. `review`: {saved} in a queue, where others' annotations are hidden until one's own is saved. */
  function annotationsPanel(one, {review = null} = {}) {
    const made = fields(), {form, reviewer, pass} = made, draft = draftOf(one), may = draft.found.can?.annotate !== false;
    const named = draft.found.can?.reviewer ?? null; // the token's own name: nobody writes in another's
    if (named) Object.assign(reviewer, {value: named, readOnly: true, title: "The name of your token"});
    const list = h("ul.judgements"), thumbs = h("div.thumbs"), thumbsSaid = h("p.rest", {role: "status"});
    const node = h("section.card.section", {"aria-label": "Verdict and annotations"}, h("h2", {}, "Your verdict"), may ? form : h("p.rest", {}, "This token may not annotate. A token with the scope “annotate” may."), h("h2", {}, "Annotations"), list, thumbs, thumbsSaid);
    draft.isBlind = review !== null;

    const passNow = () => read(made).reviewPass;
    const mineOf = (number) => (draft.found.annotations ?? []).find((other) => reviewerOf(other) === reviewer.value.trim() && passOf(other) === number);
    /** Show one's own annotation of this pass; without one, that of an earlier pass to begin with. */
    function writeMine() {
      const earlier = (draft.found.annotations ?? []).filter((other) => reviewerOf(other) === reviewer.value.trim() && passOf(other) < passNow()).sort((first, second) => passOf(second) - passOf(first))[0];
      const its = mineOf(passNow());
      write(made, its ?? earlier ?? null);
      setText(made.status, !its && earlier ? `As in pass ${passOf(earlier)}; pass ${passNow()} is not saved yet.` : "");
    }

    function drawList() {
      const all = draft.found.annotations ?? [], hidden = review && may && !mineOf(passNow());
      const shown = hidden ? all.filter((other) => reviewerOf(other) === reviewer.value.trim()) : all, rest = all.length - shown.length;
      list.replaceChildren(...shown.map(judgement), ...(rest ? [h("li.rest", {}, `${counted(rest, "annotation")} of others; shown once you have saved yours.`)] : []), ...(all.length ? [] : [h("li.rest", {}, "None yet.")]));
      made.modeRow.hidden = passNow() < 2 && !made.mode.value;
      const rating = draft.found.feedback?.rating ?? null;
      thumbs.replaceChildren(h("span.rest", {}, rating ? "Feedback from its user:" : "Feedback from its user: none"), ...(rating || may ? ["up", "down"].map((value) => h("button", {
        type: "button", disabled: !may, "aria-pressed": String(rating === value), click: () => rate(value),
      }, value === "up" ? "▲ up" : "▼ down")) : []));
    }

    async function rate(rating) {
      const answer = await draft.send({feedback: {rating}}, {}).catch(() => null);
      setText(thumbsSaid, answer?.ok ? "" : `Not saved: ${answer?.data?.error ?? "the service does not answer"}.`);
      drawList();
    }

    /** Both versions, and the choice. */
    function drawConflict() {
      const {conflict, values} = draft;
      made.conflict.hidden = !conflict;
      if (!conflict) return;
      const button = (text, act) => h("button", {type: "button", click: act}, text);
      const take = () => { draft.drop(); writeMine(); drawList(); };
      made.conflict.replaceChildren(h("h3", {}, conflict.isOwn ? "Saved elsewhere" : "Theirs"), h("ul", {}, conflict.theirs.map(judgement)), h("h3", {}, "Yours, not saved"), h("ul", {}, judgement({...values, timestamp: new Date().toISOString()})),
        h("div.choices", {}, button(conflict.isOwn ? "Save yours in its place" : "Save yours beside it", () => draft.keep()), button(conflict.isOwn ? "Take the other" : "Take yours back", take)));
    }

    draft.listen = () => {
      setText(made.status, draft.status);
      drawConflict();
      drawList();
    };

    form.addEventListener("input", (event) => {
      if (event.target === reviewer || event.target === pass) return;
      draft.change(read(made));
    });
    for (const field of [reviewer, pass]) field.addEventListener("change", () => {
      if (!named) remember(REVIEWER_KEY, reviewer.value.trim());
      remember(PASS_KEY, String(passNow()));
      const isTyped = draft.values !== null;
      if (isTyped) draft.change({...read(made)}, {saves: field === reviewer});
      else writeMine();
      drawList();
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!reviewer.value.trim()) return void reviewer.focus();
      if (!named) remember(REVIEWER_KEY, reviewer.value.trim());
      draft.change(read(made), {saves: false});
      if (await draft.save()) review?.saved();
    });

    if (draft.values) {
      reviewer.value = named ?? (draft.values.reviewer || reviewer.value);
      pass.value = draft.values.reviewPass;
      write(made, draft.values);
      draft.listen();
    } else writeMine();
    drawList();

    return {
      node,
      focus: () => made.note.focus(),
      /** Leave the case: what is unsaved is sent now. */
      leave() {
        draft.listen = () => {};
        if (draft.values) draft.save().catch(() => {});
      },
      tag(name) {
        const input = form.querySelector(`input[value="${name}"]`);
        if (!may || !input) return;
        input.checked = !input.checked;
        draft.change(read(made));
      },
      /** Choose a verdict; the keys P and F. In a review it is saved at once if the reviewer is known. */
      choose(verdict) {
        const input = form.querySelector(`input[value="${verdict}"]`);
        if (!may || !input) return;
        input.checked = true;
        if (review && reviewer.value.trim()) return void form.requestSubmit();
        draft.change(read(made));
        if (!reviewer.value.trim()) reviewer.focus();
      },
    };
  }
  return Object.assign(annotationsPanel, {TAGS});
})();
