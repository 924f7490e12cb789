"""An observer for SAFE v0 §8.1 that writes JSON lines to a file."""

from pathlib import Path
from types import TracebackType
from typing import Self

from touchstone.schemas.reports.safe import SafeV0Observation
from touchstone.scorers.base import ConfigError


class JsonLinesObserver:
    """Appends one line per observation: `test_id`, `scores`, `label`, `timestamp`. Use as a context manager.

    Raises `ConfigError` where the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._stream = path.open("a", encoding="utf-8")
        except OSError as error:
            raise self._refused(error) from None

    def __call__(self, observation: SafeV0Observation) -> None:
        """Append one observation."""
        try:
            self._stream.write(observation.model_dump_json() + "\n")
        except OSError as error:
            raise self._refused(error) from None

    def __enter__(self) -> Self:
        """The observer itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Flush and close. If the work has already failed, its error is the one that is reported."""
        try:
            self._stream.close()
        except OSError as failed:
            if error is None:
                raise self._refused(failed) from None

    def _refused(self, error: OSError) -> ConfigError:
        """The error of a file that cannot be opened, or is full."""
        return ConfigError(f"{self._path}: cannot be written ({error.strerror}); check --observations and free space")
