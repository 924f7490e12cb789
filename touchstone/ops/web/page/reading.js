// Draws the reading of a case: what is wrong, the texts in tabs, the checks, and the ways between them.
//
// const drawn = drawReading(reading, {findings, failures, prefix});
// drawn.wrong, drawn.texts, drawn.checks: elements with what is wrong in short, with the sections that show the case, and with those that judge it.
// drawn.step(by): go to the next finding. drawn.nextTab(by), drawn.search(), drawn.addTab(title, fill). drawn.fields: id of a section → the text that marks count in.
// With `isTabbed`, as in a review: drawn.prompt, and drawn.texts has tabs for everything: Overview, Persona or Text, Outputs (each document with its score), Findings.

/** Parts of which one is shown: {node, add(title, panel, count), show(at), next(by), panel(), titles()}. One part has no tabs. `chosen(title)`: somebody chose a tab. */
function tabbed(name, chosen = () => {}) {
  const list = h("div.tabs", {role: "tablist", "aria-label": name, hidden: true}), node = h("div.tabbed", {}, list), tabs = [];
  let now = 0;

  function show(at, focus = false) {
    now = at;
    for (const [number, {tab, panel}] of tabs.entries()) {
      tab.setAttribute("aria-selected", String(number === at));
      tab.tabIndex = number === at ? 0 : -1;
      panel.hidden = number !== at;
    }
    if (focus) tabs[at].tab.focus();
  }

  const next = (by, focus = false) => {
    if (!tabs.length) return;
    show((now + by + tabs.length) % tabs.length, focus);
    chosen(tabs[now].title);
  };
  list.addEventListener("keydown", (event) => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    next(by, true);
  });

  function add(title, panel, ...counts) {
    const number = tabs.length, tab = h("button.tab", {type: "button", role: "tab", click: () => { show(number); chosen(title); }}, title, ...counts);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-label", title);
    panel.addEventListener("touchstone:reveal", () => show(number));
    tabs.push({title, tab, panel});
    list.append(tab);
    node.append(panel);
    list.hidden = tabs.length < 2;
    show(now);
  }
  return {node, add, show, next, panel: () => tabs[now]?.panel, titles: () => tabs.map(({title}) => title)};
}

