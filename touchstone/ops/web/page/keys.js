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

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  p: () => setPaused(!state.paused),
  "/": () => { $("filter").focus(); $("filter").select(); },
  w: () => setWall(!document.body.classList.contains("walled")),
  "?": () => $("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.body.classList.contains("locked")) return;
  if (event.target.closest?.("input, select, textarea")) {
    if (event.key === "Escape" && event.target === $("filter")) {
      event.preventDefault();
      if ($("filter").value) setFilter("");
      else $("filter").blur();
    }
    return;
  }
  if ($("keys").open || (panel.open && !"jk".includes(event.key))) return;
  if (event.key === "Escape" && state.terms.length && !panel.open) setFilter("");
  const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : undefined;
  if (act === undefined) return;
  event.preventDefault();
  act();
});

$("pause").addEventListener("click", () => setPaused(!state.paused));
$("wall").addEventListener("click", () => setWall(!document.body.classList.contains("walled")));
$("keys-open").addEventListener("click", () => $("keys").showModal());
$("keys-close").addEventListener("click", () => $("keys").close());
$("filter").addEventListener("input", () => setFilter($("filter").value));
