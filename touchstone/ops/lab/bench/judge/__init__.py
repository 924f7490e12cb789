"""Measures the judge over a raw client, and what suites ask it."""

from touchstone.scorers.base import ConfigError

try:
    from tests.doubles.judges import JudgeProcess, JudgeServer
except ModuleNotFoundError as error:
    raise ConfigError("bench judge needs the judges' test server, which is in tests/: run it in the root of a checkout") from error

__all__ = ["JudgeProcess", "JudgeServer"]
