// The search box of /cases: ids and codes go into the address; words of a text are sent in a request's body, and nowhere else.

/** `filter`: the filter now; `draw(cases)`: shows what was found so far, null: shows the list again. */
function textSearch({filter, draw}) {
  const FOUND_AT_ONCE = 50;
  const search = {text: "", under: "", cases: [], cursor: null, searched: 0, total: null, unread: 0, running: null, fault: ""};
  const input = h("input", {type: "search", name: "words", maxlength: 200, spellcheck: false, autocomplete: "off", "aria-describedby": "search-note", "aria-label": "Search"});
  const modes = [["ids", "Ids and codes"], ["text", "Text of cases"]].map(([value, word]) =>
    h("label", {}, h("input", {type: "radio", name: "mode", value, checked: value === "ids", change: hint}), h("span", {}, word)));
  const note = h("p.rest", {id: "search-note", role: "status"});
  const progress = h("div.progress", {role: "status", hidden: true});
  const form = h("form.search", {role: "search", autocomplete: "off", submit: submitted}, input, h("fieldset.segmented", {}, h("legend.sr", {}, "Search in"), modes), h("button", {type: "submit"}, "Search"), note);
  let warned = "";
  hint();

  function hint() {
    input.placeholder = mode() === "text" ? "Words of a text" : "Part of an event id, case id or code";
    setText(note, mode() === "text" ? "Words are sent to this service only, and are in no address or log. Needs a token with the scope text." : "");
    warned = "";
  }
  function mode() { return modes[1].firstChild.checked ? "text" : "ids"; }

  function submitted(event) {
    event.preventDefault();
    const words = input.value.trim();
    if (mode() === "text") return words ? begin(words) : clear();
    // What someone pastes into the wrong field must not become an address.
    if (/\s/.test(words) && warned !== words) {
      warned = words;
      return setText(note, "This has spaces, so it may be text of a case, which belongs in no address. Choose “Text of cases”, or press Search again to look for an id.");
    }
    forget();
    setText(note, "");
    return go(listing.path({...listing.without(filter(), "q"), q: words}));
  }

  const key = () => listing.path(listing.without(filter(), "q"));

  function begin(words) {
    pause();
    Object.assign(search, {text: words, under: key(), cases: [], cursor: null, searched: 0, total: null, unread: 0, fault: ""});
    run();
  }

  /** Search on until enough is found, everything is searched, or somebody stops it. */
  async function run() {
    const ending = new AbortController();
    search.running = ending;
    search.fault = "";
    const enough = search.cases.length + FOUND_AT_ONCE;
    drawProgress();
    draw(search.cases);
    try {
      do {
        const body = {text: search.text, filter: listing.without(filter(), "q")};
        if (search.cursor) body.cursor = search.cursor;
        const found = await askJson("/api/search", {method: "POST", body, signal: ending.signal});
        if (ending.signal.aborted) return;
        search.cases.push(...found.cases);
        Object.assign(search, {cursor: found.next, searched: found.searched, total: found.total, unread: search.unread + found.unread});
        drawProgress();
        draw(search.cases);
      } while (search.cursor && search.cases.length < enough);
    } catch (error) {
      if (!ending.signal.aborted) search.fault = error.message;
    }
    if (search.running === ending) search.running = null;
    drawProgress();
  }

  function drawProgress() {
    progress.hidden = !search.text;
    const share = search.total ? search.searched / search.total : 0;
    const words = search.total === null ? "Searching …" : `Searched ${grouped.format(search.searched)} of ${grouped.format(search.total)}: ${counted(search.cases.length, "result")} found.${search.unread ? ` The texts of ${counted(search.unread, "case")} could not be read, so they may have it, too.` : ""}`;
    const act = search.running ? h("button", {type: "button", click: stop}, "Stop") : search.cursor || search.fault ? h("button", {type: "button", click: run}, "Search on") : null;
    progress.replaceChildren(...[h("p", {}, search.fault ? `${search.fault} ${search.total === null ? "" : words}` : words), listing.bar(share), act,
      h("button", {type: "button", click: clear}, "Back to the list")].filter(Boolean));
  }

  function stop() {
    pause();
    drawProgress();
  }

  function pause() {
    search.running?.abort();
    search.running = null;
  }

  function forget() {
    pause();
    Object.assign(search, {text: "", cases: [], cursor: null, fault: ""});
    drawProgress();
  }

  function clear() {
    forget();
    input.value = "";
    draw(null);
  }

  /** Show what was found before, if the list comes back with the same filter; true if so. */
  function resume(now) {
    if (!search.text) {
      if (now.q !== undefined && mode() === "ids") input.value = now.q;
      else if (mode() === "ids") input.value = "";
      return false;
    }
    if (search.under !== key()) {
      forget();
      input.value = "";
      return false;
    }
    draw(search.cases);
    drawProgress();
    return true;
  }

  return {form, progress, pause, resume, focus: () => { input.focus(); input.select(); }};
}
