"""SAFE v0: three deterministic metrics over a case's own expectations. See docs/safe.md."""

from pathlib import Path
from typing import Any

from touchstone.schemas.case import SafeCase
from touchstone.schemas.reports.safe import SafeV0Event, SafeV0JsonReport
from touchstone.scorers.base import Place, Samples, Suite
from touchstone.scorers.safe import checkup, reporting
from touchstone.scorers.safe.scorer import NAME, VERSION, SafeScorer
from touchstone.scorers.safe.settings import DOCUMENT_NAME, ENV_PREFIX, METRICS, fingerprint, resolve


def complete(record: dict[str, Any], place: Place) -> dict[str, Any]:
    """A case with the concern and batch of its place, where it names none. Raises `ValueError` where it contradicts its folder."""
    for key, default in (("concern_id", place.folder), ("batch_id", place.name)):
        if record.get(key) is None and default is not None:
            record[key] = default
    if place.fixed and record["concern_id"] != place.folder:
        raise ValueError("names another concern than the directory it lies in; move it or mend concern_id")
    return record


def samples() -> Samples:
    """Batches laid out as `--data` wants them: `<concern_id>/<batch_id>.json|jsonl`. They are invented, so a report may quote them."""
    return Samples((Path(__file__).parent / "samples",), env={f"{ENV_PREFIX}QUOTE": "true"})


SUITE = Suite(
    name=NAME,
    version=VERSION,
    title="SAFE v0",
    topics=("generations",),
    cases={"safe": SafeCase},
    resolve=resolve,
    build=SafeScorer,
    fingerprint=fingerprint,
    document_name=DOCUMENT_NAME,
    env_prefix=ENV_PREFIX,
    execution="inline",
    complete=complete,
    columns=reporting.COLUMNS,
    metrics=(*METRICS, "composite"),
    mixes_concerns=False,
    report=reporting.report,
    verdict=reporting.verdict,
    view=reporting.view,
    event=reporting.event,
    event_model=SafeV0Event,
    report_model=SafeV0JsonReport,
    reported_cases=reporting.cases_of,
    layouts=reporting.LAYOUTS,
    report_type="safe:v0:result",
    samples=samples,
    doctor=checkup.doctor,
)
