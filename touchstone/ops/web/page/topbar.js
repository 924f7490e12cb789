// The bar above every view: time, suite, concern, and a search. On the overview they choose what is shown; on a list they are its filter, so they are
// always part of the address. Views of one case have no filter: there, a choice leads to the list.

const topbar = (() => {
  const LISTS = ["cases", "errors", "runs", "review"];
  const PERIODS = [["15", "15 minutes"], ["60", "1 hour"], ["240", "4 hours"], ["1440", "24 hours"]]; // of the service's memory
  const SPANS = [["", "any time"], ["900", "last 15 minutes"], ["3600", "last hour"], ["86400", "last 24 hours"], ["604800", "last 7 days"], ["2592000", "last 30 days"]];
  const CONCERNS_MAX = 200;
  const carried = {suite: [], concern: []}; // what was chosen last; the navigation takes it along

  const ofMinutes = () => ["overview", "accounts"].includes(router.route?.name);
  const query = () => new URLSearchParams(location.search);

  /** The present address with another value of one parameter; an empty one takes it away. */
  function changed(name, value) {
    const list = LISTS.includes(router.route?.name), here = list || ofMinutes();
    const next = here ? query() : new URLSearchParams();
    for (const old of ["cursor", "at", "result", name, ...(name === "since" ? ["until"] : [])]) next.delete(old);
    if (value) next.set(name, value);
    const base = !here ? "/cases" : list && router.route.name === "review" ? "/review" : location.pathname;
    return next.size ? `${base}?${next}` : base;
  }

  /** Fill a field with its choices; the chosen one is among them whatever it is. */
  function fill(select, options, chosen, words) {
    const several = chosen.length > 1;
    const known = [...options, ...(several ? [["several", `${chosen.length} ${words}`]] : chosen.filter((one) => !options.some(([value]) => value === one)).map((one) => [one, one]))];
    keep(select, known, ([value, word]) => `${value} ${word}`, ([value, word]) => h("option", {value}, word));
    select.value = several ? "several" : chosen[0] ?? "";
    select.classList.toggle("chosen", select.value !== "" && select.id !== "minutes");
  }

  function draw() {
    const now = query(), own = LISTS.includes(router.route?.name) || ofMinutes();
    if (own) for (const name of Object.keys(carried)) carried[name] = now.getAll(name);
    const {suite, concern} = carried;
    const suites = [...state.suites.values()];
    fill($("suite"), [["", "all suites"], ...suites.map((one) => [one.name, one.title])], suite, "suites");
    const concerns = new Set(suites.filter((one) => !suite.length || suite.includes(one.name)).flatMap((one) => one.concerns));
    fill($("concern"), [["", "all concerns"], ...[...concerns].sort().slice(0, CONCERNS_MAX).map((one) => [one, one])], concern, "concerns");
    $("concern").parentElement.hidden = !concerns.size && !concern.length;
    if (ofMinutes()) fill($("minutes"), PERIODS, [String(state.minutes)], "");
    else fill($("minutes"), [...(own && now.get("since") ? [["since", `since ${moment(hour, now.get("since"))}`]] : []), ...SPANS], own && now.get("since") ? ["since"] : [], "");
    const filters = [...suite.slice(0, 1), ...concern.slice(0, 1), ...(own && now.get("since") ? ["since"] : [])].length;
    setText($("sheet-open"), filters ? `Filter · ${filters}` : "Filter");
    for (const link of document.querySelectorAll("#nav a")) link.href = casesPath(carried, link.pathname);
  }

  function choose(event) {
    const field = event.currentTarget, {id, value} = field;
    if (value === "several" || value === "since") return;
    if (id !== "minutes" || ofMinutes()) go(changed(id, value));
    else go(changed("since", value && new Date(clockNow() - Number(value) * 1000).toISOString().replace(/\.\d+/, "")));
    openSheet(false);
    (field.offsetParent ? field : $("sheet-open")).focus(); // a link would take the focus along, a field keeps it
  }

  function openSheet(open) {
    document.body.classList.toggle("sheet-shown", open);
    $("sheet-open").setAttribute("aria-expanded", String(open));
  }

  /** Words with spaces may be text of a case, which belongs in no address: the search of the cases takes them. */
  async function find(event) {
    event.preventDefault();
    const words = $("find-text").value.trim();
    if (!words) return;
    $("find-text").value = "";
    openSheet(false);
    if (!/\s/.test(words)) return void go(casesPath({...carried, q: words}));
    await go(casesPath(carried));
    const field = document.querySelector("form.search input[type=search]");
    if (field) field.value = words;
    document.querySelector("form.search input[value=text]")?.click();
    field?.focus();
  }

  function focus() {
    openSheet(true);
    $("find-text").focus();
  }

  for (const id of ["minutes", "suite", "concern"]) $(id).addEventListener("change", choose);
  $("find").addEventListener("submit", find);
  $("sheet-open").addEventListener("click", () => openSheet(!document.body.classList.contains("sheet-shown")));
  // A view that is drawn late must not close the field that somebody has just opened.
  document.addEventListener(CHANGED, () => { draw(); if (document.activeElement !== $("find-text")) openSheet(false); });
  return {draw, focus, close: () => openSheet(false)};
})();
