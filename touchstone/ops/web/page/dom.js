"use strict";
// Elements, numbers and times. Everything that came from outside goes into the page as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);

/** Set attributes of an element. A function becomes the listener of the event of that name. */
function dress(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  return made;
}

/** An HTML element: h("p.rest", {title}, child, …). */
function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = dress(document.createElement(tag), attributes);
  if (classes.length) made.classList.add(...classes);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** An SVG element. */
function s(tag, attributes = {}, ...children) {
  const made = dress(document.createElementNS(SVG, tag), attributes);
  made.append(...children);
  return made;
}

/** Change a text only if it differs, so that screen readers announce changes only. */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Make `parent` have one child per item, in order. A child with the same key stays, with its focus and open parts. */
function keep(parent, items, key, make, update = () => {}) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const wanted = new Set(items.map(key));
  for (const [name, child] of old) if (!wanted.has(name)) child.remove();
  let next = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let child = old.get(name);
    if (child === undefined) {
      child = make(item);
      child.dataset.key = name;
    }
    update(child, item);
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
  }
}

const grouped = new Intl.NumberFormat("en");
const clock = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit"});
const hour = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit"});
const full = new Intl.DateTimeFormat("en-GB", {dateStyle: "medium", timeStyle: "long"});

const counted = (number, what) => `${grouped.format(number)} ${what}${number === 1 ? "" : "s"}`;

/** A formatted time; a dash for an invalid one. */
function moment(format, at) {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "–" : format.format(date);
}

/** How long ago, in one unit. */
function ago(at, now) {
  const seconds = Math.max(0, Math.round((now - new Date(at)) / 1000));
  if (seconds < 90) return `${seconds} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86400)} days ago`;
}

/** A share, never rounded up to 100 %. */
function percent(share) {
  if (share === null || share === undefined) return "–";
  const places = share >= 0.99 && share < 1 ? 1 : 0;
  return `${(Math.floor(share * 100 * 10 ** places + 1e-9) / 10 ** places).toFixed(places)}\u202f%`;
}

/** A value with its places. */
function figure(value, places = 2) {
  return typeof value === "number" && Number.isFinite(value) ? value.toFixed(Math.min(8, Math.max(0, places))) : "–";
}

// Label → tone and sign, so that nothing is shown by colour alone. Unknown labels get the last.
const TONES = {pass: ["pass", "✓"], review: ["review", "◐"], warn: ["review", "!"], fail: ["fail", "✕"], unscored: ["unscored", "–"]};
const [OTHER_TONE, OTHER_SIGN] = ["other", "•"];
const own = (table, name) => (Object.hasOwn(table, name) ? table[name] : undefined); // "constructor" is no entry
const tone = (label) => (own(TONES, String(label).toLowerCase()) ?? [OTHER_TONE])[0];
const sign = (label) => (own(TONES, String(label).toLowerCase()) ?? [OTHER_TONE, OTHER_SIGN])[1];

/** Labels as they are always listed: the best first, unscored last, those of a suite's own between. */
const LABELS_IN_ORDER = ["pass", "review", "warn", OTHER_TONE, "fail", "unscored"];
const placeOf = (label) => LABELS_IN_ORDER.indexOf(own(TONES, String(label).toLowerCase()) ? String(label).toLowerCase() : OTHER_TONE);
const labelsInOrder = (counts) => Object.entries(counts).sort(([one], [other]) => placeOf(one) - placeOf(other));
/** What a case is opened for: the gravest first; unscored before what may pass. */
const gravity = (label) => ["fail", "unscored", "review", "warn"].indexOf(String(label).toLowerCase()) >>> 0;

function chip(label) {
  return h(`span.chip.tone-${tone(label)}`, {}, h("span", {"aria-hidden": "true"}, `${sign(label)} `), String(label));
}

// Severities, the worst first, with a sign each.
const SEVERITIES = {critical: ["fail", "▲▲"], major: ["fail", "▲"], minor: ["review", "△"], info: ["other", "·"]};

/** `short`: the sign alone, with the word for screen readers. */
function severity(name, short = false) {
  const [its, mark] = own(SEVERITIES, name) ?? ["other", "·"];
  return h(`span.severity.tone-${its}`, {}, h("span", {"aria-hidden": "true"}, `${mark} `), short ? h("span.sr", {}, `${name} `) : String(name));
}

/** Copy a text. If the browser does not allow it, select the text instead. */
async function copy(text, node, button) {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    getSelection().selectAllChildren(node);
    try { done = document.execCommand("copy"); } catch { /* the text stays selected */ }
  }
  setText(button, done ? "Copied" : "Selected: Ctrl-C");
  setTimeout(() => setText(button, "Copy"), 2500);
}

/** A text to copy, with its button. */
function copyable(text, label) {
  const code = h("code", {}, text);
  return h("div.copyable", {}, code, h("button", {type: "button", "aria-label": label, click: (event) => copy(text, code, event.currentTarget)}, "Copy"));
}
