"""The history and the archive with as many cases as asked for: lists, searches, counts, a comparison, text search, reindexing and removal.

Beside each figure is the same one of a history a tenth as large, so that one sees what grows and what does not. Everything is made in a temporary folder.
With --store the larger history is written into that (empty) store, PostgreSQL for example.
"""

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import psutil

from touchstone.ops.lab.bench.history.made import BEGAN, RARE, RUNS, event_id, fill_archive, fill_store
from touchstone.ops.lab.bench.output import table
from touchstone.ops.lab.bench.processes import run_apart
from touchstone.ops.lab.command import Arguments, at_least
from touchstone.ops.store.archive.archive import Archive, open_archive
from touchstone.ops.store.case_filter import CaseFilter
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.runs import run_name
from touchstone.schemas.settings.house import ArchiveSettings
from touchstone.scorers.engines.machine import machine
from touchstone.scorers.identity import deterministic_id

_TRIES: Final = 3
#: What it is → the filter of a list.
_LISTS: Final[dict[str, dict[str, Any]]] = {
    "first page, all": {},
    "label, suite and a day": {"label": ("Fail",), "suite": ("clinical",), "since": BEGAN, "until": BEGAN + timedelta(days=1)},
    "one code": {"code": ("safe.code_7",)},
    "two codes": {"code": ("safe.code_7", "safe.code_3")},
    "part of a code": {"q": "code_7"},
    "beginning of an id": {"q": "evt-0000"},
    "inside of an id": {"q": "0042"},
    "what is nowhere": {"q": "xyzzy"},
    "kept cases": {"kept": "yes"},
    "a value above a bound": {"value": ("loss>=0.9",)},
    "worst first": {"sort": "overall"},
    "worst labels first": {"sort": "label"},
}
_COUNTS: Final = ("label", "suite", "code", "model", "source", "day")


def _ms(call: Callable[[], object]) -> float:
    """The best of some tries, in milliseconds."""
    taken = []
    for _ in range(_TRIES):
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return min(taken) * 1_000


def _rss_mib() -> float:
    return float(psutil.Process().memory_info().rss / 2**20)


def measure(url: str, folder: str, cases: int) -> dict[str, str]:
    """Fill a store and an archive, and measure. Name → figure."""
    store = ResultStore.open(url, create=True)
    archive = open_archive(ArchiveSettings(url=f"file://{folder}"), CaseIndex(store.engine))
    begun = time.perf_counter()
    found = {"results": f"{fill_store(store, cases):,} in {time.perf_counter() - begun:.0f} s"}
    begun = time.perf_counter()
    found["kept"] = f"{fill_archive(archive, cases) / 2**20:,.0f} MiB in {time.perf_counter() - begun:.0f} s"
    history = History(store.engine)
    for name, wanted in _LISTS.items():
        chosen = CaseFilter(**wanted)
        found[name] = f"{_ms(lambda chosen=chosen: history.cases(chosen)):,.0f} ms"  # type: ignore[misc]
    found |= {f"counts by {by}": f"{_ms(lambda by=by: history.facets(by=by)):,.0f} ms" for by in _COUNTS}  # type: ignore[misc]
    found["runs"] = f"{_ms(history.runs):,.0f} ms"
    before, now = (run_name("safe_v0", "0.4", deterministic_id(name)[:16]) for name in RUNS)
    compared = history.compare(before, now)
    found["two runs compared"] = f"{_ms(lambda: history.compare(before, now)):,.0f} ms, {compared.pairs if compared else 0:,} pairs"
    found["every page in turn"] = _walked(history)
    found["text search, a rare word"] = _searched(archive)
    store.close()
    found["reindex into an empty store"] = run_apart(_reindexed, folder)
    return found | _removed(url, folder)


