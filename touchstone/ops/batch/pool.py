"""Sources scored in several processes; the same entries in the same order. A lost process costs at most the file that it was scoring."""

import asyncio
import os
import pickle
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from typing import Any, Final

from touchstone.ops.batch.cases import Admit, BatchCase, cases_of
from touchstone.ops.batch.executor import scored
from touchstone.ops.batch.packing import Packed, packed
from touchstone.ops.batch.reading import BOUNDS
from touchstone.ops.batch.sources import Source
from touchstone.ops.batch.worst import WorstCases
from touchstone.schemas.result import FileRef, Problem
from touchstone.schemas.settings.house import FilesSettings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.defects import defect_in
from touchstone.scorers.process import calm_collector, end_with_parent
from touchstone.scorers.registry import load_suite
from touchstone.scorers.scoring import SCORE_TIMEOUT_S, Scoring

#: Chunks that wait for each process, beyond the one it works on: enough that none is idle, and little is held.
AHEAD_PER_JOB: Final = 4
#: Files, and bytes, after which a chunk is handed to a process.
CHUNK_FILES_MAX: Final = 32
CHUNK_BYTES: Final = 262_144
_LOST: Final = "the process that scored it was lost (out of memory?); try it alone"
Chunk = list[Source]
#: Entries of a chunk, packed: the process that asked need not read them to keep them. None: a record that was not asked for.
Judged = list[Packed | None]
_Answer = Future[Judged] | Judged


@dataclass(frozen=True, slots=True)
class Work:
    """Everything that a process needs to score; it is sent to each process. `most`: how many of the worst cases come back with their results."""

    suite: str
    settings: Any
    admit: Admit | None = None
    files: FilesSettings = BOUNDS
    score_timeout_s: float = SCORE_TIMEOUT_S
    most: int = 0


async def score_sources(chunk: Iterable[Source], scoring: Scoring, work: Work, worst: WorstCases | None = None) -> Judged:
    """The entries of some sources. `worst`: of this process until now; a case that enters them comes back with its entry."""
    entries: Judged = []
    passed_over = 0

    def cases() -> Iterator[Any]:
        nonlocal passed_over
        for source in chunk:
            for case in cases_of(source, scoring.suite, scoring.settings, work.admit, work.files):
                if case is None:
                    passed_over += 1
                    continue
                if worst is not None and isinstance(case, BatchCase):
                    worst.given(case)
                yield case

    async for entry in scored(cases(), scoring):
        one = packed(entry)
        kept = worst.add(entry) if worst is not None else None
        entries.append(one if kept is None else one._replace(kept=kept))
    entries.extend([None] * passed_over)
    return entries


def in_processes(sources: Iterable[Source], scoring: Scoring, work: Work, jobs: int) -> Iterator[Packed | None]:
    """Every entry in order, with a bounded number of files under way. Raises `ConfigError` if the other processes cannot score."""
    pool = _Pool(work, jobs)
    here = WorstCases(scoring.suite, work.most) if work.most else None
    waiting: deque[tuple[Chunk, _Answer]] = deque()
    try:
        for chunk in _chunks(sources):
            # Standard input is this process's own.
            own = chunk[0].is_standard_input
            waiting.append((chunk, asyncio.run(score_sources(chunk, scoring, work, here)) if own else pool.submit(chunk)))
            if len(waiting) > jobs * AHEAD_PER_JOB:
                yield from _first(waiting, pool)
        while waiting:
            yield from _first(waiting, pool)
    except BaseException:  # Ctrl-C, or a caller that wants no more
        pool.end()
        raise
    finally:
        pool.close()


