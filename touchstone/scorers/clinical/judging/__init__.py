"""The clinical judge: a language model rates the clinical coherence of a trace, which completes its overall score. See docs/clinical-judge.md.

Importing this package loads no table and no client; building a scorer loads the client.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from touchstone.schemas.judging import JudgeRequest
from touchstone.schemas.reports.clinical import ClinicalEvent
from touchstone.schemas.result import Problem
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import AsksJudge, Document, Found, Lacking
from touchstone.scorers.clinical.batch import group
from touchstone.scorers.clinical.judging import samples
from touchstone.scorers.clinical.judging.careful_answer import careful_answer
from touchstone.scorers.clinical.judging.settings import DOCUMENT_NAME, ENV_PREFIX, CoherenceSettings, fingerprint, resolve
from touchstone.scorers.clinical.judging.verdicts import DIMENSIONS
from touchstone.scorers.clinical.patient import identity_of
from touchstone.scorers.clinical.samples import samples as traces
from touchstone.scorers.clinical.trace_files import read_for_stage
from touchstone.scorers.judges.ask.tally import STATES, JudgeTally
from touchstone.scorers.reporting import Column, SuiteReport, Table
from touchstone.scorers.suite import Suite

if TYPE_CHECKING:
    from touchstone.schemas.case import Case
    from touchstone.schemas.reading import CaseReading
    from touchstone.schemas.result import ScoreResult
    from touchstone.scorers.clinical.judging.scorer import CoherenceScorer

NAME = "clinical_judge"
VERSION = "1.1"
METRICS = ("overall", "format", "terminology", "clinical", *(f"clinical_{name}" for name in DIMENSIONS))


#: State of a trace in the details of its result → its row.
_STATES = {**STATES, "fail": "failed already", "unreadable": "not readable", "invalid": "not valid", "not_validated": "not validated"}


def read(document: Document, settings: CoherenceSettings) -> Iterable[Found | Problem] | None:
    """The traces of a file, with a problem in place of each invalid one; None for a file of requests, which are case JSON."""
    return read_for_stage(document, settings.validators, "judge_request")


def build(settings: CoherenceSettings) -> CoherenceScorer:
    """The scorer, with a client of its judge if one can be asked. Raises `ConfigError`."""
    from touchstone.scorers.clinical.judging.scorer import CoherenceScorer

    if not settings.judge.is_usable:
        return CoherenceScorer(None, settings, NAME, VERSION)
    from touchstone.scorers.judges.serve import open_judge

    return CoherenceScorer(open_judge(settings.judge, suite=NAME), settings, NAME, VERSION)


def notes(settings: CoherenceSettings) -> Iterator[str]:
    """One line: the model that is asked, or why none is."""
    if settings.judge.is_usable:
        yield f"judge: {settings.judge.model}"
    else:
        yield Lacking(f"Clinical is missing from every result: {settings.judge.why_unusable}")


def tables(report: SuiteReport) -> Iterator[Table]:
    """What the judge was asked and what that cost."""
    tally = JudgeTally()
    for result in report.results:
        tally.add(result.details)
    yield tally.table("traces", _STATES)


def reading(case: Case | None, result: ScoreResult) -> CaseReading:
    """How a request, or a trace, reads beside its result, as in the suite of the validators."""
    from touchstone.scorers.clinical.reading.case_reading import read_case

    return read_case(case, result, SUITE.case_name(result))


SUITE = Suite(
    name=NAME,
    version=VERSION,
    title="Clinical judge",
    topics=("judge",),
    # The request first: on topics a trace belongs to the validators, so this suite takes traces from files only.
    cases={"judge_request": JudgeRequest, "trace": ProductionTrace},
    resolve=resolve,
    build=build,
    fingerprint=fingerprint,
    document_name=DOCUMENT_NAME,
    env_prefix=ENV_PREFIX,
    requires={"openai": "judge", "aiolimiter": "judge"},
    notes=notes,
    execution="window",
    judged=AsksJudge(
        is_on=lambda settings: settings.judge.is_usable,
        env={"COHERENCE_JUDGE_ENABLED": "true"},
        env_of_all={"CLINICAL_JUDGE_STOP_AT": "nothing", "CLINICAL_JUDGE_SAMPLE_RATE": "1"},
        samples=traces,
        answer=careful_answer,
    ),
    window_cases=200,  # the last one waits for the others' answers and must have its own within worker.score_timeout_s
    read=read,
    columns=tuple(Column(name, name.capitalize(), places=1) for name in METRICS[:4]),
    tables=tables,
    metrics=METRICS,
    patient=identity_of,
    reading=reading,
    value_max=100.0,
    group=group,
    event_model=ClinicalEvent,
    samples=samples.samples,
)

__all__ = ["METRICS", "NAME", "SUITE", "VERSION", "CoherenceSettings", "build", "fingerprint", "resolve"]
