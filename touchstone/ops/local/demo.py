"""`touchstone demo`: every installed suite's samples on the embedded broker, and whether it all adds up.

For each suite that can run here: sends its samples, watches results and reports arrive, and then asks independent questions. Has every event its
outcome? Do the same files give the same results and the same report? Did each sample get what it was written for? Is every batch report final?
"""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import orjson

from touchstone.ops.batch.outgoing import Outgoings, Way, event_files
from touchstone.ops.local.children import LogLine
from touchstone.ops.local.demo_parts import (
    FromFiles,
    Part,
    Reported,
    choose_parts,
    compare_reports,
    compare_results,
    failed_case,
    kept_by_archive,
    read_stored,
    score_files,
    settings_shown,
)
from touchstone.ops.local.demo_watch import BatchName, Watch
from touchstone.ops.local.plan import Plan
from touchstone.ops.local.up import PAGE, Live, stop_on_signals
from touchstone.ops.reports.console import console_pieces
from touchstone.ops.reports.files import check_directory, report_path, write_whole
from touchstone.ops.reports.layouts import lay_out
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.result import ScoreResult
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.identity import config_digest
from touchstone.scorers.registry import usable_suites
from touchstone.scorers.reporting import LayoutOptions
from touchstone.scorers.reporting.words import counted, visible
from touchstone.streams.account.intervals import size
from touchstone.streams.account.reconcile import Reconciliation
from touchstone.streams.account.reconcile_topics import Question, reconcile
from touchstone.streams.topics.produce import send_events
from touchstone.streams.topics.tail import Sighting

RESULTS_SHOWN = 8
#: Without a GPU a summary takes a model many seconds, on a busy machine more.
ARRIVAL_TIMEOUT_S = 600.0
SETTLED_TIMEOUT_S = 15.0
SETTLED_POLL_S = 0.3
FINAL_TIMEOUT_S = 60.0
#: A batch whose size nobody declares is final after so long without a case; a short time, because someone is watching.
QUIET_S = 3.0
#: A longer report is shown as a table of its cases alone; the files that are left behind hold all of it.
LINES_SHOWN_MAX = 60
DEFAULT_REPORTS = Path("reports")

Say = Callable[[str], None]
T = TypeVar("T")


