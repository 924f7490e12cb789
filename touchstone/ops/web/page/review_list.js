// The list beside a review: each case with a preview of its score and a mark for what is done, and filters that narrow the list down.

const reviewList = (() => {
  const WIDE = "(min-width: 66.01rem)";
  const DONE = {done: ["+", "you have annotated it"], skipped: ["–", "skipped"]};
  const STATES = {open: "open", needs_another: "needs another", disagreed: "disagreed", settled: "settled"};
  const SEVERITIES_OF = ["critical", "major", "minor", "info"];
  let isOpen = null, top = 0;

  /** The value that a suite shows first: {name, heading, places}; null where no suite says one. */
  const firstOf = (suite) => state.suites.get(suite)?.components?.find((one) => one.listed) ?? null;
  function scoreOf(row) {
    const first = firstOf(row.suite), value = first ? row.values?.[first.name] : row.overall;
    return typeof value === "number" ? figure(value, first?.places ?? 2) : "";
  }

  function line(row, at, {index, address}) {
    const mine = own(DONE, row.mine ?? (row.annotated ? "done" : "")), score = scoreOf(row);
    return h("li", {}, h("a", {href: address(at), "aria-current": at === index ? "true" : null}, h("span.done", {title: mine?.[1]}, mine ? [h("span", {"aria-hidden": "true"}, mine[0]), h("span.sr", {}, `${mine[1]}: `)] : ""),
      h("span.name", {}, row.name || row.event_id), row.reserved && h("span.rest", {title: "Somebody else has it now"}, "taken"), row.state && row.state !== "open" && h("span.rest", {}, own(STATES, row.state) ?? row.state),
      row.label && h(`span.preview.tone-${tone(row.label)}`, {title: row.label}, h("span", {"aria-hidden": "true"}, sign(row.label)), h("span.sr", {}, ` ${row.label} `), score && ` ${score}`)));
  }

  /** Severities, and the least value of what the suite shows first, as parts of a filter's address. */
  function filterForm(queue) {
    const query = new URLSearchParams(queue.filter), first = firstOf(query.get("suite") ?? queue.rows[0]?.suite), name = first?.name;
    const bound = query.getAll("value").find((one) => one.startsWith(`${name}>=`))?.split(">=")[1] ?? "";
    const change = (edit) => {
      const next = new URLSearchParams(queue.filter);
      edit(next);
      go(next.size ? `/review?${next}` : "/review?at=1");
    };
    const least = first && h("label.field", {}, `${first.heading} at least`, h("input", {type: "number", step: "any", value: bound, change: ({currentTarget: field}) => change((next) => {
      const others = next.getAll("value").filter((one) => !one.startsWith(`${name}>=`));
      next.delete("value");
      for (const one of [...others, ...(field.value === "" ? [] : [`${name}>=${Number(field.value)}`])]) next.append("value", one);
    })}));
    return h("div.review-filters", {}, least, h("fieldset.severities", {}, h("legend", {}, "Worst finding"), SEVERITIES_OF.map((one) => h("label.box", {}, h("input", {type: "checkbox", value: one, checked: query.getAll("severity").includes(one), change: ({currentTarget: box}) => change((next) => {
      const chosen = next.getAll("severity").filter((other) => other !== one);
      next.delete("severity");
      for (const other of [...chosen, ...(box.checked ? [one] : [])]) next.append("severity", other);
    })}), severity(one)))));
  }

  /** `queue`: {filter or info, rows, total, isWhole, more()}; `place`: {index, address(at)}. */
  return function reviewList(queue, place) {
    const rows = h("ol.review-rows", {}), wide = matchMedia(WIDE).matches;
    const more = h("button.more", {type: "button", click: async () => { await queue.more().catch(() => {}); draw(); }}, "More");
    const node = h("details.card.section.review-nav", {open: isOpen ?? wide, toggle: () => { if (matchMedia(WIDE).matches) isOpen = node.open; }}, h("summary", {}, h("span.h", {}, "Cases")), queue.info ? null : filterForm(queue), rows, more);
    rows.addEventListener("scroll", () => { top = rows.scrollTop; }, {passive: true});

    function draw() {
      rows.replaceChildren(...queue.rows.map((row, at) => line(row, at, place)));
      more.hidden = queue.isWhole;
    }
    draw();
    return Object.assign(node, {redraw: draw, settle: () => {
      rows.scrollTop = top;
      const current = rows.querySelector("[aria-current]");
      if (current && (current.offsetTop < rows.scrollTop || current.offsetTop + current.offsetHeight > rows.scrollTop + rows.clientHeight)) rows.scrollTop = current.offsetTop - rows.clientHeight / 3;
    }});
  };
})();
