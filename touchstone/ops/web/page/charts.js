// Small charts in plain SVG. Lengths are shares of the drawing, so they fit any width, and each says in words what it shows.

const COLUMNS_MAX = 61; // an hour, and the minute that it begins in
const STEPS_MIN = [1, 2, 5, 10, 15, 30, 60];

/** The best labels last, so that failures start at the baseline, where heights compare. */
const groundFirst = (labels) => [...labels].reverse();

/** Minutes as columns, at most COLUMNS_MAX: [{at, counts, total}], with the step in minutes. */
function columnsOf(minutes, labels) {
  const step = STEPS_MIN.find((size) => minutes.length / size <= COLUMNS_MAX) ?? 60;
  const columns = [];
  for (let from = minutes.length % step; from <= minutes.length; from += step) {
    const part = minutes.slice(Math.max(0, from - step), from);
    if (!part.length) continue;
    const counts = Object.fromEntries(labels.map((label) => [label, part.reduce((sum, minute) => sum + (minute[label] ?? 0), 0)]));
    columns.push({at: part[0].at, counts, total: labels.reduce((sum, label) => sum + counts[label], 0)});
  }
  return {columns, step};
}

/** An empty chart of results over time. `drawTime` fills it. */
const timeChart = () => h("div.time", {role: "group", "data-roving": ""}, h("div.cols"), s("svg", {class: "changes", "aria-hidden": "true"}));

/** Results over time, stacked by label. Each column with results is a link to them; one is reached by Tab, the others by the arrow keys. */
function drawTime(chart, suite) {
  const labels = Object.keys(suite.labels);
  const {columns, step} = columnsOf(suite.minutes, labels);
  const peak = Math.max(1, ...columns.map((column) => column.total));
  const [cols, lines] = chart.children;
  chart.setAttribute("aria-label", timeWords(suite, columns, step));
  keep(cols, columns, (column) => `${column.at} ${column.total > 0}`, (column) => h(column.total ? "a.col" : "span.col", {}, s("svg", {"aria-hidden": "true"})), (node, column) => {
    const change = suite.changes.findLast((one) => Date.parse(one.at) >= Date.parse(column.at) && Date.parse(one.at) < Date.parse(column.at) + step * 60_000);
    const text = `${moment(hour, column.at)}: ${column.total ? words(column.counts) : "no result"}${change ? `; ${changeWords(change)}` : ""}`;
    node.title = text;
    if (column.total) {
      node.setAttribute("aria-label", text);
      node.href = periodPath({suite: suite.suite}, column.at, new Date(Date.parse(column.at) + step * 60_000).toISOString());
    }
    const shape = JSON.stringify([column.counts, peak]);
    if (node.dataset.shape === shape) return;
    node.dataset.shape = shape;
    let top = 100;
    node.firstChild.replaceChildren(...groundFirst(labels).filter((label) => column.counts[label]).map((label) => {
      const height = (column.counts[label] / peak) * 100;
      top -= height;
      return s("rect", {class: `tone-${tone(label)}`, x: "12%", width: "76%", y: `${top}%`, height: `${height}%`});
    }));
  });
  oneInTabOrder(chart);
  // Where another version or configuration began: what is left and right of the line is not comparable.
  lines.replaceChildren(...suite.changes.map((change) => {
    const at = `${Math.max(0, columns.findLastIndex((column) => Date.parse(column.at) <= Date.parse(change.at))) / columns.length * 100}%`;
    return s("line", {x1: at, x2: at, y1: 0, y2: "100%"});
  }));
  return () => timeAxis(columns, peak, step);
}

/** Of the links of a chart, one is reached by Tab: the one that had the focus, else the last. */
function oneInTabOrder(chart, wanted = null) {
  const links = [...chart.querySelectorAll("a")];
  const one = wanted ?? links.find((link) => link === document.activeElement) ?? links.find((link) => link.getAttribute("tabindex") === "0") ?? links.at(-1);
  for (const link of links) link.setAttribute("tabindex", link === one ? "0" : "-1");
}

