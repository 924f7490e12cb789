"""A run over clinical files: one after the other, or in several processes; the same entries in the same order."""

import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Final

from ops.child import follow
from ops.clinical_files import STANDARD_INPUT, ClinicalFile
from ops.clinical_scoring import failed, judge_file
from schemas.clinical_report import JudgedFile
from scorers.clinical.documents import DocumentValidator
from scorers.clinical.settings import ClinicalSettings

#: Files that wait for each process, beyond the one it works on: enough that none is idle, and little is held.
AHEAD_PER_JOB: Final = 4
#: A file in whose stead a process was lost is tried once more, alone.
ATTEMPTS_MAX: Final = 2
_LOST: Final = "the process that validated it was lost (out of memory?); try it alone"


def judge_files(files: Iterable[ClinicalFile], settings: ClinicalSettings, jobs: int = 1) -> Iterator[JudgedFile]:
    """An entry per file, in order. Opens the validator before the first file; raises `ConfigError` for settings that cannot be used."""
    # Here too with several processes: a setting that is wrong is one clear line of this one.
    validator = DocumentValidator(settings)
    if jobs <= 1:
        for file in files:
            yield judge_file(file, validator, settings)
    else:
        yield from _in_processes(files, validator, settings, jobs)


def _in_processes(files: Iterable[ClinicalFile], validator: DocumentValidator, settings: ClinicalSettings, jobs: int) -> Iterator[JudgedFile]:
    """The same in `jobs` processes, with a bounded number of files under way. A lost process costs at most the file that it was lost over."""
    pool = _Pool(settings, jobs)
    waiting: deque[tuple[ClinicalFile, Future[JudgedFile] | JudgedFile]] = deque()
    try:
        for file in files:
            # Standard input is this process's own.
            waiting.append((file, judge_file(file, validator, settings) if file.path == STANDARD_INPUT else pool.submit(file)))
            if len(waiting) > jobs * AHEAD_PER_JOB:
                yield _first(waiting, pool)
        while waiting:
            yield _first(waiting, pool)
    finally:
        pool.close()


def _first(waiting: deque[tuple[ClinicalFile, Future[JudgedFile] | JudgedFile]], pool: "_Pool") -> JudgedFile:
    """The entry of the file that waits longest."""
    file, future = waiting.popleft()
    if isinstance(future, JudgedFile):
        return future
    try:
        return future.result()
    except BrokenProcessPool:
        judged = _alone(file, pool)
        # The others were lost with it; each begins again.
        again = [(other, later if isinstance(later, JudgedFile) or _is_done(later) else pool.submit(other)) for other, later in waiting]
        waiting.clear()
        waiting.extend(again)
        return judged


def _alone(file: ClinicalFile, pool: "_Pool") -> JudgedFile:
    """One file with no other under way, so that a process that is lost now was lost over it."""
    for _ in range(ATTEMPTS_MAX - 1):
        pool.renew()
        try:
            return pool.submit(file).result()
        except BrokenProcessPool:
            continue
    pool.renew()
    return failed(file, _LOST)


def _is_done(future: Future[JudgedFile]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


class _Pool:
    """Processes, each with a validator of its own; they ignore Ctrl-C, which is this process's to answer, and end with it."""

    def __init__(self, settings: ClinicalSettings, jobs: int) -> None:
        self._settings, self._jobs = settings, jobs
        self._pool = self._opened()

    def submit(self, file: ClinicalFile) -> Future[JudgedFile]:
        """Begin one file."""
        try:
            return self._pool.submit(_judge_here, file)
        except BrokenProcessPool as error:
            # Told where the result is asked for, as when the process is lost later.
            broken: Future[JudgedFile] = Future()
            broken.set_exception(error)
            return broken

    def renew(self) -> None:
        """New processes in place of lost ones."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._opened()

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
    threading.Thread(target=follow, args=(parent,), name="follow-parent", daemon=True).start()
    _settings = settings
    _validator = DocumentValidator(settings)


def _judge_here(file: ClinicalFile) -> JudgedFile:
    """One file, in a process of a pool."""
    assert _validator is not None
    return judge_file(file, _validator, _settings)
