// The view at /judges: how far each judge agrees with people, and the live rate of failures, corrected for its errors. And the tile of it on the overview.

/** A share with its 95 % interval, as words. */
const withInterval = (share, low, high) => `${percent(share)} (${percent(low)} to ${percent(high)})`;

const judgeStates = {
  promoted: ["pass", "✓", "decides"], shadow: ["review", "◐", "in the shadow"], stale: ["review", "!", "stale"], uncalibrated: ["unscored", "–", "not measured"],
};

/** The state of a judge as a chip. One that decides although it was not measured, or is stale, says so. */
function judgeChip(judge) {
  const [tone, mark, word] = own(judgeStates, judge.state) ?? ["other", "•", judge.state];
  return h(`span.chip.tone-${tone}`, {}, h("span", {"aria-hidden": "true"}, `${mark} `), judge.state === "promoted" || !judge.decides ? word : `${word}, decides`);
}

/** The rate that a judge reports, the corrected one, and the interval of that, on one scale from 0 to 1. */
function rateDrawing(rate) {
  const seen = rate.seen.count / rate.seen.total;
  const drawing = s("svg", {class: "rate-of", role: "img", "aria-label": `corrected ${withInterval(rate.corrected, rate.low, rate.high)}, seen ${percent(seen)}`});
  drawing.append(s("rect", {class: "ground", x: 0, y: "35%", width: "100%", height: "30%"}), s("rect", {x: `${rate.low * 100}%`, y: "20%", width: `${Math.max(0.4, (rate.high - rate.low) * 100)}%`, height: "60%"}),
    s("line", {x1: `${rate.corrected * 100}%`, x2: `${rate.corrected * 100}%`, y1: 0, y2: "100%"}), s("circle", {cx: `${seen * 100}%`, cy: "50%", r: 4}));
  return drawing;
}

const judges = {asked: 0, shown: "", EVERY_MS: 60_000};

/** Ask for the tile's rates again, if an event says that they have changed or the last answer is old. Without a history there is no tile. */
async function refreshRates(changed = false) {
  if (session.link || (!changed && Date.now() - judges.asked < judges.EVERY_MS)) return;
  judges.asked = Date.now();
  const found = await askJson("/api/judges").catch(() => null);
  const rated = (found?.judges ?? []).filter((one) => one.prevalence).sort((one, other) => (other.prevalence.corrected ?? -1) - (one.prevalence.corrected ?? -1));
  $("rates-part").hidden = !rated.length;
  keep($("rates"), rated, (one) => one.subject, () => h("li", {}, h("a.rate", {href: "/judges"}, h("span"), h("b"), h("span.rest"))), (node, one) => {
    const [name, figure, rest] = node.firstChild.children, rate = one.prevalence;
    setText(name, one.title);
    setText(figure, rate.refused ? "–" : percent(rate.corrected));
    setText(rest, [rate.refused ? "cannot be corrected" : `${percent(rate.low)} to ${percent(rate.high)}`, one.stale.length && "stale", !one.decides && "shadow"].filter(Boolean).join(" · "));
    node.firstChild.title = rate.refused ?? `The judge fails ${percent(rate.seen.count / rate.seen.total)} of ${counted(rate.seen.total, "case")}; its errors taken off, ${withInterval(rate.corrected, rate.low, rate.high)}`;
    node.firstChild.href = `/judges#${encodeURIComponent(one.subject)}`;
  });
}