function timeAxis(columns, peak, step) {
  const first = columns[0];
  return h("div.axis", {"aria-hidden": "true"}, h("span", {}, first ? moment(hour, first.at) : ""), h("span", {}, `peak ${grouped.format(peak)} in ${step} min`), h("span", {}, "now"));
}

const changeWords = (change) => `${moment(hour, change.at)}: another configuration, version ${change.suite_version}, ${change.config_digest.slice(0, 8)}`;

const words = (counts) => labelsInOrder(counts).filter(([, count]) => count).map(([label, count]) => `${grouped.format(count)} ${label}`).join(", ") || "none";

function timeWords(suite, columns, step) {
  const last = columns.at(-1);
  return `Results over time, ${counted(columns.length, "column")} of ${step} min. In all: ${words(suite.labels)}. Now: ${last ? words(last.counts) : "none"}.${suite.changes.map((change) => ` ${changeWords(change)}.`).join("")}`;
}

const DIRECTIONS = {higher: ["↑", "higher is better"], lower: ["↓", "lower is better"]};

const ends = (number) => String(Math.round(number * 1000) / 1000);

/** The parts of a value's distribution. `drawSpread` fills them. */
const spread = () => h("figure.value", {}, h("figcaption", {}, h("span"), h("a")), h("div.spread", {role: "group", "data-roving": ""}, h("div.cols"), s("svg", {class: "changes", "aria-hidden": "true"})), h("div.axis", {"aria-hidden": "true"}, h("span"), h("span")));

/** How one value is distributed: bins from the low to the high end, and the median. Each bin with results is a link to them. */
function drawSpread(node, value, suite) {
  const [arrow, direction] = DIRECTIONS[value.better] ?? ["", "neither end is better"];
  const peak = Math.max(1, ...value.bins), median = value.quantiles.p50, last = value.bins.length - 1;
  const description = `${value.heading}, ${direction}: ${counted(value.count, "value")}, mean ${figure(value.mean, value.places)}, median ${figure(median, value.places)}, ` +
    `middle half ${figure(value.quantiles.p25, value.places)} to ${figure(value.quantiles.p75, value.places)}`;
  const [caption, chart, axis] = node.children, [cols, lines] = chart.children;
  node.title = description;
  caption.firstChild.replaceChildren(value.heading, ...(arrow ? [h("span.rest", {"aria-hidden": "true"}, ` ${arrow}`)] : []));
  setText(caption.lastChild, figure(value.mean, value.places));
  caption.lastChild.setAttribute("aria-label", `${value.heading}: mean ${figure(value.mean, value.places)} of ${counted(value.count, "value")}`);
  caption.lastChild.href = periodPath({suite: suite.suite, value: value.name});
  chart.setAttribute("aria-label", description);
  const bins = value.bins.map((count, place) => ({count, place, low: value.edges[place], high: value.edges[place + 1]}));
  keep(cols, bins, (bin) => `${bin.place} ${bin.count > 0}`, (bin) => h(bin.count ? "a.col" : "span.col", {}, s("svg", {"aria-hidden": "true"}, s("rect", {x: "8%", width: "84%"}))), (made, {count, place, low, high}) => {
    const height = count ? Math.max(4, (count / peak) * 100) : 0;
    dress(made.firstChild.firstChild, {y: `${100 - height}%`, height: `${height}%`});
    if (!count) return;
    made.title = `${ends(low)} to ${ends(high)}: ${counted(count, "result")}`;
    made.setAttribute("aria-label", `${value.heading} ${made.title}`);
    made.href = periodPath({suite: suite.suite, value: [`${value.name}>=${low}`, `${value.name}${place === last ? "<=" : "<"}${high}`]});
  });
  oneInTabOrder(chart);
  const reach = value.high - value.low;
  const at = `${reach > 0 ? Math.min(100, Math.max(0, ((median - value.low) / reach) * 100)) : 0}%`;
  lines.replaceChildren(s("line", {x1: at, x2: at, y1: 0, y2: "100%"}));
  setText(axis.firstChild, ends(value.low));
  setText(axis.lastChild, ends(value.high));
}

