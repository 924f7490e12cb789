"""SAFE v0: three deterministic metrics over a case's own expectations. See docs/safe.md."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from touchstone.schemas.case import SafeCase
from touchstone.schemas.reports.safe import SafeV0Event, SafeV0JsonReport
from touchstone.scorers.base import AsksJudge, Lacking, Place, Samples
from touchstone.scorers.safe import checkup, layout, view
from touchstone.scorers.safe.fingerprint import fingerprint
from touchstone.scorers.safe.judging.careful_answer import careful_answer
from touchstone.scorers.safe.reading import reading
from touchstone.scorers.safe.scorer import NAME, VERSION, SafeScorer
from touchstone.scorers.safe.settings import DOCUMENT_NAME, ENV_PREFIX, METRICS, SafeSettings, resolve
from touchstone.scorers.suite import Suite


def build(settings: SafeSettings) -> SafeScorer:
    """The scorer of the settings, with a client for its judge where one is to be asked and there is one. Raises `ConfigError`."""
    if not settings.ah_judge:
        return SafeScorer(settings)
    from touchstone.scorers.judges.serve import open_judge
    from touchstone.scorers.safe.judging.harm_judging import HarmJudging

    judge = open_judge(settings.judge, suite=NAME) if settings.judge.is_usable else None
    return SafeScorer(settings, HarmJudging(judge, settings, NAME))


def notes(settings: SafeSettings) -> Iterator[str]:
    """Which judge is asked, or why none is."""
    if settings.ah_judge:
        yield f"judge: {settings.judge.model}" if settings.judge.is_usable else Lacking(f"no follow-up question is judged: {settings.judge.why_unusable}")


def complete(record: dict[str, Any], place: Place) -> dict[str, Any]:
    """A case with the concern and batch of its place, where it names none. Raises `ValueError` if it contradicts its folder."""
    for key, default in (("concern_id", place.folder), ("batch_id", place.name)):
        if record.get(key) is None and default is not None:
            record[key] = default
    if place.fixed and record["concern_id"] != place.folder:
        raise ValueError("names another concern than its directory; move the file or correct concern_id")
    return record


def samples() -> Samples:
    """Batches laid out as `--data` wants them: `<concern_id>/<batch_id>.json|jsonl`. They are invented, so a report may quote them; no judge is asked."""
    return Samples((Path(__file__).parent / "samples",), env={f"{ENV_PREFIX}QUOTE": "true", f"{ENV_PREFIX}AH_JUDGE": "off"})


SUITE = Suite(
    name=NAME,
    version=VERSION,
    title="SAFE v0",
    topics=("generations",),
    cases={"safe": SafeCase},
    resolve=resolve,
    build=build,
    fingerprint=fingerprint,
    document_name=DOCUMENT_NAME,
    env_prefix=ENV_PREFIX,
    notes=notes,
    execution="inline",
    judged=AsksJudge(
        is_on=lambda settings: settings.ah_judge and settings.judge.is_usable,
        env={f"{ENV_PREFIX}AH_JUDGE": "on"},
        env_of_all={f"{ENV_PREFIX}AH_JUDGE_SAMPLE_RATE": "1"},
        samples=samples,
        answer=careful_answer,
    ),
    complete=complete,
    columns=view.COLUMNS,
    reading=reading,
    metrics=(*METRICS, "composite"),
    overall="composite",
    mixes_concerns=False,
    report=view.report,
    verdict=view.verdict,
    view=view.view,
    event_model=SafeV0Event,
    report_model=SafeV0JsonReport,
    reported_cases=view.cases_of,
    layouts={"console": layout.console_pieces, "json": view.json_pieces},
    report_type="safe:v0:result",
    samples=samples,
    doctor=checkup.doctor,
)
