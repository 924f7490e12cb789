// One document, many addresses. A view says which addresses are its own; links inside the page change the address without loading it again.
//
// routes.push({
//   name: "cases",                                    // also the value of data-view on <body>
//   match: /^\/cases\/(?<id>.+)$/,                    // over location.pathname; named groups are decoded and become `params`
//   title: (params) => "Case",                        // never the text of a case
//   show: async (params, query, root, signal) => {},  // `query`: URLSearchParams; `signal` is aborted when another address is shown
//   hide: () => {},                                   // optional: called when another view takes over
//   keys: [["j", "next case", () => {}, "j"], …],     // optional: `event.key` or "Ctrl+Enter", a word, the action, which returns false if the key is not for it;
//                                                     // `?` shows the word with the key, or the name in the fourth place; without a word it shows nothing
// });
//
// A view that is shown again with another query or other params gets its root as it left it, and `hide` is not called.

const routes = [];
const router = {route: null, params: {}, ending: new AbortController(), root: null, shown: ""};
const CHANGED = "touchstone:address"; // on document, after each change of address

/** The route and the params of a path; null if no view has it. */
function routeOf(pathname) {
  for (const route of routes) {
    const found = route.match.exec(pathname);
    if (!found) continue;
    try {
      return {route, params: Object.fromEntries(Object.entries(found.groups ?? {}).map(([name, text]) => [name, decodeURIComponent(text ?? "")]))};
    } catch { return null; /* not percent-encoded text */ }
  }
  return null;
}

/** Show another address of this page: go("/cases?label=Fail"). `replace`: without a new entry in the history. */
function go(address, {replace = false} = {}) {
  const target = new URL(address, location.href);
  if (target.href === location.href && !replace) return showAddress();
  if (!replace) history.replaceState({...history.state, top: scrollY}, "");
  history[replace ? "replaceState" : "pushState"]({top: replace ? scrollY : 0}, "", target.pathname + target.search + target.hash);
  return showAddress({moved: !replace});
}

/** Show the view of the current address. `moved`: someone followed a link, so the focus and the top of the page go with them. */
async function showAddress({moved = false} = {}) {
  router.ending.abort();
  router.ending = new AbortController();
  const {signal} = router.ending;
  const {route, params} = routeOf(location.pathname) ?? {route: NOWHERE, params: {}};
  if (route !== router.route) {
    router.route?.hide?.();
    for (const root of document.querySelectorAll("main > .view")) root.hidden = true;
    router.root = $(`view-${route.name}`) ?? h("div.view", {id: `view-${route.name}`, tabindex: -1});
    if (!router.root.isConnected) $("main").append(router.root);
    if (router.root.dataset.fixed === undefined) router.root.replaceChildren();
    router.root.hidden = false;
    router.route = route;
    document.body.dataset.view = route.name;
  }
  router.params = params;
  nameAddress();
  document.dispatchEvent(new CustomEvent(CHANGED));
  if (moved) {
    scrollTo(0, 0);
    router.root.focus({preventScroll: true});
  }
  try {
    await route.show(params, new URLSearchParams(location.search), router.root, signal);
  } catch (error) {
    if (signal.aborted || router.root.dataset.fixed !== undefined) return;
    router.root.replaceChildren(emptyState("This view could not be shown.", error.message, h("button", {type: "button", click: () => showAddress()}, "Try again")));
  }
  if (!signal.aborted && !moved && history.state?.top) scrollTo(0, history.state.top);
}

/** The title of the document, and the mark in the navigation. */
function nameAddress() {
  if (!router.route) return;
  const title = router.route.title(router.params);
  const alert = document.body.dataset.state === undefined || ["live", "paused", "connecting", "catching", "files", "link"].includes(document.body.dataset.state) ? "" : "⚠ ";
  document.title = `${alert}${title} · Touchstone`;
  for (const link of document.querySelectorAll("#nav a")) {
    const path = link.pathname;
    if (path === "/" ? location.pathname === "/" : location.pathname === path || location.pathname.startsWith(`${path}/`)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** A panel that says that there is nothing, why, and what to do. */
function emptyState(title, why, ...children) {
  return h("section.card.empty", {}, h("h2", {}, title), why && h("p", {}, why), ...children);
}

const NOWHERE = {
  name: "nowhere", title: () => "No such page",
  show: (params, query, root) => root.replaceChildren(emptyState("There is no such page.", "", h("p", {}, h("a", {href: "/"}, "To the overview")))),
};

/** The address of the cases that a filter selects: casesPath({suite: "safe_v0", label: ["Fail", "Review"]}). Empty values are left out. */
function casesPath(filter = {}, base = "/cases") {
  const entries = Object.entries(filter).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const query = new URLSearchParams(entries.filter(([, value]) => value !== null && value !== undefined && value !== ""));
  return query.size ? `${base}?${query}` : base;
}

/** The address of one case; with a result of it, that result is the one shown. */
const casePath = (eventId, resultId = null) => `/cases/${encodeURIComponent(eventId)}${resultId === null ? "" : `?result=${encodeURIComponent(resultId)}`}`;

// Links stay real links: they open in another tab, can be copied, and work from the keyboard.
document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest?.("a[href]");
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin || link.getAttribute("href").startsWith("#") || !routeOf(link.pathname)) return;
  event.preventDefault();
  go(link.href);
});
addEventListener("popstate", () => {
  const here = location.pathname + location.search;
  if (here !== router.shown) showAddress(); // a hash alone is for the panel
});
document.addEventListener(CHANGED, () => { router.shown = location.pathname + location.search; });
history.scrollRestoration = "manual";