/** Counts as one bar, for a batch. */
function shareBar(counts) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const drawing = s("svg", {role: "img", class: "share", "aria-label": words(counts)});
  let from = 0;
  for (const [label, count] of labelsInOrder(counts)) {
    if (!count) continue;
    const width = (count / total) * 100;
    drawing.append(s("rect", {class: `tone-${tone(label)}`, x: `${from}%`, y: 0, width: `${width}%`, height: "100%"}));
    from += width;
  }
  return drawing;
}

const Z = 1.959963984540054;

/** Wilson's 95 % interval of a share. */
function wilson(count, total) {
  const share = count / total, square = Z * Z;
  const middle = (share + square / (2 * total)) / (1 + square / total);
  const half = (Z / (1 + square / total)) * Math.sqrt((share * (1 - share)) / total + square / (4 * total * total));
  return {share, low: Math.max(0, middle - half), high: Math.min(1, middle + half)};
}

/** What a pass rate did since another batch, with Newcombe's 95 % interval of two independent rates. */
function changeOf(before, now) {
  const difference = now.share - before.share;
  const low = difference - Math.hypot(now.share - now.low, before.high - before.share);
  const high = difference + Math.hypot(now.high - now.share, before.share - before.low);
  const points = (value) => `${Math.round(value * 100) > 0 ? "+" : ""}${Math.round(value * 100)}`.replace("-", "\u2212");
  const description = `${points(difference)} points (95\u202f% interval ${points(low)} to ${points(high)})`;
  if (low <= 0 && high >= 0) return {sign: "→", tone: "other", text: `${description}: no clear change`};
  return difference > 0 ? {sign: "▲", tone: "pass", text: `${description}: better`} : {sign: "▼", tone: "fail", text: `${description}: worse`};
}

const spanWords = (rate) => `95\u202f% interval ${Math.round(rate.low * 100)}\u202f% to ${Math.round(rate.high * 100)}\u202f%`;

/** Pass rates of batches in a row, the oldest first, within the band of their intervals: [{name, low, share, high, total}]. */
function rateLine(batches, current) {
  const last = batches.length - 1;
  const x = (place) => (place / last) * 100, y = (share) => 100 - share * 100;
  const line = (points) => points.map(([across, down]) => `${across.toFixed(2)},${down.toFixed(2)}`).join(" ");
  const description = `Pass rates of ${batches.length} batches, the latest last: ${batches.map((batch) => `${batch.name} ${percent(batch.share)}`).join(", ")}`;
  const drawing = s("svg", {role: "img", class: "rates", "aria-label": description});
  const inner = s("svg", {viewBox: "0 0 100 100", preserveAspectRatio: "none", width: "100%", height: "100%"});
  inner.append(
    s("polygon", {points: line([...batches.map((batch, place) => [x(place), y(batch.high)]), ...batches.map((batch, place) => [x(place), y(batch.low)]).reverse()])}),
    s("polyline", {points: line(batches.map((batch, place) => [x(place), y(batch.share)])), "vector-effect": "non-scaling-stroke"}));
  drawing.append(inner);
  batches.forEach((batch, place) => {
    const dot = s("circle", {cx: `${x(place)}%`, cy: `${y(batch.share)}%`, r: place === current ? 5 : 3, class: place === current ? "current" : ""}, s("title"));
    dot.firstChild.textContent = `${batch.name}: ${percent(batch.share)} of ${grouped.format(batch.total)}, ${spanWords(batch)}`;
    drawing.append(dot);
  });
  const axis = h("div.axis", {"aria-hidden": "true"}, h("span", {}, batches[0].name), h("span", {}, batches[last].name));
  return h("div.chart", {}, drawing, axis);
}