class Demo:
    """One run. `problems` holds what does not add up; the demo has succeeded where it stays empty. `keep`: serve the page, and stay until a signal."""

    def __init__(self, settings: Settings, runner: str, report_dir: Path | None, say: Say, *, keep: bool = False) -> None:
        self._settings = settings
        self._runner = runner
        self._say = say
        self._keep = keep
        self._report_dir = report_dir
        self._warned: list[str] = []
        self._written: list[Path] = []
        self._events: dict[str, set[str]] = {}
        #: (topic, kind) → events sent. Suites that share a topic score each other's events of their kinds.
        self._sent: Counter[tuple[str, str]] = Counter()
        self._batches = 0
        self._failed: ScoreResult | None = None
        self.problems: list[str] = []

    async def run(self) -> None:
        """Do all of it. Raises `ConfigError` where a part does not start."""
        begun = time.monotonic()
        parts, left_out = await asyncio.to_thread(choose_parts, os.environ)
        for part in parts:
            check_directory(self._directory(part), "--reports, or the suite's own setting of it,")
        self._say("Touchstone demo: embedded broker, in memory, no network. Everything but the report files is gone at the end.")
        for line in left_out:
            self._say(f"Left out: {line}.")
        if not parts:
            raise ConfigError("no installed suite can show its samples here; install what the lines above name")
        env = {"TOUCHSTONE_PROJECTOR_QUIET_S": f"{QUIET_S:g}"}
        for part in parts:
            env |= part.samples.env
        plan = Plan([parts[0].suite.name], runner=self._runner, page_port=0 if self._keep else None, env=env)
        async with Live(self._settings, plan, self._note) as live:
            self._say(f"Broker on {live.settings.kafka.bootstrap_servers}, projector and the first {self._runner} worker: up after {_since(begun)}.")
            async with Watch(live.settings, usable_suites()) as watch:
                starting: asyncio.Task[None] | None = None
                try:
                    for part, following in zip_longest(parts, parts[1:]):
                        if starting is not None:
                            await starting
                        # While one suite is shown, the worker of the next one loads what it needs.
                        starting = asyncio.create_task(live.add(following.suite.name)) if following is not None else None
                        await self._show(part, live, watch)
                    await self._close_accounts(parts, live)
                finally:
                    if starting is not None:
                        starting.cancel()
                        await asyncio.gather(starting, return_exceptions=True)
            if self._keep:
                self._end(begun)
                await self._stay(live)
        hard = [f"{child} did not stop in time" for child in live.stopped_hard]
        self.problems += hard
        if not self._keep:
            self._end(begun)
        elif hard and live.asked_by != signal.SIGHUP:  # then there is no terminal to write to
            self._say(f"This does NOT add up: {'; '.join(hard)}")

    async def _stay(self, live: Live) -> None:
        """Say where the page is, and serve it until Ctrl-C, SIGTERM or the terminal's end. Raises `ConfigError` for a process that ends."""
        stop = asyncio.Event()
        stop_on_signals(stop, live)
        self._say(f"\n{PAGE}  {live.page}")
        if self._failed is not None:
            # Its text is shown once the archive has it, which is moments after its result.
            await self._while_up(live, kept_by_archive(self._failed.event_id, live.store_url))
            # Other suites may have scored the same event, and later.
            self._say(f"open this failed case: {live.page}cases/{quote(self._failed.event_id, safe='')}?result={self._failed.result_id}")
        self._say("It shows these results until you press Ctrl-C.")
        await self._while_up(live, stop.wait())

    def _end(self, begun: float) -> None:
        """What has been shown, or what does not add up."""
        if self.problems:
            self._say(f"\nThis does NOT add up: {'; '.join(self.problems)}")
            for text in self._warned:
                self._say(f"  {text}")
            return
        events, suites = sum(map(len, self._events.values())), len(self._events)
        self._say(
            f"\nShown: {counted(events, 'event')} in, each scored, of {counted(suites, 'suite')}; {counted(self._batches, 'final batch report')}; accounts "
            f"that close; and the same results and reports from the same files; in {_since(begun)}."
        )
        for path in self._written:
            self._say(f"Left behind: {path}")

    def _directory(self, part: Part) -> Path:
        """Where a suite's reports go: where the caller says, else where the suite's own settings do."""
        return self._report_dir or getattr(part.settings, "report_dir", None) or DEFAULT_REPORTS

    def _note(self, line: LogLine) -> None:
        """Children's warnings are kept for the case that something does not add up."""
        if line.level not in {"info", "debug"}:
            self._warned.append(visible(f"[{line.child}] {line.text}"))

    async def _show(self, part: Part, live: Live, watch: Watch) -> None:
        """One suite, from its first event to its report. Its worker is up."""
        suite = part.suite
        self._say(f"\n{suite.name}: {suite.title or suite.name}, version {suite.version}")
        if part.samples.env:
            self._say(f"  Settings for these samples, which are invented: {settings_shown(part.samples)}")
        self._events[suite.name] = own = await self._stream(part, live, watch)
        self._check(part, await self._settled(part, live), self._expected(part, live))
        digest = config_digest(suite.fingerprint(part.settings))
        results = await asyncio.to_thread(read_stored, part, live.store_url, digest)
        if own and not results:
            self.problems.append(f"{suite.name}: the worker scored with another configuration than the one here ({digest})")
        self._failed = self._failed or failed_case(result for result in results if result.event_id in own)
        # Meanwhile the last batches become final.
        scoring = asyncio.create_task(asyncio.to_thread(score_files, part))
        try:
            await self._final(part, live, watch, results)
            files = await self._while_up(live, scoring)
        finally:
            scoring.cancel()
        await self._compare(part, live, [result for result in results if result.event_id in own], files)

    async def _stream(self, part: Part, live: Live, watch: Watch) -> set[str]:
        """Send the samples and watch their results arrive; returns the ids of their events."""
        settings, suite = live.settings, part.suite
        outgoing = Outgoings(settings, [suite], event_files(part.samples.paths), {}, Way(None))
        checked = await asyncio.to_thread(outgoing.check)
        own: set[str] = set()
        for event in outgoing.events():
            record = orjson.loads(event.value)
            own.add(record["id"])
            self._sent[event.topic, record["kind"]] += 1
        labels = watch.labels[suite.name]

        def arrived() -> list[str]:
            return [labels[event_id] for event_id in own & labels.keys()]

        def show(sighting: Sighting) -> None:
            if sighting.suite == suite.name and str(sighting.facts["event_id"]) in own and len(arrived()) <= RESULTS_SHOWN:
                self._say(visible(f"    {sighting.text}"))

        watch.on_result = show
        begun = time.monotonic()
        sent = await send_events(settings, outgoing.events(), checked.topics)
        self._say(f"  {counted(sent.total, 'event')} sent. Results, as they arrive:")
        if await self._while_up(live, watch.until(lambda: own <= labels.keys(), ARRIVAL_TIMEOUT_S)):
            counts = ", ".join(f"{count} {label}" for label, count in sorted(Counter(arrived()).items()))
            self._say(f"    … {counted(len(own), 'result')} in all, after {_since(begun)}: {counts}")
        else:
            self.problems.append(f"{suite.name}: after {ARRIVAL_TIMEOUT_S:g} s there were {len(arrived())} of {len(own)} results")
        return own

    def _expected(self, part: Part, live: Live) -> int:
        """How many of the events sent so far a suite scores: those of its kinds on its topics, whichever suite's samples they are."""
        topics = live.settings.topics.inputs(part.suite.topics)
        return sum(count for (topic, kind), count in self._sent.items() if topic in topics and kind in part.suite.cases)

    async def _final(self, part: Part, live: Live, watch: Watch, results: Sequence[ScoreResult]) -> None:
        """Wait until every batch of the results has a final report of all its scored cases, and show these."""
        scored: Counter[BatchName] = Counter()
        for result in results:
            if (group := part.suite.group_of(result)) is not None:
                scored[part.suite.name, group.concern_id, group.batch_id] += result.label != "unscored"

        def lacking() -> list[BatchName]:
            reports = watch.reports
            return [name for name, count in scored.items() if name not in reports or not _is_final(reports[name], count)]

        if not scored:
            self._say("  No report events: its samples are in no batch.")
            return
        if not await self._while_up(live, watch.until(lambda: not lacking(), FINAL_TIMEOUT_S)):
            self.problems.append(f"{part.suite.name}: no final report of {', '.join('/'.join(name[1:]) for name in lacking())}")
            return
        self._batches += len(scored)
        batches = "1 batch" if len(scored) == 1 else f"{len(scored)} batches"
        self._say(f"  {counted(watch.events[part.suite.name], 'report event')} for {batches}; the final ones:")
        for name in sorted(scored):
            self._say(visible(f"    {watch.reports[name].text}"))

    async def _compare(self, part: Part, live: Live, results: Sequence[ScoreResult], files: FromFiles) -> None:
        """The live results against those of the files and the samples' purpose, the stored report against that of the files."""
        problems = compare_results(part, results, files)
        reported: list[Reported] = []
        try:
            reported, differing = await asyncio.to_thread(compare_reports, part, live.store_url, files)
            problems += differing
        except ConfigError as error:
            problems.append(str(error))
        self.problems += [f"{part.suite.name}: {problem}" for problem in problems]
        if not problems:
            within = f" within {part.samples.tolerance:g}" if part.samples.tolerance else ""
            expected = "; each sample got what it was written for" if part.samples.unexpected(()) else ""
            self._say(f"  The same files, scored here: {counted(len(files.results), 'result')} equal to the live ones{within}, and equal reports{expected}.")
        if reported:
            largest = f", the largest of {len(reported)}" if len(reported) > 1 else ""
            self._say(f"  The report from the store{largest} (some samples are written to fail):\n")
            self._write(part, reported[0], files.facts.generated_at)

    def _write(self, part: Part, reported: Reported, now: datetime) -> None:
        """Show a report, and leave it behind as Markdown and JSON."""
        options = LayoutOptions(part.suite.verdict(reported.report, None))
        text = "".join(lay_out(part.suite, reported.report, "console", options))
        if text.count("\n") > LINES_SHOWN_MAX:
            text = "".join(console_pieces(reported.view, options))
        self._say(text.rstrip())
        for form in ("markdown", "json"):
            path = report_path(self._directory(part), reported.concern or "samples", form, now, title=part.suite.title or part.suite.name)
            write_whole(path, "".join(lay_out(part.suite, reported.report, form, options)))
            self._written.append(path)

    async def _settled(self, part: Part, live: Live) -> Reconciliation:
        """Reconcile once the worker has committed and the projector has caught up; the last verdict where they do not."""
        question = Question(part.suite.name, live.settings.topics.inputs(part.suite.topics), drained=True, wait_s=SETTLED_TIMEOUT_S)
        store = await asyncio.to_thread(ResultStore.open, live.store_url)
        try:
            deadline = time.monotonic() + SETTLED_TIMEOUT_S
            while True:
                account = await reconcile(live.settings, store, question)
                if account.closes or time.monotonic() > deadline:
                    return account
                await asyncio.sleep(SETTLED_POLL_S)
        finally:
            store.close()

    def _check(self, part: Part, account: Reconciliation, events: int) -> None:
        """Say what the reconciliation found."""
        scored = sum(one.scored for one in account.partitions)
        consumed = sum(one.consumed for one in account.partitions)
        others = sum(sum(counts.values()) for one in account.partitions for counts in (one.skipped, one.shed, one.dead))
        others += sum(size(one.expired) for one in account.partitions)
        verdict = "closes" if account.closes else "does NOT close"
        count = counted(len(account.partitions), "partition")
        self._say(f"  Account of {part.suite.name} over {count}: {consumed} consumed = {scored} scored + {others} skipped, shed, dead or expired; it {verdict}")
        if not account.closes or scored != events:
            self.problems.append(f"the account of {part.suite.name} does not close over {counted(events, 'event')}; see `touchstone reconcile`")

    async def _close_accounts(self, parts: Sequence[Part], live: Live) -> None:
        """Reconcile the suites that have met other suites' events since."""
        topics = [set(live.settings.topics.inputs(part.suite.topics)) for part in parts]
        again = [part for place, part in enumerate(parts) if any(topics[place] & later for later in topics[place + 1 :])]
        if again:
            self._say("\nAt the end, with what came for other suites on the same topics:")
        for part in again:
            self._check(part, await self._settled(part, live), self._expected(part, live))

    async def _while_up(self, live: Live, work: Awaitable[T]) -> T:
        """Wait for something for as long as every process runs. Raises `ConfigError` for one that ends."""
        doing, failing = asyncio.ensure_future(work), asyncio.create_task(live.failure())
        both: set[asyncio.Future[object]] = {doing, failing}  # type: ignore[arg-type]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                return doing.result()
            raise ConfigError(failing.result())
        finally:
            doing.cancel()
            failing.cancel()
            await asyncio.gather(failing, return_exceptions=True)


def _is_final(report: Sighting, count: int) -> bool:
    return bool(report.facts["final"]) and report.facts["summary"]["total_cases"] == count


def _since(begun: float) -> str:
    return f"{time.monotonic() - begun:.1f} s"


async def run_demo(settings: Settings, runner: str, report_dir: Path | None, say: Say, *, keep: bool = False) -> list[str]:
    """Run the demo; returns what does not add up, which should be nothing. `keep`: the page stays up until a signal."""
    demo = Demo(settings, runner, report_dir, say, keep=keep)
    await demo.run()
    return list(demo.problems)
