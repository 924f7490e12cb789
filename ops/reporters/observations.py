"""A ready observer for SAFE v0 §8.1: observations as JSON lines in a file."""

from pathlib import Path
from types import TracebackType
from typing import Self

from schemas.report import SafeV0Observation
from scorers.base import ConfigError


class JsonLinesObserver:
    """Appends one line per observation: `test_id`, `scores`, `label`, `timestamp`. Use as a context manager.

    Opening raises `ConfigError` where the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._stream = path.open("a", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written ({error.strerror}); check --observations") from None

    def __call__(self, observation: SafeV0Observation) -> None:
        """Append one observation."""
        self._stream.write(observation.model_dump_json() + "\n")

    def __enter__(self) -> Self:
        """The observer itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Flush and close."""
        self._stream.close()
