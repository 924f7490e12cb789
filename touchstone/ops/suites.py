"""Composes a suite: entry point + environment + document → a scorer that is ready to run."""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from touchstone.ops.json_documents import read_document, read_document_if_present
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import ConfigError, Scorer, Warmed
from touchstone.scorers.identity import config_digest
from touchstone.scorers.registry import known_signatures, load_suite, suite_entry_points
from touchstone.scorers.suite import Suite
from touchstone.streams.intake.scoring import PlannedSuite, RunningSuite
from touchstone.streams.wire.codec import Codec

#: How many slices a suite's bounded window is cut into: a result waits for its slice, so slices of slow cases are small.
SLICES = 16


def suite_settings(suite: Suite, *, env: Mapping[str, str] | None = None, directory: Path | None = None) -> BaseModel:
    """The suite's settings from the environment and its optional document. Raises `ConfigError`."""
    return suite.resolve(os.environ if env is None else env, read_suite_document(suite, directory))


def read_suite_document(suite: Suite, directory: Path | None = None) -> dict[str, Any] | None:
    """The suite's JSON document in a directory (the working directory by default); None where there is none."""
    if suite.document_name is None:
        return None
    return read_document_if_present((directory or Path()) / suite.document_name)


def suite_settings_for_files(suite: Suite, config: Path | None = None, switches: Mapping[str, bool] | None = None) -> BaseModel:
    """The settings of a command on files: from the file named, else the suite's own document. Raises `ConfigError`.

    `switches`: settings that many suites have under the same name, as the command line gives them.
    """
    settings = suite_settings(suite) if config is None else suite.resolve(os.environ, read_document(config))
    for name in switches or {}:
        if not isinstance(getattr(settings, name, None), bool):
            raise ConfigError(f"--{name}: the suite {suite.name} has no setting {name}; leave the option out")
    return settings.model_copy(update=dict(switches or {}))


def why_not_here(name: str) -> str | None:
    """Why a suite cannot run in this environment, and what to install; None where it can."""
    if name not in suite_entry_points():
        return f"the suite {name} is not installed; install touchstone-stream again"
    try:
        suite = load_suite(name)
    except ConfigError as error:
        return str(error)
    return missing_libraries(suite.requires)


def missing_libraries(requires: Mapping[str, str]) -> str | None:
    """What to install where modules are missing; None where all are there. `requires`: module, or `a|b` where one of them is enough → extra that brings it."""
    missing = {extra for modules, extra in requires.items() if all(find_spec(module) is None for module in modules.split("|"))}
    return f"its libraries are missing; install touchstone-stream[{','.join(sorted(missing))}]" if missing else None


def planned_suite(name: str, settings: Settings) -> PlannedSuite:
    """The suite configured, its scorer not built yet. Raises `ConfigError`."""
    suite = load_suite(name)
    own = suite_settings(suite)
    signatures = known_signatures()
    codec = Codec(suite.cases, signatures, settings.worker.event_bytes_max, signatures)
    digest = config_digest(suite.fingerprint(own))

    hands_on = suite.hands_on(own) if suite.hands_on is not None else ()

    def build() -> RunningSuite:
        scorer = _ready(suite, own)
        notes = tuple(suite.notes(own)) if suite.notes is not None else ()
        inline = suite.execution_with(own) == "inline"
        return RunningSuite(suite.name, suite.version, digest, scorer, codec, inline, suite.value_max, suite.metrics, notes, hands_on)

    return PlannedSuite(suite.name, suite.version, build, suite.metrics, hands_on)


def _ready(suite: Suite, own: BaseModel) -> Scorer[Any]:
    """The suite's scorer, with everything loaded that a first case would wait for."""
    scorer = suite.build(own)
    if isinstance(scorer, Warmed):
        scorer.warm()
    return scorer


def running_suite(name: str, settings: Settings) -> tuple[RunningSuite, tuple[str, ...]]:
    """The suite ready to score, and its input topics. Raises `ConfigError`."""
    return planned_suite(name, settings).build(), settings.topics.inputs(load_suite(name).topics)


def paced(suite: Suite, settings: Settings) -> Settings:
    """The settings with the window that the suite asks for, where neither file, environment nor command line sets one.

    A case that takes seconds must not wait behind thousands: at a shutdown what is in flight is finished or replayed. Raises `ConfigError`.
    """
    wanted = suite.window_with(suite_settings(suite)) if suite.judged is not None else suite.window_cases
    given = settings.worker.model_fields_set
    if wanted is None:
        return settings
    defaults = {"window_records": wanted, "slice_records": max(1, wanted // SLICES)}
    return settings.model_copy(update={"worker": settings.worker.model_copy(update={name: defaults[name] for name in defaults.keys() - given})})
