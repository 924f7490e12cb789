// Small charts in plain SVG. Lengths are shares of the drawing, so they fit any width, and each says in words what it shows.

const COLUMNS_MAX = 60;
const STEPS_MIN = [1, 2, 5, 10, 15, 30, 60];

/** The best labels last: what needs a look stands on the ground line, where heights compare. */
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

/** Results over time, stacked by label. */
function timeChart(suite) {
  const labels = Object.keys(suite.labels);
  const {columns, step} = columnsOf(suite.minutes, labels);
  const peak = Math.max(1, ...columns.map((column) => column.total));
  const width = 100 / columns.length;
  const drawing = s("svg", {role: "img", class: "time", "aria-label": timeWords(suite, columns, step)});
  columns.forEach((column, place) => {
    let top = 100;
    const group = s("g", {}, s("title"));
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
  const first = columns[0];
  const axis = h("div.axis", {"aria-hidden": "true"}, h("span", {}, first ? moment(hour, first.at) : ""), h("span", {}, `peak ${grouped.format(peak)} in ${step} min`), h("span", {}, "now"));
  return h("div.chart", {}, drawing, axis);
}

const words = (counts) => Object.entries(counts).filter(([, count]) => count).map(([label, count]) => `${grouped.format(count)} ${label}`).join(", ") || "none";

function timeWords(suite, columns, step) {
  const last = columns.at(-1);
  return `Results over time, ${counted(columns.length, "column")} of ${step} min. In all: ${words(suite.labels)}. Now: ${last ? words(last.counts) : "none"}.`;
}

const DIRECTIONS = {higher: ["↑", "higher is better"], lower: ["↓", "lower is better"]};

/** How one value is distributed: equal bins from the low to the high end, and the median. */
function spread(value) {
  const [arrow, direction] = DIRECTIONS[value.better] ?? ["", "neither end is better"];
  const peak = Math.max(1, ...value.bins);
  const width = 100 / value.bins.length;
  const median = value.quantiles.p50;
  const said = `${value.heading}, ${direction}: ${counted(value.count, "value")}, mean ${figure(value.mean, value.places)}, median ${figure(median, value.places)}, ` +
    `middle half ${figure(value.quantiles.p25, value.places)} to ${figure(value.quantiles.p75, value.places)}`;
  const drawing = s("svg", {role: "img", class: "spread", "aria-label": said}, s("title"));
  drawing.firstChild.textContent = said;
  value.bins.forEach((count, place) => {
    const height = count ? Math.max(4, (count / peak) * 100) : 0;
    if (height) drawing.append(s("rect", {x: `${place * width + width * 0.08}%`, y: `${100 - height}%`, width: `${width * 0.84}%`, height: `${height}%`}));
  });
  const reach = value.high - value.low;
  const at = reach > 0 ? Math.min(100, Math.max(0, ((median - value.low) / reach) * 100)) : 0;
  drawing.append(s("line", {x1: `${at}%`, x2: `${at}%`, y1: 0, y2: "100%"}));
  const ends = (number) => String(Math.round(number * 1000) / 1000);
  return h("figure.value", {title: said},
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
