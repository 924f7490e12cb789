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
  const toggled = (input) => { input.checked = !(input.checked && (input.type === "checkbox" || input.name === "qualityRating")); };
  const labelled = (text, control) => h("label.field", {}, text, control);
  const words = (name) => String(name).replaceAll("_", " ");

  /** An annotation of either shape in words. */
  function judgement(one) {
    const facts = [one.severityTag && words(one.severityTag), one.qualityRating && `quality ${one.qualityRating}`, ...(one.commonIssues ?? []).map(words), one.failureMode && `failure mode ${one.failureMode}`];
    return h("li.judgement", {}, h("div", {}, h("b", {}, reviewerOf(one) ?? "somebody"), " ", one.verdict && chip(one.verdict), one.settled && " settled: this verdict counts", passOf(one) > 1 && ` pass ${passOf(one)}`),
      h("span.rest", {}, [moment(full, one.timestamp ?? one.annotatedAt ?? one.at), ...facts].filter(Boolean).join(" · ")), one.notes && h("p", {}, one.notes));
  }

  /** The fields of the form. `tags`: at most nine, for the keys 1 to 9. */
  function fields(tags, severities) {
    const made = {
      tags, severities, marks: null, note: h("textarea", {name: "notes", maxlength: 10_000, rows: 3}), reviewer: h("input", {name: "reviewer", required: true, maxlength: 100, value: remembered(REVIEWER_KEY), autocomplete: "off", spellcheck: "false"}),
      pass: h("input", {name: "reviewPass", type: "number", min: 1, max: PASS_MAX, value: remembered(PASS_KEY) || "1", title: "1: the first reading; raise it to judge again, for example once failure modes are named"}),
      mode: h("input", {name: "failureMode", maxlength: 200, autocomplete: "off", spellcheck: "false"}), other: h("input", {name: "commonIssues", maxlength: 500, autocomplete: "off", spellcheck: "false", "aria-label": "Other tags, separated by commas", placeholder: "other tags, with commas"}),
      status: h("p.saved", {role: "status"}), buttons: h("div.buttons"), conflict: h("div.conflict", {hidden: true, role: "group", "aria-label": "Two versions"}),
    };
    made.marks = textMarks(() => made.form.dispatchEvent(new Event("input", {bubbles: true})));
    made.form = h("form.verdict", {novalidate: true}, h("fieldset.pass-fail", {}, h("legend.sr", {}, "Verdict"), choice("verdict", "pass", ["✓ Pass ", h("kbd", {}, "p")]), choice("verdict", "fail", ["✕ Fail ", h("kbd", {}, "f")])),
      labelled(h("span", {}, "Note: write what you see ", h("kbd", {}, "n")), made.note),
      h("fieldset.tags", {}, h("legend", {}, "Tags: common issues"), tags.map((tag, at) => choice("tag", tag, [h("kbd", {}, String(at + 1)), ` ${words(tag)}`], "checkbox")), made.other),
      h("fieldset.severity-tags", {"data-options": "severityTag"}, h("legend", {}, "Severity"), severities.map(([value, text]) => choice("severityTag", value, text))),
      h("fieldset.ratings", {"data-options": "qualityRating"}, h("legend", {}, "Quality, 1 (poor) to 5 (excellent)"), RATINGS.map((name, at) => choice("qualityRating", String(at + 1), String(at + 1)))),
      labelled("Failure mode", made.mode),
      made.marks.node, h("div.who", {}, labelled("Reviewer", made.reviewer), labelled("Review pass", made.pass)), made.buttons, made.status, made.conflict);
    made.modeRow = made.mode.closest("label");
    return made;
  }

  /** What the form says, in the specification's names. */
  function read({form, note, reviewer, pass, mode, other, marks}) {
    const data = new FormData(form), said = {
      verdict: data.get("verdict"), notes: note.value, severityTag: data.get("severityTag") || null, reviewer: reviewer.value.trim(),
      reviewPass: Math.min(PASS_MAX, Math.max(1, Math.trunc(Number(pass.value)) || 1)), failureMode: mode.value.trim() || null,
    };
    if (data.get("qualityRating")) said.qualityRating = Number(data.get("qualityRating"));
    const issues = [...new Set([...data.getAll("tag"), ...other.value.split(",").map((one) => one.trim()).filter(Boolean)])];
    if (issues.length) said.commonIssues = issues;
    if (marks.of().length) said.marks = marks.of();
    return said;
  }

  /** Put an annotation into the form; null empties it. */
  function write({form, note, mode, other, marks, tags, severities}, one) {
    const issues = one?.commonIssues ?? [];
    for (const input of form.querySelectorAll("input[type=radio], input[type=checkbox]")) {
      input.checked = input.name === "verdict" ? input.value === one?.verdict : input.name === "qualityRating" ? input.value === String(one?.qualityRating ?? "")
        : input.name === "severityTag" ? input.value === (severities.some(([value]) => value === one?.severityTag) ? one.severityTag : "") : issues.includes(input.value);
    }
    note.value = one?.notes ?? "";
    mode.value = one?.failureMode ?? "";
    other.value = issues.filter((issue) => !tags.includes(issue)).join(", ");
    marks.set(one?.marks);
  }

  /**
   * The panel of a case. `review`, where others' annotations are hidden until one's own is saved: {saved(): the case is done, skip(): without a verdict;
   * told(): something was saved; queue: whose reviewer and pass are fixed}.
   */
  function annotationsPanel(one, {review = null} = {}) {
    const queue = review?.queue ?? null, severities = queue?.severity_tags?.length ? [SEVERITY_TAGS[0], ...queue.severity_tags.map((name) => [name, words(name)])] : SEVERITY_TAGS;
    const made = fields((queue?.tags?.length ? queue.tags : TAGS).slice(0, 9), severities), {form, reviewer, pass} = made, draft = draftOf(one), may = draft.found.can?.annotate !== false;
    const named = draft.found.can?.reviewer ?? null; // the token's own name: nobody writes in another's
    if (queue) {
      Object.assign(reviewer, {value: queue.reviewer, readOnly: true, title: "The queue was opened under this name"});
      Object.assign(pass, {value: queue.review_pass ?? 1, readOnly: true, title: "The queue's own"});
    }
    made.buttons.append(h("button", {type: "submit"}, review ? ["Save and next ", h("kbd", {}, "Ctrl ⏎")] : "Save now"), ...(review?.skip ? [h("button", {type: "button", title: "To the next case, without a verdict", click: () => skip()}, ["Skip ", h("kbd", {}, "s")])] : []));
    if (named) Object.assign(reviewer, {value: named, readOnly: true, title: "The name of your token"});
    const list = h("ul.judgements"), thumbs = h("div.thumbs"), thumbsSaid = h("p.rest", {role: "status"});
    const node = h("section.card.section", {"aria-label": "Verdict and annotations"}, h("h2", {}, "Your verdict"), may ? form : h("p.rest", {}, "This token may not annotate. A token with the scope “annotate” may."), h("h2", {}, "Annotations"), list, thumbs, thumbsSaid);
    draft.isBlind = review !== null;
    let wasBlind = Boolean(draft.found.blind), at = -1; // `at`: the field of the form that the arrow keys went to last

    const passNow = () => read(made).reviewPass;
    const said = () => (draft.found.annotations ?? []).filter((other) => !other.withdrawn);
    const mineOf = (number) => said().find((other) => reviewerOf(other) === reviewer.value.trim() && passOf(other) === number);
    /** Show one's own annotation of this pass; without one, that of an earlier pass to begin with. */
    function writeMine() {
      const earlier = said().filter((other) => reviewerOf(other) === reviewer.value.trim() && passOf(other) < passNow()).sort((first, second) => passOf(second) - passOf(first))[0];
      const its = mineOf(passNow());
      write(made, its ?? earlier ?? null);
      setText(made.status, !its && earlier ? `As in pass ${passOf(earlier)}; pass ${passNow()} is not saved yet.` : "");
    }

    function drawList() {
      const all = said(), hidden = draft.found.blind || (review && may && !mineOf(passNow()));
      const shown = hidden ? all.filter((other) => reviewerOf(other) === reviewer.value.trim()) : all, rest = all.length - shown.length;
      list.replaceChildren(...shown.map(judgement), 
        ...(draft.found.blind ? [h("li.rest", {}, "This queue is blind: what others say, and the automated scores, are shown once you have given your verdict.")]
          : rest ? [h("li.rest", {}, `${counted(rest, "annotation")} of others; shown once you have saved yours.`)] : []), ...(all.length || draft.found.blind ? [] : [h("li.rest", {}, "None yet.")]));
      made.modeRow.hidden = passNow() < 2 && !made.mode.value;
      thumbs.hidden = queue !== null; // a queue asks for verdicts alone
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
      if (wasBlind && !draft.found.blind) review?.told?.();
      wasBlind = Boolean(draft.found.blind);
    };

    form.addEventListener("input", (event) => {
      if (event.target === reviewer || event.target === pass) return;
      draft.change(read(made));
    });
    for (const field of [reviewer, pass]) field.addEventListener("change", () => {
      if (!named && !queue) remember(REVIEWER_KEY, reviewer.value.trim());
      remember(PASS_KEY, String(passNow()));
      const isTyped = draft.values !== null;
      if (isTyped) draft.change({...read(made)}, {saves: field === reviewer});
      else writeMine();
      drawList();
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!reviewer.value.trim()) return void reviewer.focus();
      if (!named && !queue) remember(REVIEWER_KEY, reviewer.value.trim());
      const values = read(made);
      if (review && !values.verdict) return setText(made.status, "Choose pass (p) or fail (f), or skip the case (s).");
      draft.change(values, {saves: false});
      if (await draft.save()) review?.saved();
    });

    /** On to the next case. What is typed is saved as it is, without a verdict. */
    async function skip() {
      if (!draft.values || await draft.save()) await review.skip();
    }

    /** The fields of the form, one for each stop of the arrow keys. */
    const stops = () => [...form.querySelectorAll("fieldset, textarea, label.field input, .tags input[name=commonIssues], .buttons button")].filter((one) => one.offsetParent && !one.readOnly)
      .map((one) => (one.matches("fieldset") ? one.querySelector("input:checked") ?? one.querySelector("input") : one));

    if (draft.values) {
      reviewer.value = named ?? (draft.values.reviewer || reviewer.value);
      pass.value = draft.values.reviewPass;
      write(made, draft.values);
      draft.listen();
    } else writeMine();
    drawList();

    /** Choose a value; chosen again, a tag or a rating is none. */
    function choose(name, value, {toggles = false} = {}) {
      const input = [...form.elements].find((one) => one.name === name && one.value === value);
      if (!may || !input) return false;
      if (toggles) toggled(input);
      else input.checked = true;
      draft.change(read(made));
      return true;
    }

    return {
      node,
      focus: () => made.note.focus(),
      attach: made.marks.attach,
      /** Mark the place that is selected. */
      async mark() {
        if (may) annotationUndo.say(await made.marks.add());
      },
      /** Leave the case: what is unsaved is sent now. */
      leave() {
        made.marks.leave();
        draft.leave();
      },
      /** A digit: an option of the field that has the focus, or else a tag. */
      digit(number) {
        const options = document.activeElement?.closest?.("[data-options]");
        if (!options || !form.contains(options)) return choose("tag", made.tags[number - 1], {toggles: true});
        const input = options.querySelectorAll("input")[number - 1];
        input?.focus();
        return input ? choose(input.name, input.value, {toggles: true}) : false;
      },
      /** The verdict; `isDone`: saved at once, and the next case follows. */
      choose(verdict, isDone = false) {
        if (!choose("verdict", verdict)) return;
        if (isDone && !reviewer.value.trim()) reviewer.focus();
        else if (!reviewer.value.trim()) annotationUndo.say("Not saved yet: say who you are, under Reviewer."); // the focus stays: what is typed next may be the note
        else if (isDone && review) form.requestSubmit();
      },
      complete: () => { if (may) form.requestSubmit(); },
      skip: () => (review?.skip ? skip() : false),
      /** The next or previous field of the form. */
      field(by) {
        const all = stops(), now = all.findIndex((one) => one === document.activeElement || (one.name && one.name === document.activeElement?.name));
        if (!all.length) return false;
        at = Math.min(all.length - 1, Math.max(0, (now >= 0 ? now : at) + by));
        all[at].focus();
        all[at].scrollIntoView({block: "nearest"});
        return true;
      },
      /** Take back what is not saved yet, or else what was saved last. */
      undo() {
        if (!draft.values) return annotationUndo.undo();
        draft.drop();
        writeMine();
        drawList();
        return annotationUndo.say("What was not saved yet is taken back.");
      },
    };
  }
  return Object.assign(annotationsPanel, {TAGS, remembered: () => remembered(REVIEWER_KEY), remember: (name) => remember(REVIEWER_KEY, name), judgement});
})();
