"""A suite made ready for a worker: its entry point, its settings and the worker's settings → a scorer with its codec."""

from typing import Any

from pydantic import BaseModel

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import Scorer, Warmed
from touchstone.scorers.identity import config_digest
from touchstone.scorers.registry import known_signatures, load_suite
from touchstone.scorers.suite import Suite
from touchstone.scorers.suite_settings import suite_settings
from touchstone.streams.intake.scoring import PlannedSuite, RunningSuite
from touchstone.streams.wire.codec import Codec

#: How many slices a suite's bounded window is cut into: a result waits for its slice, so slices of slow cases are small.
SLICES = 16


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
        return RunningSuite(suite.name, suite.version, digest, scorer, codec, inline, suite.value_max, suite.metrics_with(own), notes, hands_on)

    return PlannedSuite(suite.name, suite.version, build, suite.metrics_with(own), hands_on)


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
    """The settings with the window that the suite asks for, unless file, environment or command line sets one.

    A case that takes seconds must not wait behind thousands: at a shutdown, cases in flight are finished or replayed. Raises `ConfigError`.
    """
    wanted = suite.window_with(suite_settings(suite)) if suite.judged is not None else suite.window_cases
    given = settings.worker.model_fields_set
    if wanted is None:
        return settings
    defaults = {"window_records": wanted, "slice_records": max(1, wanted // SLICES)}
    return settings.model_copy(update={"worker": settings.worker.model_copy(update={name: defaults[name] for name in defaults.keys() - given})})