def _chunks(sources: Iterable[Source]) -> Iterator[Chunk]:
    """Small files together, because handing one over costs more than scoring it; large ones alone, so that no process waits for another at the end."""
    chunk: Chunk = []
    size = 0
    for source in sources:
        if source.is_standard_input:
            if chunk:
                yield chunk
            yield [source]
            chunk, size = [], 0
            continue
        chunk.append(source)
        size += source.size()
        if len(chunk) >= CHUNK_FILES_MAX or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _first(waiting: deque[tuple[Chunk, _Answer]], pool: "_Pool") -> Judged:
    """The entries of the files that wait longest."""
    chunk, answer = waiting.popleft()
    if isinstance(answer, list):
        return answer
    try:
        return answer.result()
    except BrokenProcessPool:
        pool.is_broken = True
        judged = [entry for source in chunk for entry in _alone(source, pool)]
        # The others were lost with it; each begins again.
        again = [(other, later if isinstance(later, list) or _is_done(later) else pool.submit(other)) for other, later in waiting]
        waiting.clear()
        waiting.extend(again)
        return judged


def _alone(source: Source, pool: "_Pool") -> Judged:
    """One file with no other under way, so that a process that is lost now was scoring it."""
    if pool.is_broken:
        pool.renew()
    try:
        return pool.submit([source]).result()
    except BrokenProcessPool:
        pool.renew()
        return [packed(Problem(source=FileRef(file=source.file), what=_LOST, kind="unreadable"))]


def _is_done(future: Future[Judged]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


class _Pool:
    """Processes, each with a scorer of its own; they ignore Ctrl-C, which this process handles, and end with it."""

    def __init__(self, work: Work, jobs: int) -> None:
        self._jobs = jobs
        self._others = {process.pid for process in active_children()}
        try:
            self._work = pickle.dumps(work)
        except Exception as error:  # noqa: BLE001  # whatever the settings' own code raises; its message may quote them
            what = f"the settings of suite {work.suite} cannot be sent to other processes ({type(error).__name__})"
            raise ConfigError(f"{what}; score in one process: --jobs 1") from None
        self._pool, self.is_broken = self._opened(), False

    def submit(self, chunk: Chunk) -> Future[Judged]:
        """Begin some files."""
        try:
            with _uninterrupted():
                return self._pool.submit(_score_here, chunk)
        except BrokenProcessPool as error:
            # Reported where the result is asked for, as when the process is lost later.
            broken: Future[Judged] = Future()
            broken.set_exception(error)
            self.is_broken = True
            return broken

    def renew(self) -> None:
        """New processes in place of lost ones."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool, self.is_broken = self._opened(), False

    def end(self) -> None:
        """End the processes at once: nobody wants what is under way, and the file at hand may take minutes."""
        for process in active_children():
            if process.pid not in self._others:
                process.terminate()

    def close(self) -> None:
        """End the processes once what is under way is done."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _opened(self) -> ProcessPoolExecutor:
        # Spawned, not forked: a fork would copy whatever threads hold at that moment.
        return ProcessPoolExecutor(self._jobs, mp_context=get_context("spawn"), initializer=_open_scorer, initargs=(self._work, os.getpid()))


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Processes that start here are never interrupted by Ctrl-C, not even before they can say so themselves; one for this process comes a moment later."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


#: The scorer of this process; or why there is none, which no other process would change.
_here: tuple[Scoring, Work, WorstCases | None] | str | None = None


def _open_scorer(sent: bytes, parent: int) -> None:
    """Make a process ready. Its scorer is kept in this module. A failure is reported with the first files: raised here, it would only break the pool."""
    global _here  # noqa: PLW0603  # a process of a pool is initialised this way or not at all
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(parent)
    try:
        work: Work = pickle.loads(sent)  # noqa: S301  # from the process that started this one
        suite = load_suite(work.suite)
        _here = Scoring(suite, work.settings, timeout_s=work.score_timeout_s), work, WorstCases(suite, work.most) if work.most else None
    except ConfigError as error:
        _here = str(error)
    except Exception as error:  # noqa: BLE001  # a defect of the suite, whose message may quote its settings
        _here = f"the scorer cannot be built in a process of its own ({defect_in(None, error)}); score in one process: --jobs 1"
    calm_collector()


def _score_here(chunk: Chunk) -> Judged:
    """Some files, in a process of a pool."""
    assert _here is not None
    if isinstance(_here, str):
        raise ConfigError(_here)
    return asyncio.run(score_sources(chunk, *_here))
