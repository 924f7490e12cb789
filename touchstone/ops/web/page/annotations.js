// What people say of a case: verdict, note, severity, rating, issues, and the thumbs of its users. Nobody overwrites another's annotation unseen.

const annotationsPanel = (() => {
  const REVIEWER_KEY = "touchstone.reviewer";
  const SEVERITY_TAGS = [["", "none"], ["clinician_would_notice", "a clinician would notice"], ["subtle_issue", "subtle issue"], ["cosmetic", "cosmetic"]];
  const RATINGS = ["poor", "weak", "fair", "good", "excellent"];
  const ISSUES = ["missing_meds", "irrelevant_labs", "terminology_error", "temporal_inconsistency", "missing_facts", "wrong_facts", "wrong_tone"];

  const remembered = () => { try { return sessionStorage.getItem(REVIEWER_KEY) ?? ""; } catch { return ""; } };
  function remember(name) {
    try { sessionStorage.setItem(REVIEWER_KEY, name); } catch { /* then it is asked for again */ }
  }

  const choice = (group, value, text, required = false) => h("label.choice", {}, h("input", {type: "radio", name: group, value, required}), h("span", {}, text));
  const labelled = (text, control) => h("label.field", {}, text, control);

  /** An annotation of either shape in words. */
  function judgement(one) {
    const rating = one.qualityRating ?? one.quality_rating, issues = one.commonIssues ?? one.common_issues ?? [];
    const facts = [one.severityTag?.replaceAll("_", " "), rating && `rating ${rating}`, ...issues.map((issue) => String(issue).replaceAll("_", " ")), one.failureMode && `failure mode ${one.failureMode}`];
    return h("li.judgement", {}, h("div", {}, h("b", {}, one.reviewer ?? one.reviewerId ?? "somebody"), " ", one.verdict && chip(one.verdict), one.reviewPass > 1 && ` pass ${one.reviewPass}`),
      h("span.rest", {}, [moment(full, one.timestamp ?? one.annotatedAt ?? one.annotated_at ?? one.at), ...facts].filter(Boolean).join(" · ")), one.notes && h("p", {}, one.notes));
  }

  return function annotationsPanel(one, {review = null} = {}) {
    const path = `/api/cases/${encodeURIComponent(one.id)}`;
    let {etag} = one, {found} = one, mine = remembered(), sending = false;
    const list = h("ul.judgements"), note = h("textarea", {name: "notes", maxlength: 10_000}), said = h("p", {role: "status"});
    const reviewer = h("input", {name: "reviewer", required: true, maxlength: 100, value: remembered(), autocomplete: "off", spellcheck: "false"});
    const form = h("form.verdict", {submit: save}, h("fieldset", {}, h("legend.sr", {}, "Verdict"), choice("verdict", "pass", "✓ Pass", true), choice("verdict", "fail", "✕ Fail", true)),
      labelled("Note: write what you see", note),
      labelled("Severity", h("select", {name: "severityTag"}, SEVERITY_TAGS.map(([value, text]) => h("option", {value}, text)))),
      h("fieldset", {}, h("legend", {}, "Quality, from 1 (poor) to 5 (excellent)"), RATINGS.map((name, at) => choice("qualityRating", String(at + 1), h("span", {title: name}, String(at + 1)).textContent))),
      labelled("Common issues, separated by commas", h("input", {name: "commonIssues", list: "issues-known", maxlength: 500, autocomplete: "off", spellcheck: "false"})),
      h("datalist", {id: "issues-known"}, ISSUES.map((value) => h("option", {value}))),
      labelled("Reviewer", reviewer), h("button", {type: "submit"}, "Save"), said);
    const thumbs = h("div.thumbs");
    const may = found.can?.annotate !== false;
    const node = h("section.card.section", {"aria-label": "Verdict and annotations"}, h("h2", {}, "Your verdict"), may ? form : h("p.rest", {}, "This token may not annotate. A token with the scope “annotate” may."), h("h2", {}, "Annotations"), list, thumbs);

    function draw() {
      const all = found.annotations ?? [], hidden = review && may && !all.some((other) => (other.reviewer ?? other.reviewerId) === mine);
      list.replaceChildren(...(hidden && all.length ? [h("li.rest", {}, `${counted(all.length, "annotation")} of others; shown once you have saved yours.`)] : all.map(judgement)));
      if (!all.length) list.replaceChildren(h("li.rest", {}, "None yet."));
      const rating = found.feedback?.rating ?? null;
      thumbs.replaceChildren(h("span.rest", {}, rating ? "Feedback from its user:" : "Feedback from its user: none"), ...(rating || may ? ["up", "down"].map((value) => h("button", {
        type: "button", disabled: !may, "aria-pressed": String(rating === value), click: () => send({feedback: {rating: value}}),
      }, value === "up" ? "▲ up" : "▼ down")) : []));
    }

    /** Take the case's present state, which others may have changed. */
    async function again() {
      const answer = await askWhole(path);
      if (answer.ok) ({data: found, etag} = answer);
      draw();
    }

    async function send(body) {
      if (sending) return false;
      sending = true;
      setText(said, "Saving …");
      try {
        const answer = await askWhole(path, {method: "PATCH", body, headers: etag ? {"If-Match": etag} : {}});
        if (answer.status === 412) {
          await again();
          setText(said, "Not saved: somebody else annotated this case meanwhile. Their annotation is below. Save again if yours still holds.");
          return false;
        }
        if (!answer.ok) {
          setText(said, `Not saved: ${answer.data?.error ?? `the service answers with status ${answer.status}`}`);
          return false;
        }
        if (body.annotations) mine = reviewer.value.trim();
        await again();
        setText(said, "Saved.");
        return true;
      } catch {
        setText(said, "Not saved: the service does not answer. What you wrote is still here.");
        return false;
      } finally {
        sending = false;
      }
    }

    async function save(event) {
      event.preventDefault();
      const data = new FormData(form), now = new Date().toISOString();
      const annotation = {verdict: data.get("verdict"), notes: data.get("notes"), severityTag: data.get("severityTag") || null, reviewer: data.get("reviewer").trim(), timestamp: now, reviewPass: 1, failureMode: null};
      if (data.get("qualityRating")) annotation.qualityRating = Number(data.get("qualityRating"));
      const issues = data.get("commonIssues").split(",").map((issue) => issue.trim()).filter(Boolean);
      if (issues.length) annotation.commonIssues = issues;
      remember(annotation.reviewer);
      if (await send({annotations: [annotation]})) review?.saved(annotation);
    }

    draw();
    return {
      node,
      focus: () => note.focus(),
      /** Choose a verdict; the keys P and F. Saves at once in a review if the reviewer is known. */
      choose(verdict) {
        const input = form.querySelector(`input[value="${verdict}"]`);
        if (!may || !input) return;
        input.checked = true;
        if (review && reviewer.value.trim()) form.requestSubmit();
        else if (!reviewer.value.trim()) reviewer.focus();
        else input.focus();
      },
    };
  };
})();
