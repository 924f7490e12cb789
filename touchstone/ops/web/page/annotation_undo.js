// Takes back what was saved last, whichever case it was: the annotation is what it was before, or it is withdrawn if there was none. Kept in memory only, as drafts are.

const annotationUndo = (() => {
  const KEPT_MAX = 200;
  const SAID_MS = 6_000;
  const saved = []; // {id, name, address, about, key: {reviewer, reviewPass}, before, after}
  let timer = 0;

  /** Say something that belongs to no field, for a while. */
  function say(text) {
    clearTimeout(timer);
    const place = $("said");
    setText(place, text);
    place.hidden = !text;
    if (text) timer = setTimeout(() => say(""), SAID_MS);
  }

  const FIELDS = ["verdict", "notes", "severityTag", "qualityRating", "commonIssues", "failureMode", "marks"];
  /** What an annotation says, without when and where it was said. */
  const contentOf = (one) => (one === null ? null : Object.fromEntries(FIELDS.map((name) => [name, one[name] ?? null]).filter(([, value]) => value !== null && value !== "" && value.length !== 0)));
  const isSame = (one, other) => JSON.stringify(contentOf(one)) === JSON.stringify(contentOf(other));
  const differ = (one, other) => FIELDS.filter((name) => JSON.stringify(contentOf(one)?.[name]) !== JSON.stringify(contentOf(other)?.[name]));

  /** Something was saved. Further words of the same note are one change with those before. */
  function note(entry) {
    if (isSame(entry.before, entry.after)) return;
    const last = saved.at(-1), isTyping = last && last.id === entry.id && JSON.stringify(last.key) === JSON.stringify(entry.key) && last.before !== null
      && [[last.before, last.after], [entry.before, entry.after]].every(([one, other]) => differ(one, other).join() === "notes");
    if (isTyping) last.after = entry.after;
    else saved.push(entry);
    if (saved.length > KEPT_MAX) saved.shift();
  }

  /** Take back the last change; the page then shows its case. */
  async function undo() {
    const entry = saved.at(-1);
    if (entry === undefined) return say("Nothing was saved in this tab that could be taken back.");
    const {key, before, after, about} = entry, path = caseLoad.pathOf(entry.id);
    try {
      const now = await askWhole(caseLoad.withQuery(path, about));
      if (!now.ok) throw new Error(now.data?.error ?? `the service answers with status ${now.status}`);
      if (now.data.can?.text === false) throw new Error("this token may not read notes, so it cannot bring one back");
      const mine = (now.data.annotations ?? []).find((one) => annotationDrafts.reviewerOf(one) === key.reviewer && annotationDrafts.passOf(one) === key.reviewPass) ?? null;
      if (!isSame(mine, after)) {
        saved.pop();
        return say(`Not taken back: your annotation of ${entry.name} was changed elsewhere since.`);
      }
      const said = before === null ? {withdrawn: true} : contentOf(before);
      const answer = await askWhole(path, {method: "PATCH", body: {annotations: [{...said, ...key, ...(about?.queue ? {queue: about.queue} : {}), timestamp: new Date().toISOString()}]}, headers: {"If-Match": now.etag ?? now.data.etag}});
      if (!answer.ok) throw new Error(answer.data?.error ?? `the service answers with status ${answer.status}`);
    } catch (error) {
      return say(`Not taken back: ${error.message}.`);
    }
    saved.pop();
    caseLoad.forget(entry.id);
    say(`Taken back: ${differ(before, after).map((name) => WORDS[name]).join(", ")} of ${entry.name}.`);
    return go(entry.address, {replace: entry.address === location.pathname + location.search});
  }
  const WORDS = {verdict: "the verdict", notes: "the note", severityTag: "the severity", qualityRating: "the quality", commonIssues: "the tags", failureMode: "the failure mode", marks: "the marks"};

  return {note, undo, say, contentOf};
})();
