"""The state of a run on disk: its finished tests, so that a stopped run can be resumed."""

import hashlib
import json
import os
import re
import weakref
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from touchstone.ops.evaluation.items import Item
from touchstone.ops.reports.files import write_whole
from touchstone.schemas.base import Outbound
from touchstone.schemas.reports.evaluation import EvaluatedCase
from touchstone.scorers.base import ConfigError

RUNS: Final = "runs"
TRACES: Final = "traces"
_RUN: Final = "run.json"
#: Locked by the process that runs it for as long as it lives; the file's content means nothing.
_LOCK: Final = "lock"
_RUN_ID: Final = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
#: Largest state file that is read.
_STATE_BYTES_MAX: Final = 64 * 1024 * 1024


class RunFile(Outbound):
    """A run. `identity`: digest of its tests, system and scoring; only a run of the same identity is resumed."""

    run_id: str
    identity: str
    started_at: datetime
    finished: bool = False


def identity_of(items: Sequence[Item], **asked: Any) -> str:
    """The digest of a run: its tests with prompts and minimum scores, and everything else (`asked`) that decides the outcome."""
    told: Mapping[str, Any] = {"items": [[one.id, one.prompt, dict(one.minimum), *([dict(one.modes)] if one.modes else [])] for one in items], **asked}
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:32]


class RunState:
    """One run below the output directory: `runs/<run id>/run.json`, and a file for each finished test. Each file is complete or absent."""

    def __init__(self, output: Path, run: RunFile) -> None:
        self.output = output
        self.run = run
        self._folder = output / RUNS / run.run_id
        self._release: weakref.finalize[Any, Any] | None = None

    @classmethod
    def new(cls, output: Path, identity: str) -> "RunState":
        """A run that begins now. Raises `ConfigError` if it cannot be written."""
        now = datetime.now(UTC)
        state = cls(output, RunFile(run_id=f"{now:%Y%m%d-%H%M%S}-{os.urandom(3).hex()}", identity=identity, started_at=now))
        state._hold()
        state._write(state.run)
        return state

    @classmethod
    def unfinished(cls, output: Path, identity: str) -> "RunState | None":
        """The newest run of this identity that has not finished; None if there is none. Raises `ConfigError` if another process runs it."""
        folder = output / RUNS
        names = sorted((path.name for path in folder.iterdir() if _RUN_ID.fullmatch(path.name)), reverse=True) if folder.is_dir() else []
        for name in names:
            run = _read(folder / name / _RUN, RunFile)
            if run is not None and run.run_id == name and run.identity == identity and not run.finished:
                state = cls(output, run)
                state._hold()
                if (now := _read(folder / name / _RUN, RunFile)) is None or not now.finished:
                    return state
                state.release()  # another process finished it a moment ago
        return None

    @property
    def run_id(self) -> str:
        """The name of the run."""
        return self.run.run_id

    def trace_id(self, item: Item) -> str:
        """The id of a test's trace: the same if the run is resumed."""
        return f"eval-{self.run.started_at:%Y-%m-%d}-{self.run.run_id[-6:]}-{item.id}"

    def finished_cases(self) -> dict[str, EvaluatedCase]:
        """The finished tests; a test that was not evaluated is not finished. A file that cannot be read counts as missing."""
        found = (_read(path, EvaluatedCase) for path in sorted(self._folder.glob("*.json")) if path.name != _RUN)
        return {case.case_id: case for case in found if case is not None and not case.failures}

    def keep(self, case: EvaluatedCase) -> None:
        """Keep a test that is done. Raises `ConfigError` if it cannot be written."""
        write_whole(self._folder / f"{case.case_id}.json", case.model_dump_json(indent=2) + "\n")

    def release(self) -> None:
        """Let other processes resume the run. Repeating it is harmless; the end of the process does it too."""
        if self._release is not None:
            self._release()

    def end(self) -> None:
        """Mark the run as finished."""
        self.run = self.run.model_copy(update={"finished": True})
        self._write(self.run)

    def _hold(self) -> None:
        """Lock the run against other processes. Raises `ConfigError` if another has the lock; a system without file locks locks nobody out."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o644)
        except OSError as error:
            raise ConfigError(f"{self._folder}: cannot be made ({error.strerror}); set --output to a directory that can be written") from None
        self._release = weakref.finalize(self, os.close, lock)
        if _is_anothers(lock):
            self.release()
            raise ConfigError(f"{self._folder}: another process is at this run; wait until it has ended, or leave --resume out, which begins a new one")

    def _write(self, run: RunFile) -> None:
        write_whole(self._folder / _RUN, run.model_dump_json(indent=2) + "\n")


def _read(path: Path, model: type[Any]) -> Any:
    try:
        with path.open("rb") as stream:
            return model.model_validate_json(stream.read(_STATE_BYTES_MAX))
    except (OSError, ValidationError):
        return None


def _is_anothers(lock: int) -> bool:
    """Take the lock of an open file, until it is closed or the process ends. True if another process has it; False on systems without file locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    return False