const drawReading = (() => {
  const SEVERITY_STATES = {critical: "bad", major: "bad", minor: "unsure", info: "note"};
  const CHECKING = new Set(["checks", "bars"]);
  const KINDS_SHOWN = 6; // of what is wrong
  const FOLDED_MIN = 4;

  const statesOf = (section) => (section.items ?? []).map(({state}) => state);
  /** Lists with something wrong come first, then the values, then what is as it should be. */
  function rankOf(section) {
    const states = statesOf(section);
    if (states.includes("bad") || states.includes("missing")) return 0;
    return states.includes("unsure") ? 1 : section.type === "bars" ? 2 : 3;
  }

  /** A longer list in which all is well is folded. */
  function folding(section) {
    const states = statesOf(section), good = states.length >= FOLDED_MIN && states.every((state) => state === "good");
    return good ? {...section, folded: true, note: [section.note, `all ${states.length} as they should be`].filter(Boolean).join("; ")} : section;
  }

  /** What is wrong, in short: each kind once, the gravest first, and how often. */
  function drawWrong(reading, items, failures, go) {
    const wrong = items.filter(({state}) => WRONG.includes(state)).sort((one, other) => WRONG.indexOf(one.state) - WRONG.indexOf(other.state)), kinds = new Map();
    for (const item of wrong) {
      const key = `${item.state} ${item.code || item.label}`;
      kinds.set(key, [...(kinds.get(key) ?? []), item]);
    }
    const sums = WRONG.map((state) => [state, wrong.filter((one) => one.state === state).length]).filter(([, count]) => count);
    const head = h("div.wrong-head", {}, h("h2", {}, "What is wrong"), sums.map(([state, count]) => h("span.sum", {}, stateSign(state), h("span", {"aria-hidden": "true"}, `${grouped.format(count)} ${own(STATE_WORDS, state)}`), h("span.sr", {}, grouped.format(count)))));
    const codes = new Set(items.map(({code}) => code)), lines = failures.filter(({code}) => !codes.has(code)).map((failure) => h("li.kind.failed", {}, h("span.state.s-unsure", {"aria-hidden": "true"}, "–"), h("span.kind-text", {}, `${failure.component}: not scored`), h("code", {}, failure.code)));
    for (const some of [...kinds.values()].slice(0, KINDS_SHOWN)) {
      let at = -1;
      const [first] = some;
      lines.push(h("li", {}, h("button.kind", {type: "button", title: "Show where", click: () => { at = (at + 1) % some.length; go(some[at].id); }}, stateSign(first.state),
        h("span.kind-text", {}, [...new Set(some.map((one) => one.text || [one.label, one.note].filter(Boolean).join(": ") || one.code))].slice(0, 4).join(" · ")), first.code && h("code", {}, first.code), some.length > 1 && h("span.times", {}, `×${some.length}`))));
    }
    const more = kinds.size - KINDS_SHOWN;
    const none = !lines.length && h("p.rest", {}, reading.label === "Pass" ? "Nothing was found." : reading.label === "unscored" ? "This case was not scored." : "No single finding: the label follows from the values.");
    return h("section.card.wrong", {"aria-label": "What is wrong"}, head, lines.length > 0 && h("ul.kinds", {}, lines), none, more > 0 && h("p.rest", {}, `and ${grouped.format(more)} more, among the checks`));
  }

  /** Signs and numbers of what is wrong in a section, for its tab. */
  function countsOf(section) {
    const states = (section.marks ?? []).map(({state}) => state);
    return WRONG.map((state) => [state, states.filter((one) => one === state).length]).filter(([, count]) => count).slice(0, 2)
      .map(([state, count]) => h(`span.tab-count.${stateTone(state)}`, {}, h("span", {"aria-hidden": "true"}, `${SIGNS[state]} ${count}`), h("span.sr", {}, ` ${count} ${STATE_WORDS[state]}`)));
  }

  /** The sections of a reading that show the case: the prompt, the chart or text, the documents. What a table has no column for belongs to the chart. */
  function partsOf(reading, hasPrompt) {
    const shown = reading.sections.filter(({type}) => !CHECKING.has(type)), isDocument = ({type, id}) => type === "code" && !(hasPrompt && id.endsWith("-more"));
    const prompt = hasPrompt ? shown.find(({id, type}) => type === "text" && id === "prompt") : undefined;
    return {prompt, chart: shown.filter((one) => one !== prompt && !isDocument(one)), documents: shown.filter(isDocument)};
  }

  /** The score of a document among the values, as a part of its tab. */
  function scoreOf(section, sections) {
    const bar = sections.flatMap(({bars}) => bars ?? []).find(({name}) => section.id.split("-").some((part) => name === part || name.startsWith(`${part}_`)));
    return bar && typeof bar.value === "number" ? [h(`span.tab-score${bar.state ? `.${stateTone(bar.state)}` : ""}`, {title: bar.name}, bar.printed || figure(bar.value))] : [];
  }

  /** Tabs as the specification of the viewer has them. `wrong`, `checks`: elements; `titles`: what was chosen last, and what else comes first. */
  function drawTabs(reading, {wrong, checks, bars, drawSection, chosen, first}) {
    const tabs = tabbed("The case", chosen), outputs = tabbed("Outputs"), {prompt, chart, documents} = partsOf(reading, true);
    const isChart = chart.some(({type}) => type === "table" || type === "timeline");
    tabs.add("Overview", h("div.panel.overview", {}, wrong, bars));
    if (chart.length) tabs.add(isChart ? "Persona" : "Text", h("div.panel", {}, chart.map(drawSection)));
    for (const section of documents) outputs.add(section.title, h("div.panel", {}, drawSection({...section, folded: false})), ...scoreOf(section, reading.sections), ...countsOf(section));
    if (documents.length) tabs.add("Outputs", h("div.panel.outputs", {}, outputs.node));
    tabs.add("Findings", h("div.panel", {}, checks));
    const at = first.map((title) => tabs.titles().indexOf(title)).find((place) => place >= 0);
    if (at !== undefined) tabs.show(at);
    return {tabs, prompt: prompt ? drawSection(prompt) : null};
  }

  /** Boxes that show or hide the findings of a severity; `checks`: where their lines are, each with its `data-severity`. */
  function severityFilter(checks, findings) {
    const had = Object.keys(SEVERITIES).filter((name) => findings.some((one) => one.severity === name)), off = new Set();
    if (had.length < 2) return null;
    const apply = () => checks.querySelectorAll("li[data-severity]").forEach((line) => { line.hidden = off.has(line.dataset.severity); });
    checks.addEventListener("click", () => setTimeout(apply)); // "Show more" draws more lines
    return h("fieldset.severities", {}, h("legend.sr", {}, "Severities that are shown"), had.map((name) => h("label.box", {}, h("input", {type: "checkbox", checked: true, value: name, change: ({currentTarget: box}) => {
      if (box.checked) off.delete(name);
      else off.add(name);
      apply();
    }}), severity(name), h("span.rest", {}, grouped.format(findings.filter((one) => one.severity === name).length)))));
  }

  return function drawReading(reading, {findings = [], failures = [], prefix = "reading", isTabbed = false, isBlind = false, chosen = () => {}, first = []} = {}) {
    const places = readingPoints(), fields = new Map(), severityOf = (index) => findings[index]?.severity, drawSection = readingSections(places, prefix, {fields, severityOf});
    let tabs = tabbed("Texts of the case"), prompt = null;
    const checks = h("div.reading-checks", {}), texts = h("div.reading-texts", {}, tabs.node), root = h("div.reading", {}, texts, checks);
    const named = new Set(reading.sections.filter(({type}) => type === "checks" || type === "table").flatMap((section) => (section.items ?? section.rows ?? []).map((one) => one.finding)));
    const others = findings.map((finding, at) => ({finding: at, id: `result-finding-${at}`, state: own(SEVERITY_STATES, finding.severity) ?? "note", code: finding.code, label: finding.path, text: finding.message ?? ""})).filter(({finding}) => !named.has(finding));
    const judging = reading.sections.filter(({type}) => CHECKING.has(type));
    if (others.length) judging.unshift({type: "checks", id: "result-findings", title: counted(others.length, named.size ? "further finding" : "finding"), items: others});

    const {chart, documents} = partsOf(reading, false), bars = h("div.reading-bars", {});
    if (!isTabbed) {
      if (chart.length) tabs.add(chart.some(({type}) => type === "table" || type === "timeline") ? "Chart" : "Text", h("div.panel", {}, chart.map(drawSection)));
      for (const section of documents) tabs.add(section.title, h("div.panel", {}, drawSection({...section, folded: false})), ...countsOf(section));
    }
    for (const section of judging.sort((one, other) => rankOf(one) - rankOf(other))) (isTabbed && section.type === "bars" ? bars : checks).append(drawSection(folding(section)));

    const items = judging.flatMap((section) => section.items ?? []);
    const wrong = isBlind ? h("section.card.wrong", {}, h("p", {}, "This queue is blind. Scores and findings are shown once you have given your verdict, so that they do not lead it.")) : drawWrong(reading, items, failures, (id) => {
      const number = [...checks.querySelectorAll("li[data-point]")].map((one) => Number(one.dataset.point)).find((at) => places.of(at).id === id);
      if (number === undefined) return;
      places.reveal(number);
      if (places.related(number).length) places.travel(number, {focus: true});
      else places.reveal(number, {focus: true});
    });

    if (isTabbed) {
      const boxes = severityFilter(checks, findings);
      if (boxes) checks.prepend(boxes);
      else if (!checks.childElementCount) checks.append(h("p.card.rest", {}, isBlind ? "Hidden until you have given your verdict." : "None."));
      ({tabs, prompt} = drawTabs(reading, {wrong, checks, bars, drawSection, chosen, first}));
      texts.replaceChildren(tabs.node);
      root.prepend(...[prompt].filter(Boolean));
    }
    // A check that leads nowhere has no button that would promise so.
    for (const button of root.querySelectorAll(".go")) if (!places.related(Number(button.closest("[data-point]").dataset.point)).length) button.remove();
    for (const target of isTabbed ? [texts] : [texts, checks]) listen(target, places);

    /** A further tab; `fill(panel)` is called when it is first shown. */
    function addTab(title, fill) {
      const panel = h("div.panel", {}, h("section.card.section", {"aria-label": title}));
      tabs.add(title, panel);
      new ResizeObserver((_, seen) => { if (panel.clientWidth) { seen.disconnect(); fill(panel.firstElementChild); } }).observe(panel);
    }
    const search = () => [...tabs.panel()?.querySelectorAll(".section-body, .section") ?? []].find((one) => one.codeSearch && one.offsetParent)?.codeSearch();
    return {node: root, wrong, texts, checks, prompt, fields, step: places.step, nextTab: (by) => tabs.next(by, !isTabbed), search, addTab};
  };

  /** Pointer and keys in a part of the reading. */
  function listen(target, places) {
    const numberOf = (event) => {
      const found = event.target.closest?.("[data-point]");
      return found && target.contains(found) ? Number(found.dataset.point) : null;
    };
    // What was pointed at last stays highlighted: the text moves below a resting pointer when a key leads elsewhere.
    for (const name of ["pointerover", "focusin"]) target.addEventListener(name, (event) => {
      const number = numberOf(event);
      if (number !== null) places.light(number);
    });
    target.addEventListener("click", (event) => {
      const number = numberOf(event);
      if (number !== null && getSelection().isCollapsed && !event.target.closest("button, a")) places.travel(number);
    });
    target.addEventListener("keydown", (event) => {
      const number = numberOf(event);
      if (event.target.closest("button, input, a") || number === null) return;
      const list = [...target.querySelectorAll("li[tabindex='0']")], at = list.indexOf(event.target);
      if (event.key === "Enter") places.travel(number, {focus: true});
      else if (event.key === "ArrowDown" && at >= 0) list[at + 1]?.focus();
      else if (event.key === "ArrowUp" && at >= 0) list[at - 1]?.focus();
      else return;
      event.preventDefault();
    });
  }
})();