{
  const RECALLS = [["fail_recall", "Fail recall", "of the cases that people fail, the judge fails"], ["pass_recall", "Pass recall", "of the cases that people pass, the judge passes"]];

  const recallRow = (recalls, [name, word, what]) => {
    const one = recalls[name];
    return h("tr", {}, h("th", {scope: "row", title: what}, word, h("span.rest", {}, ` ${what}`)), h("td.number", {}, one.share === null ? "–" : percent(one.share)),
      h("td.number", {}, one.share === null ? "–" : `${percent(one.low)} to ${percent(one.high)}`), h("td.number", {}, `${grouped.format(one.count)} of ${grouped.format(one.total)}`));
  };

  /** The test set's recalls as a table. */
  const recallTable = (judge) => h("div.scroll", {tabindex: 0, role: "region", "aria-label": `Recalls of ${judge.title}`}, h("table.plain", {"aria-label": `Recalls of ${judge.title} on the test set`},
    h("thead", {}, h("tr", {}, ["On the test set", "Share", "95\u202f% interval", "Cases"].map((text, place) => h(place ? "th.number" : "th", {scope: "col"}, text)))),
    h("tbody", {}, RECALLS.map((one) => recallRow(judge.recalls, one)))));

  /** The live rate: seen and corrected. */
  function rateParts(judge) {
    const rate = judge.prevalence;
    if (!rate) return [];
    const span = `${moment(full, rate.window.from)} to ${moment(full, rate.window.to)}`;
    const seen = rate.seen.total ? `${percent(rate.seen.count / rate.seen.total)} of ${counted(rate.seen.total, "case")}` : "no case";
    return [h("div.live-rate", {title: span}, h("p", {}, "Corrected failure rate ", rate.refused ? h("b", {}, "unknown") : h("b.big-rate", {}, percent(rate.corrected)), rate.refused ? null : h("span.rest", {}, ` 95\u202f% interval ${percent(rate.low)} to ${percent(rate.high)}`)),
      rate.refused ? h("p.rest", {}, `Not corrected: ${rate.refused}.`) : rateDrawing(rate),
      h("p.rest", {}, `The judge itself fails ${seen}${rate.others ? `; ${counted(rate.others, "result")} by another version or configuration ${rate.others === 1 ? "is" : "are"} not counted` : ""}.`))];
  }

  const sentences = (title, found, kind = "") => found.length > 0 && h(`div.why${kind}`, {}, h("h3", {}, title), h("ul", {}, found.map((one) => h("li", {}, one))));

  /** What was measured and decided, the newest first. */
  const historyOf = (judge) => judge.history.length > 0 && h("details", {}, h("summary", {}, counted(judge.history.length, "decision")), h("ol.decisions", {}, judge.history.toReversed().map((one) =>
    h("li", {}, h("time", {datetime: one.at}, moment(full, one.at)), ` ${one.action}`, one.by && ` by ${one.by}`, one.reasons.length > 0 && h("span.rest", {}, `: ${one.reasons.join("; ")}`)))));

  function card(judge) {
    const {calibration} = judge, others = judge.reasons.filter((one) => !judge.stale.includes(one) && !judge.below_floor.includes(one));
    const facts = calibration && [`measured ${ago(calibration.at, clockNow())}`, `floor ${percent(calibration.floor)} with ${grouped.format(calibration.least)} of each class`, calibration.kappa !== null && `κ between people ${figure(calibration.kappa)}`,
      calibration.basis.guideline && `guideline ${calibration.basis.guideline}`, calibration.test_reads > 1 && `test set read ${calibration.test_reads} times: its figures are too good`].filter(Boolean).join(" · ");
    return h("article.card.judge", {id: judge.subject, "data-row": judge.subject, "aria-labelledby": `judge-${judge.subject}`},
      h("div.judge-head", {}, h("h2", {id: `judge-${judge.subject}`}, judge.title), judgeChip(judge), h("a.rest.open", {href: listing.path({suite: judge.suite})}, judge.subject)),
      ...rateParts(judge), judge.recalls && recallTable(judge), facts && h("p.rest", {}, facts),
      sentences("Changed since it was measured", judge.stale, ".tone-review") || null, sentences("Below its floor", judge.below_floor, ".tone-fail") || null, sentences("Why it is so", others) || null, historyOf(judge) || null);
  }

  async function show(params, query, root, signal) {
    let found;
    try {
      found = (await askJson("/api/judges", {signal}))?.judges ?? [];
    } catch (error) {
      if (!signal.aborted) root.replaceChildren(h("h1", {}, "Judges"), listing.refusal(error, () => showAddress()));
      return;
    }
    if (signal.aborted) return;
    const head = h("div.list-head", {}, h("h1", {}, "Judges"), h("p.total", {role: "status"}, counted(found.length, "judge")));
    if (!found.length) {
      root.replaceChildren(head, emptyState("No judge was measured yet.", "Review some cases first; then measure a suite's label, or a judge of its own, against what people said.", h("p", {}, h("code", {}, "touchstone judges calibrate SUBJECT"))));
      return;
    }
    const latest = found.map((one) => one.at).toSorted().at(-1);
    root.replaceChildren(head, h("p.rest", {}, `People's verdicts tell how often a judge errs; what it reports live is corrected by that (Rogan and Gladen). As of ${moment(full, latest)}.`), ...found.map(card));
    root.querySelector(`[id="${CSS.escape(decodeURIComponent(location.hash.slice(1)))}"]`)?.scrollIntoView();
  }

  routes.push({
    name: "judges", match: /^\/judges$/, title: () => "Judges", show,
    keys: [["j", "next judge", () => listing.walk(router.root, 1)], ["k", "previous judge", () => listing.walk(router.root, -1)]],
  });
}
