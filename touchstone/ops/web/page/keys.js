// Everything can be done from the keyboard. Single keys do nothing while someone types.

let walked = "feed"; // the list that the focus was in last
document.addEventListener("focusin", (event) => { walked = event.target.closest?.(".rows")?.id ?? walked; });

const rowsShown = () => [...document.querySelectorAll(`#${walked} > li:not([hidden]) .row`)];

/** Go to the next or previous case of the list that the focus is in; with the panel open, show it there. */
function step(by) {
  const rows = rowsShown();
  if (!rows.length) return;
  const open = panel.open && /^#result=/.test(location.hash);
  let id = null;
  try { id = open ? decodeURIComponent(location.hash.slice(8)) : null; } catch { /* then from the first */ }
  const at = open ? rows.findIndex((row) => row.dataset.result === id) : rows.indexOf(document.activeElement);
  const row = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
  if (open) {
    history.replaceState(null, "", `#result=${encodeURIComponent(row.dataset.result)}`);
    showHash();
  } else if (!panel.open) {
    row.focus();
    row.scrollIntoView({block: "nearest"});
  }
}

function setPaused(paused) {
  state.paused = paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  setText($("pause"), paused ? "Resume" : "Pause");
  drawFeed();
}

function setWall(wall) {
  document.body.classList.toggle("walled", wall);
  $("wall").setAttribute("aria-pressed", String(wall));
}

const OVERVIEW_KEYS = [
  ["j", "next case", () => step(1)],
  ["k", "previous case", () => step(-1)],
  ["p", "pause or resume the live list", () => setPaused(!state.paused)],
  [" ", "show a case of the live list here", () => { const row = document.activeElement?.closest?.("#feed .row"); if (row) openResult(row.dataset.result); return Boolean(row); }],
  ["f", "filter the live list", () => { $("filter").focus(); $("filter").select(); }],
  ["w", "large figures, for a wall", () => setWall(!document.body.classList.contains("walled"))],
];
// "g" and then one of these.
const PLACES = {o: ["/", "overview"], c: ["/cases", "cases"], v: ["/review", "review"], e: ["/errors", "errors"], j: ["/judges", "judges"], r: ["/runs", "runs"]};
const PREFIX_MS = 1500;
let prefixAt = 0;

function showKeys() {
  const rows = [
    ...(router.route?.keys ?? []).filter(([, word]) => word).map(([key, word, , name]) => [[name ?? key].flat(), word]),
    ...((router.route?.keys ?? []).some(([key]) => key === "/") ? [] : [[["/"], "search ids and codes"]]),
    [["Tab"], "next link or field"], ...(router.route?.name === "overview" ? [[["←", "→"], "along a chart"]] : []), [["Enter"], "open what has the focus"], [["Esc"], "close, or leave a field"],
    ...Object.entries(PLACES).map(([key, [, word]]) => [["g", key], `go to ${word}`]), [["?"], "this list"],
  ];
  $("keys-list").replaceChildren(...rows.map(([keys, word]) => h("div", {}, h("dt", {}, keys.map((key) => [h("kbd", {}, key === " " ? "Space" : key), " "]).flat()), h("dd", {}, word))));
  $("keys-of-feed").hidden = router.route?.name !== "overview";
  $("keys").showModal();
  $("keys").scrollTop = 0;
}

/** Move the focus along a chart, whose columns are links; true if the key was meant for that. */
function alongChart(event) {
  const chart = event.target.closest?.("[data-roving]"), links = chart ? [...chart.querySelectorAll("a")] : [];
  const at = links.indexOf(event.target), to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: links.length - 1}[event.key];
  if (at < 0 || to === undefined) return false;
  const one = links[Math.min(links.length - 1, Math.max(0, to))];
  oneInTabOrder(chart, one);
  one.focus();
  event.preventDefault();
  return true;
}

/** Fields in which letters are typed, or in which keys choose. A box or a radio button leaves letters and digits to the page. */
const TYPING = "textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])";
const completing = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.isComposing && !panel.open && !$("keys").open;

document.addEventListener("keydown", (event) => {
  if (completing(event) && !event.defaultPrevented && !document.body.classList.contains("locked")) {
    const complete = router.route?.keys?.find(([key]) => key === "Ctrl+Enter")?.[2];
    if (complete === undefined) return;
    event.preventDefault();
    return void complete();
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.body.classList.contains("locked")) return;
  if (event.target.closest?.(TYPING)) {
    if (event.key !== "Escape") return;
    if (event.target === $("filter") && $("filter").value) setFilter("");
    else event.target.blur();
    event.preventDefault();
    return;
  }
  if (!panel.open && !$("keys").open && alongChart(event)) return;
  if ($("keys").open || (panel.open && !"jk".includes(event.key))) return;
  if (event.key === "Escape" && state.terms.length && !panel.open) setFilter("");
  const place = Date.now() - prefixAt < PREFIX_MS && Object.hasOwn(PLACES, event.key) ? PLACES[event.key][0] : null;
  prefixAt = event.key === "g" ? Date.now() : 0;
  const act = place ? () => go(place) : event.key === "?" ? showKeys : router.route?.keys?.find(([key]) => key === event.key)?.[2] ?? (event.key === "/" ? topbar.focus : undefined);
  if (act === undefined || act(event) === false) return;
  event.preventDefault();
});

$("pause").addEventListener("click", () => setPaused(!state.paused));
$("wall").addEventListener("click", () => setWall(!document.body.classList.contains("walled")));
$("keys-open").addEventListener("click", showKeys);
$("keys-close").addEventListener("click", () => $("keys").close());
$("filter").addEventListener("input", () => setFilter($("filter").value));
