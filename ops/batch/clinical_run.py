"""A run over clinical files: one after the other, or in several processes; the same entries in the same order."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Final

from touchstone.ops.batch.clinical_files import STANDARD_INPUT, ClinicalFile
from touchstone.ops.batch.clinical_scoring import failed, judge_file
from touchstone.schemas.reports.clinical import JudgedFile
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.settings import ClinicalSettings
from touchstone.streams.process.garbage_collection import calm_collector
from touchstone.streams.process.parent import end_with_parent

#: Chunks that wait for each process, beyond the one it works on: enough that none is idle, and little is held.
AHEAD_PER_JOB: Final = 4
#: Files, and bytes, after which a chunk is handed to a process.
CHUNK_FILES_MAX: Final = 32
CHUNK_BYTES: Final = 262_144
Chunk = list[ClinicalFile]
_Answer = Future[list[JudgedFile]] | list[JudgedFile]
_LOST: Final = "the process that validated it was lost (out of memory?); try it alone"


def judge_files(files: Iterable[ClinicalFile], settings: ClinicalSettings, jobs: int = 1) -> Iterator[JudgedFile]:
    """An entry per file, in order. Opens the validator before the first file; raises `ConfigError` for settings that cannot be used."""
    # Here too with several processes: a setting that is wrong is one clear line of this one.
    validator = DocumentValidator(settings)
    if jobs <= 1:
        calm_collector()
        for file in files:
            yield judge_file(file, validator, settings)
    else:
        yield from _in_processes(files, validator, settings, jobs)


def _in_processes(files: Iterable[ClinicalFile], validator: DocumentValidator, settings: ClinicalSettings, jobs: int) -> Iterator[JudgedFile]:
    """The same in `jobs` processes, with a bounded number of files under way. A lost process costs at most the file that it was lost over."""
    pool = _Pool(settings, jobs)
    waiting: deque[tuple[Chunk, _Answer]] = deque()
    try:
        for chunk in _chunks(files):
            # Standard input is this process's own.
            own = chunk[0].path == STANDARD_INPUT
            waiting.append((chunk, [judge_file(chunk[0], validator, settings)] if own else pool.submit(chunk)))
            if len(waiting) > jobs * AHEAD_PER_JOB:
                yield from _first(waiting, pool)
        while waiting:
            yield from _first(waiting, pool)
    finally:
        pool.close()


def _chunks(files: Iterable[ClinicalFile]) -> Iterator[Chunk]:
    """Small files together, for handing one over costs more than validating it; large ones alone, so that no process waits for another at the end."""
    chunk: list[ClinicalFile] = []
    size = 0
    for file in files:
        if file.path == STANDARD_INPUT:
            if chunk:
                yield chunk
            yield [file]
            chunk, size = [], 0
            continue
        chunk.append(file)
        size += file.size()
        if len(chunk) >= CHUNK_FILES_MAX or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _first(waiting: deque[tuple[Chunk, _Answer]], pool: _Pool) -> list[JudgedFile]:
    """The entries of the files that wait longest."""
    chunk, answer = waiting.popleft()
    if isinstance(answer, list):
        return answer
    try:
        return answer.result()
    except BrokenProcessPool:
        pool.is_broken = True
        judged = [_alone(file, pool) for file in chunk]
        # The others were lost with it; each begins again.
        again = [(other, later if isinstance(later, list) or _is_done(later) else pool.submit(other)) for other, later in waiting]
        waiting.clear()
        waiting.extend(again)
        return judged


def _alone(file: ClinicalFile, pool: _Pool) -> JudgedFile:
    """One file with no other under way, so that a process that is lost now was lost over it."""
    if pool.is_broken:
        pool.renew()
    try:
        return pool.submit([file]).result()[0]
    except BrokenProcessPool:
        pool.renew()
        return failed(file, _LOST)


def _is_done(future: Future[list[JudgedFile]]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


class _Pool:
    """Processes, each with a validator of its own; they ignore Ctrl-C, which is this process's to answer, and end with it."""

    def __init__(self, settings: ClinicalSettings, jobs: int) -> None:
        self._settings, self._jobs = settings, jobs
        self._pool, self.is_broken = self._opened(), False

    def submit(self, chunk: Chunk) -> Future[list[JudgedFile]]:
        """Begin some files."""
        try:
            return self._pool.submit(_judge_here, chunk)
        except BrokenProcessPool as error:
            # Told where the result is asked for, as when the process is lost later.
            broken: Future[list[JudgedFile]] = Future()
            broken.set_exception(error)
            self.is_broken = True
            return broken

    def renew(self) -> None:
        """New processes in place of lost ones."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool, self.is_broken = self._opened(), False

    def close(self) -> None:
        """End the processes; what is under way is not waited for beyond the file at hand."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _opened(self) -> ProcessPoolExecutor:
        # Spawned, not forked: a fork would copy whatever threads hold at that moment.
        return ProcessPoolExecutor(self._jobs, mp_context=get_context("spawn"), initializer=_open_validator, initargs=(self._settings, os.getpid()))


_validator: DocumentValidator | None = None
_settings = ClinicalSettings()


def _open_validator(settings: ClinicalSettings, parent: int) -> None:
    """Make a process ready. It has nothing but this module to keep its validator in."""
    global _validator, _settings  # noqa: PLW0603  # a process of a pool is initialised this way or not at all
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(parent)
    _settings = settings
    _validator = DocumentValidator(settings)
    calm_collector()


def _judge_here(chunk: Chunk) -> list[JudgedFile]:
    """Some files, in a process of a pool."""
    assert _validator is not None
    return [judge_file(file, _validator, _settings) for file in chunk]