def _walked(history: History) -> str:
    """Read all pages of 50, and tell how the last ones compare with the first, and what memory did."""
    cursor, took, most = None, list[float](), 0.0
    first = _rss_mib()
    while True:
        begun = time.perf_counter()
        page = history.cases(cursor=cursor, count=False)
        took.append(time.perf_counter() - begun)
        most = max(most, _rss_mib() - first)
        cursor = page.next
        if cursor is None:
            break
    tenth = max(1, len(took) // 10)
    ratio = sorted(took[-tenth:])[tenth // 2] / sorted(took[:tenth])[tenth // 2]
    return f"{len(took):,} pages, the last take {ratio:.1f} times the first; memory +{most:.0f} MiB"


def _searched(archive: Archive) -> str:
    begun, cursor, hits, steps = time.perf_counter(), None, 0, 0
    while True:
        step = archive.search_text(CaseFilter(), RARE, cursor)
        hits, steps, cursor = hits + len(step.rows), steps + 1, step.next
        if cursor is None:
            return f"{step.searched / (time.perf_counter() - begun):,.0f} results/s, {steps} steps, {hits} found"


def _reindexed(folder: str) -> str:
    """Reindex into a new store; how fast, and how much memory it took at most beyond what the first thousand objects did."""
    with tempfile.TemporaryDirectory() as other:
        store = ResultStore.open(f"sqlite:///{other}/anew.db", create=True)
        archive = open_archive(ArchiveSettings(url=f"file://{folder}"), CaseIndex(store.engine))
        seen: list[tuple[int, float]] = []
        begun = time.perf_counter()
        counts = archive.reindex(lambda count: seen.append((count, _rss_mib())))
        taken = time.perf_counter() - begun
        begun = time.perf_counter()
        archive.reindex()
        again = time.perf_counter() - begun
        store.close()
    early = next(memory for count, memory in seen if count >= min(1_000, seen[-1][0]))
    grown = max(memory for _, memory in seen) - early
    return f"{seen[-1][0] / taken:,.0f} objects/s, memory +{grown:.0f} MiB, again in {again / taken:.2f} of the time; {counts['cases']:,} cases"


def _removed(url: str, folder: str) -> dict[str, str]:
    store = ResultStore.open(url)
    archive = open_archive(ArchiveSettings(url=f"file://{folder}"), CaseIndex(store.engine))
    kept = archive.index.counts()["kept"][0]
    found = {"retention, dry run": f"{_ms(lambda: archive.retention(keep_newest=kept // 2)):,.0f} ms"}
    begun = time.perf_counter()
    places = archive.forget(event_id(1), dry_run=False)
    found["forget one case"] = f"{(time.perf_counter() - begun) * 1_000:,.0f} ms, {len(places)} places"
    begun = time.perf_counter()
    count, _ = archive.retention(keep_newest=kept - max(1, kept // 20), dry_run=False)
    found["retention of a twentieth"] = f"{count / (time.perf_counter() - begun):,.0f} cases/s"
    store.close()
    return found


def main(arguments: Sequence[str]) -> int:
    """Measure two sizes."""
    parser = Arguments("bench history", __doc__, epilog="example: python -m touchstone.ops.lab bench history --cases 100000")
    parser.add_argument("--cases", type=at_least(100), default=100_000, help="kept cases of the larger history (default 100000)")
    parser.add_argument("--store", default="", metavar="URL", help="an empty result store for the larger history (default: SQLite in a temporary folder)")
    asked = parser.parse_args(arguments)
    columns: dict[int, dict[str, str]] = {}
    for cases in (asked.cases // 10, asked.cases):
        with tempfile.TemporaryDirectory(prefix="touchstone-history-") as made:
            url = asked.store if asked.store and cases == asked.cases else f"sqlite:///{Path(made) / 'results.db'}"
            columns[cases] = measure(url, str(Path(made) / "archive"), cases)
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}. Larger store: {(asked.store or 'sqlite').partition(':')[0]}. Best of {_TRIES}.\n")
    smaller, larger = columns.values()
    print("\n".join(table(("", *(f"{cases:,} cases" for cases in columns)), [(name, smaller[name], larger[name]) for name in larger])))
    return 0
