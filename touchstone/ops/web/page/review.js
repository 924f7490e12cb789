// Cases one after the other, of a filtered list (/review?FILTER) or of a queue (/review/NAME): judge one, and the next is there. The address has the case's place.
{
  const AHEAD_ROWS = 5; // the list's next page is asked for this many cases before it is needed
  const AHEAD_CASES = 2;
  const OWN = ["at", "result", "queue_of"];
  let queue = null, shown = null, index = 0, judged = 0, list = null;

  /** The filter of the address, without the review's own parameters. */
  function filterOf(query) {
    const filter = new URLSearchParams(query);
    for (const name of OWN) filter.delete(name);
    filter.sort();
    return filter.toString();
  }

  const home = () => (queue.info ? `/review/${queue.info.name}` : `/review?${queue.filter}${queue.filter && "&"}`);
  const address = (to) => (queue.info ? `${home()}?at=${to + 1}` : `${home()}at=${to + 1}`);

  async function walk(by) {
    if (!queue) return;
    const to = index + by;
    if (to >= queue.rows.length) await queue.more();
    if (to < 0 || to > queue.rows.length) return;
    if (queue.info && shown && queue.rows[index] && queue.rows[index].mine !== "done") queue.act(queue.rows[index].event_id, "release").catch(() => {});
    await go(address(to));
  }
  const step = (by) => (queue && !(by < 0 && index === 0) ? void walk(by) : false);

  /** On, after a case is done or skipped: in a queue to the next one that needs this reviewer. */
  async function onward(row, mine) {
    if (mine !== "skipped" || queue.info) row.mine = mine;
    if (mine === "done") judged += 1;
    if (!queue.info) return walk(1);
    try {
      const to = await queue.advance(row.event_id);
      return await go(to < 0 ? `${home()}?at=end` : address(to));
    } catch (error) {
      return annotationUndo.say(`The next case could not be asked for: ${error.message}`);
    }
  }

  async function skip(row) {
    if (queue.info) {
      const answer = await queue.act(row.event_id, "skip").catch(() => null);
      if (!answer?.ok) return annotationUndo.say(`Not skipped: ${answer?.data?.error ?? "the service does not answer"}.`);
    }
    return onward(row, "skipped");
  }

  const totalWords = () => (queue.total === null ? (queue.isWhole ? grouped.format(queue.rows.length) : `${grouped.format(queue.rows.length)} or more`) : grouped.format(queue.total));

  /** Where one is, how far one has come, and the ways from here. */
  function bar() {
    const button = (by, word, disabled) => h("button", {type: "button", disabled, "aria-keyshortcuts": by < 0 ? "ArrowLeft k" : "ArrowRight j", click: () => walk(by)}, word);
    const place = [button(-1, "◂ Previous", index === 0), h("b", {role: "status"}, `${grouped.format(index + 1)} of ${totalWords()}`), button(1, "Next ▸", false)];
    if (!queue.info) {
      const words = Object.entries(listing.filterOf(new URLSearchParams(queue.filter))).map(([name, value]) => `${name}: ${[value].flat().join(", ")}`).join(" · ");
      return h("nav.review-bar", {"aria-label": "Review"}, place, h("span.rest", {}, words || "all cases"), judged > 0 && h("span.rest", {}, `${grouped.format(judged)} judged`), h("a", {href: `/cases?${queue.filter}`}, "The list"),
        h("a", {href: `/review?queue_of=${encodeURIComponent(queue.filter)}`}, "Make a queue of it"));
    }
    const {info, about} = queue, done = queue.done ?? 0, isChosen = about.reviewer === annotationsPanel.remembered().trim();
    const who = !isChosen || session.link ? null : h("button.plain", {type: "button", title: "Review under another name", click: () => { annotationsPanel.remember(""); queue = null; showAddress(); }}, "change");
    return h("nav.review-bar", {"aria-label": "Review"}, place, h("progress", {max: info.total, value: done, "aria-label": "Cases with your verdict"}), h("span.rest", {}, `${grouped.format(done)} done`),
      h("b", {}, info.title || info.name), h("span.rest", {}, `reviewer ${about.reviewer}`, info.review_pass > 1 && `, pass ${info.review_pass}`), who, h("a", {href: `${home()}/disagreements`}, "Disagreements"), !session.link && h("a", {href: "/review"}, "All queues"));
  }

  /** There is no case at this place: the list is empty, or one has come to its end. */
  async function drawEnd(root, signal) {
    const many = queue.rows.length, last = h("a", {href: address(many - 1)}, "To its last case (k)"), other = h("a", {href: "/review"}, queue.info ? "All queues" : "Choose another list");
    // Who steps through the cases without a verdict comes here, too: only the service knows whether any of them still needs this reviewer.
    const needed = queue.info ? await queue.advance().catch(() => null) : null;
    if (signal.aborted) return;
    const title = needed === -1 ? "No case of this queue needs you now." : `That was the last of ${counted(many, "case")}.`;
    const words = judged ? `${counted(judged, "case")} judged since you began.` : "", {info} = queue;
    const open = info && queue.rows.findIndex((row) => row.mine === "skipped");
    index = many;
    if (!many) return void root.replaceChildren(h("h1", {}, "Review"), emptyState("No case has this filter.", "", h("p", {}, other)));
    return void root.replaceChildren(h("h1", {}, info ? info.title || info.name : "Review"), emptyState(title, words, needed >= 0 && needed !== null && h("p", {}, "This queue still needs your verdict. ", h("a", {href: address(needed)}, "To the next case without it")), h("p", {}, last),
      info && open >= 0 && h("p", {}, h("a", {href: address(open)}, "To the first case that you skipped")), info && h("p", {}, h("a", {href: `${home()}/disagreements`}, "Disagreements")), session.link ? null : h("p", {}, other)));
  }

  function askName(root, info) {
    const field = h("input", {name: "reviewer", required: true, maxlength: 100, autocomplete: "off", spellcheck: "false"});
    root.replaceChildren(h("h1", {}, info.title || info.name), h("form.card.ask-name", {submit: (event) => {
      event.preventDefault();
      if (!field.value.trim()) return;
      annotationsPanel.remember(field.value.trim());
      showAddress();
    }}, h("label.field", {}, "Your name, as reviewer", field), h("button", {type: "submit"}, "Begin"), h("p.rest", {}, `${counted(info.total, "case")}; ${info.reviewers > 1 ? `each by ${info.reviewers} reviewers` : "each by one reviewer"}${info.blind ? ", who do not see each other's verdicts" : ""}.`)));
    field.focus();
  }

  /** The queue of the address is open in `queue`; false if something else is shown in its place. */
  async function opened(name, query, root, signal) {
    if (queue?.info?.name === name) return true;
    const {found: info, reviewer} = await reviewQueue.named(name, signal);
    if (signal.aborted) return false;
    if (info === null) {
      root.replaceChildren(h("h1", {}, "Review"), emptyState("There is no such queue.", session.link ? "The link is for another one." : "", !session.link && h("p", {}, h("a", {href: "/review"}, "All queues"))));
      return false;
    }
    if (!reviewer) {
      askName(root, info);
      return false;
    }
    [queue, judged] = [reviewQueue.open(info, reviewer), 0];
    return true;
  }

  async function show({queue: name, part}, query, root, signal) {
    const filter = filterOf(query);
    shown?.judging.leave();
    shown = null;
    if (part) return reviewSettle.show(root, name, signal);
    if (name) {
      if (!await opened(name, query, root, signal)) return undefined;
      if (!query.has("at")) return go(await queue.advance().then((to) => (to < 0 ? `${home()}?at=end` : address(to))), {replace: true});
    } else if (!filter && !query.has("at")) return reviewHome.show(root, query, signal);
    else if (!queue || queue.info || queue.filter !== filter) [queue, judged] = [caseQueue(filter), 0];
    const at = query.get("at") === "end" ? Infinity : Number.parseInt(query.get("at") ?? "1", 10) || 1;
    index = Math.max(0, at - 1);
    if (!root.childElementCount) root.replaceChildren(h("h1", {}, "Review"), h("p.rest", {}, "loading …"));
    while (index >= queue.rows.length && !queue.isWhole) {
      await queue.more();
      if (signal.aborted) return undefined;
    }
    if (!session.link) await listing.suitesKnown(signal);
    const row = queue.rows[index];
    if (signal.aborted) return undefined;
    if (!row) return drawEnd(root, signal);
    return drawCase(root, row, query, signal);
  }

  async function drawCase(root, row, query, signal) {
    const about = queue.about ?? null;
    if (index + AHEAD_ROWS >= queue.rows.length) queue.more().catch(() => {}); // asked for again when it is needed
    const top = bar();
    if (queue.info) reserve(row, top);
    list = reviewList(queue, {index, address});
    const review = {
      list, queue: queue.info ? {...queue.info, reviewer: about.reviewer} : null, guideline: queue.info ? reviewQueue.guideline(queue.info) : null,
      saved: () => onward(row, "done"), skip: () => skip(row), told: () => unhide(row, about),
    };
    const view = await caseView.present(root, caseLoad.take(row.event_id, query.get("result") ?? row.result_id ?? null, signal, about), signal, {bar: top, review, drawn: (early) => { shown = early; }});
    if (signal.aborted) return undefined;
    if (view === null) root.replaceChildren(top, emptyState("This case is no longer there.", "It was removed since the list was read."));
    shown = view;
    list.settle();
    for (const following of queue.rows.slice(index + 1, index + 1 + AHEAD_CASES)) caseLoad.ahead(following.event_id, following.result_id ?? null, about);
    return undefined;
  }

  /** A place is reserved while it is open, so that two reviewers do not read the same case unless they want to. */
  async function reserve(row, top) {
    const answer = await queue.act(row.event_id, "reserve").catch(() => null);
    if (answer?.data?.reserved) top.append(h("span.taken", {role: "status"}, "Somebody else has this case now."));
  }

  /** The verdict is given: what was hidden until then is shown. */
  async function unhide(row, about) {
    row.mine = "done";
    list?.redraw();
    const one = await caseLoad.take(row.event_id, row.result_id ?? null, undefined, about).whole.catch(() => null);
    if (one && shown && queue?.rows[index] === row) shown.fill(one);
  }

  routes.push({
    name: "review", match: /^\/review(?:\/(?<queue>[^/]+)(?:\/(?<part>disagreements))?)?$/, title: () => "Review", show,
    hide: () => {
      shown?.judging.leave();
      queue = shown = list = null;
    },
    keys: caseView.keysOf(() => shown, step),
  });
}
