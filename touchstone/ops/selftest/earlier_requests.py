"""Requests that no generator writes: those of an earlier run, and the fixed ones of the file."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from touchstone.scorers.base import ConfigError
from touchstone.scorers.json_documents import read_bounded
from touchstone.scorers.selftest.generator import Request
from touchstone.scorers.selftest.settings import Scenario, SelftestSettings

REPLAY_BYTES_MAX: Final = 64 * 1024 * 1024
#: What the judge looks for where a fixed request names nothing.
NO_HINTS: Final = "The request is answered as it was asked."


@dataclass(frozen=True, slots=True)
class Replay:
    """An earlier run: its settings, and its requests by scenario. `left_out`: scenarios of which it has no request."""

    run_id: str
    seed: int
    settings: SelftestSettings
    requests: dict[str, Request]
    left_out: tuple[str, ...]


def read_replay(path: Path) -> Replay:
    """An earlier run from its JSON report. Raises `ConfigError`."""
    data = read_bounded(path, REPLAY_BYTES_MAX, remedy="check --replay", too_large="this is no self-test report")
    try:
        document: Any = json.loads(data)
        settings = SelftestSettings.model_validate_json(json.dumps(dict(document["config"].items())))
        cases = {str(case["id"]): Request(str(case["prompt"]), str(case.get("hints") or "")) for case in document["cases"] if case.get("prompt")}
        cases |= {scenario.id: fixed for scenario in settings.scenarios if (fixed := fixed_request(scenario)) is not None}
        left_out = tuple(scenario.id for scenario in settings.scenarios if scenario.id not in cases)
        return Replay(str(document["run_id"]), int(document.get("seed") or 0), settings, cases, left_out)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):  # ValidationError is a ValueError
        raise ConfigError(f"{path}: no report that can be replayed; give a reports/selftest/<run_id>.json of touchstone selftest") from None


def fixed_request(scenario: Scenario) -> Request | None:
    """The request that the file itself holds, which is not screened: like the replies, it is the operator's own. None if it holds none."""
    return None if scenario.prompt is None else Request(scenario.prompt, scenario.hints or NO_HINTS)
