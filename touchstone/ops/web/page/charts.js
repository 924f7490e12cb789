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

/** Results over time, stacked by label; each column leads to its cases. */
function timeDrawing(suite) {
  const labels = Object.keys(suite.labels);
  const {columns, step} = columnsOf(suite.minutes, labels);
  const peak = Math.max(1, ...columns.map((column) => column.total));
  const width = 100 / columns.length;
  const drawing = s("svg", {role: "img", class: "time", "aria-label": timeWords(suite, columns, step)});
  columns.forEach((column, place) => {
    let top = 100;
    // For the mouse: a chart is one image to a screen reader, and the labels beside it are links.
    const until = new Date(Date.parse(column.at) + step * 60_000).toISOString();
    const group = s("g", {click: () => go(casesPath({suite: suite.suite, since: column.at, until}))}, s("title"));
    group.firstChild.textContent = `${moment(hour, column.at)}: ${column.total ? words(column.counts) : "no result"}`;
    group.append(s("rect", {class: "touch", x: `${place * width}%`, y: 0, width: `${width}%`, height: "100%"}));
    for (const label of groundFirst(labels)) {
      const height = (column.counts[label] / peak) * 100;
      if (!height) continue;
      top -= height;
      const bar = {class: `tone-${tone(label)}`, x: `${place * width + width * 0.12}%`, y: `${top}%`, width: `${width * 0.76}%`, height: `${height}%`};
      group.append(s("rect", bar));
    }
    drawing.append(group);
  });
  // Where another version or configuration began: what is left and right of the line is not comparable.
  for (const change of suite.changes) {
    const place = columns.findLastIndex((column) => Date.parse(column.at) <= Date.parse(change.at));
    const at = `${Math.max(0, place) * width}%`;
    const line = s("g", {class: "change"}, s("title"), s("line", {x1: at, x2: at, y1: 0, y2: "100%"}));
    line.firstChild.textContent = changeWords(change);
    drawing.append(line);
  }
  return {drawing, axis: () => timeAxis(columns, peak, step)};
}

function timeAxis(columns, peak, step) {
  const first = columns[0];
  return h("div.axis", {"aria-hidden": "true"}, h("span", {}, first ? moment(hour, first.at) : ""), h("span", {}, `peak ${grouped.format(peak)} in ${step} min`), h("span", {}, "now"));
}

const changeWords = (change) => `${moment(hour, change.at)}: another configuration, version ${change.suite_version}, ${change.config_digest.slice(0, 8)}`;

const words = (counts) => Object.entries(counts).filter(([, count]) => count).map(([label, count]) => `${grouped.format(count)} ${label}`).join(", ") || "none";

function timeWords(suite, columns, step) {
  const last = columns.at(-1);
  return `Results over time, ${counted(columns.length, "column")} of ${step} min. In all: ${words(suite.labels)}. Now: ${last ? words(last.counts) : "none"}.${suite.changes.map((change) => ` ${changeWords(change)}.`).join("")}`;
}

const DIRECTIONS = {higher: ["↑", "higher is better"], lower: ["↓", "lower is better"]};

/** How one value is distributed: equal bins from the low to the high end, and the median. */
function spread(value) {
  const [arrow, direction] = DIRECTIONS[value.better] ?? ["", "neither end is better"];
  const peak = Math.max(1, ...value.bins);
  const width = 100 / value.bins.length;
  const median = value.quantiles.p50;
  const description = `${value.heading}, ${direction}: ${counted(value.count, "value")}, mean ${figure(value.mean, value.places)}, median ${figure(median, value.places)}, ` +
    `middle half ${figure(value.quantiles.p25, value.places)} to ${figure(value.quantiles.p75, value.places)}`;
  const drawing = s("svg", {role: "img", class: "spread", "aria-label": description}, s("title"));
  drawing.firstChild.textContent = description;
  value.bins.forEach((count, place) => {
    const height = count ? Math.max(4, (count / peak) * 100) : 0;
    if (height) drawing.append(s("rect", {x: `${place * width + width * 0.08}%`, y: `${100 - height}%`, width: `${width * 0.84}%`, height: `${height}%`}));
  });
  const reach = value.high - value.low;
  const at = reach > 0 ? Math.min(100, Math.max(0, ((median - value.low) / reach) * 100)) : 0;
  drawing.append(s("line", {x1: `${at}%`, x2: `${at}%`, y1: 0, y2: "100%"}));
  const ends = (number) => String(Math.round(number * 1000) / 1000);
  return h("figure.value", {title: description},
    h("figcaption", {}, h("span", {}, value.heading, arrow && h("span.rest", {"aria-hidden": "true"}, ` ${arrow}`)), h("b", {}, figure(value.mean, value.places))),
    drawing,
    h("div.axis", {"aria-hidden": "true"}, h("span", {}, ends(value.low)), h("span", {}, ends(value.high))));
}

/** Counts as one bar, for a batch. */
function shareBar(counts) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const drawing = s("svg", {role: "img", class: "share", "aria-label": words(counts)});
  let from = 0;
  for (const [label, count] of Object.entries(counts)) {
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
