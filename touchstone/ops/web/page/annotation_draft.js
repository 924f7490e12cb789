// What a reviewer has written of a case and the service does not have yet. It saves itself, and it is kept until it is saved: through other views, a service
// that is away, and another reviewer's annotation. It is kept in memory only: notes may quote the case, and a browser's storage outlives the session.

const annotationDrafts = (() => {
  const PAUSE_MS = 1_500; // after the last change
  const RETRY_MS = 5_000;
  const SAVING = "Saving …";
  const drafts = new Map(); // event id → draft, while something is unsaved

  addEventListener("beforeunload", (event) => {
    if (drafts.size) event.preventDefault(); // the browser asks whether to leave
  });

  // Whoever loads the tab again, or closes it, loses nothing that the service takes: such a request outlives its tab.
  const saveAll = () => { for (const draft of drafts.values()) draft.save().catch(() => {}); };
  addEventListener("pagehide", saveAll);
  document.addEventListener("visibilitychange", () => { if (document.hidden) saveAll(); });

  /** What was not saved of cases that are no longer shown, with the reason and a way back: nothing else would tell their reviewer. */
  function drawUnsaved() {
    const left = [...drafts.values()].filter((draft) => draft.isLeft && draft.fault), node = $("unsaved");
    node.hidden = !left.length;
    node.replaceChildren(...left.map((draft) => h("p", {}, h("b", {}, draft.name), ` ${draft.status} `, h("a", {href: draft.place}, "To this case"))));
  }

  const reviewerOf = (one) => one.reviewer ?? one.reviewerId;
  const passOf = (one) => one.reviewPass ?? 1;
  const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

  /** The draft of a case. `listen(draft)` hears of each change of its state: {status, conflict, found}. */
  function draftOf(one) {
    const id = one.found.event_id ?? one.id, about = one.about ?? null;
    if (drafts.get(id)?.about?.queue === about?.queue && drafts.has(id)) {
      const kept = drafts.get(id);
      kept.isLeft = false;
      drawUnsaved();
      return kept;
    }
    const draft = {
      values: null, etag: one.etag, found: one.found, isBlind: false, conflict: null, status: "", fault: false, isLeft: false, name: one.found.name ?? id, place: location.pathname + location.search,
      about, listen: () => {}, change, save, keep, drop, send, leave,
    };
    const path = caseLoad.pathOf(id), asked = caseLoad.withQuery(path, about), {place} = draft;
    let timer = 0, sending = null;

    function say(status, isFault = false) {
      draft.status = status;
      if (status !== SAVING) draft.fault = isFault; // while it is sent again, the last fault stays in view
      draft.listen(draft);
      drawUnsaved();
    }

    /** The case is left: what is unsaved is sent now, and a fault of that is shown below every page. */
    function leave() {
      draft.listen = () => {};
      draft.isLeft = true;
      if (!draft.values) return;
      drawUnsaved();
      save().catch(() => {});
    }

    /** Take what the form says now; it is saved after a pause. */
    function change(values, {saves = true} = {}) {
      draft.values = values;
      drafts.set(id, draft);
      clearTimeout(timer);
      if (draft.conflict) return draft.listen(draft);
      if (!values.reviewer) return say("Not saved yet: say who you are.", true);
      if (saves) timer = setTimeout(save, PAUSE_MS);
      return say("Not saved yet.");
    }

    const written = () => {
      const {reviewer, ...rest} = draft.values;
      return {reviewer, ...rest, ...(about ? {queue: about.queue} : {}), timestamp: new Date().toISOString()};
    };

    /** A request that changes the case; what it answers is the case's new state. */
    async function send(body, headers) {
      const answer = await askWhole(path, {method: "PATCH", body, headers, keepalive: true});
      if (answer.ok) {
        const now = answer.data?.annotations && !about ? answer : await askWhole(asked); // what a queue hides is decided where it is named
        if (now.ok) Object.assign(draft, {found: now.data, etag: now.etag ?? now.data.etag});
      }
      return answer;
    }

    const ownOf = (found, values) => (found.annotations ?? []).find((other) => reviewerOf(other) === values.reviewer && passOf(other) === values.reviewPass) ?? null;

    /** Save now. True if everything is saved. */
    async function save() {
      clearTimeout(timer);
      while (sending) await sending.catch(() => {});
      if (!drafts.has(id)) return true;
      if (draft.conflict || !draft.values.reviewer) return false;
      sending = saving();
      try { return await sending; } finally { sending = null; }
    }

    async function saving() {
      const sent = draft.values, before = ownOf(draft.found, sent);
      say(SAVING);
      let answer;
      try {
        answer = await send({annotations: [written()]}, {"If-Match": draft.etag});
      } catch {
        timer = setTimeout(save, RETRY_MS);
        say("Not saved: the service does not answer. What you wrote is kept in this tab; it is sent again every 5 s.", true);
        return false;
      }
      if (answer.status === 412) return meet();
      if (!answer.ok) {
        if (answer.status >= 500) timer = setTimeout(save, RETRY_MS);
        say(`Not saved: ${answer.data?.error ?? `the service answers with status ${answer.status}`}. What you wrote is kept in this tab.`, true);
        return false;
      }
      annotationUndo.note({id, about, name: draft.found.name ?? id, address: place, key: {reviewer: sent.reviewer, reviewPass: sent.reviewPass}, before, after: sent});
      if (!isSame(sent, draft.values)) {
        timer = setTimeout(save, PAUSE_MS);
        return false;
      }
      drafts.delete(id);
      draft.values = null;
      say(`Saved at ${moment(clock, Date.now())}.`);
      return true;
    }

    /** Somebody has annotated the case meanwhile: both versions are shown, and the reviewer chooses. */
    async function meet() {
      const before = draft.found.annotations ?? [], now = await askWhole(asked).catch(() => ({ok: false}));
      if (!now.ok) {
        timer = setTimeout(save, RETRY_MS);
        say("Not saved: somebody else annotated this case meanwhile, and the service does not answer. What you wrote is kept in this tab.", true);
        return false;
      }
      Object.assign(draft, {found: now.data, etag: now.etag ?? now.data.etag});
      const news = (now.data.annotations ?? []).filter((other) => !before.some((known) => isSame(known, other)));
      const own_ = ownOf({annotations: news}, draft.values);
      // Another's annotation stands beside one's own and is never overwritten; whoever may not see it yet is not stopped by it.
      if (!own_ && draft.isBlind) return saving();
      draft.conflict = {theirs: own_ ? [own_] : news, isOwn: own_ !== null};
      say(own_ ? "Not saved: this annotation was changed elsewhere meanwhile. Choose one." : "Not saved: somebody else annotated this case meanwhile. Read theirs, then choose.", true);
      return false;
    }

    /** After a conflict: save what was written here. */
    function keep() {
      draft.conflict = null;
      return save();
    }

    /** After a conflict: take back what was written here. */
    function drop() {
      draft.conflict = null;
      draft.values = null;
      clearTimeout(timer);
      drafts.delete(id);
      say("Yours was taken back.");
    }
    return draft;
  }

  return {draftOf, reviewerOf, passOf};
})();
