"""Failure modes of generated personas: one question each, answered with pass or fail. See docs/failure-modes.md.

Code answers ten of them. A language model answers those that are folders of their own; without such a folder no client is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchstone.schemas.calibration import Basis
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import AsksJudge, ConfigError, Document, Found, Lacking
from touchstone.scorers.clinical.batch import group
from touchstone.scorers.clinical.failure_modes.judging.careful_answer import careful_answer
from touchstone.scorers.clinical.failure_modes.questions import QUESTIONS
from touchstone.scorers.clinical.failure_modes.settings import DOCUMENT_NAME, ENV_PREFIX, NAME, VERSION, FailureModeSettings, judge_names, resolve
from touchstone.scorers.clinical.patient import identity_of
from touchstone.scorers.clinical.samples import samples as traces
from touchstone.scorers.judges.ask.tally import STATES, JudgeTally
from touchstone.scorers.reporting import Column, SuiteReport, Table
from touchstone.scorers.suite import Suite

if TYPE_CHECKING:
    from touchstone.schemas.case import Case
    from touchstone.schemas.reading import CaseReading
    from touchstone.schemas.result import Problem, ScoreResult
    from touchstone.scorers.clinical.failure_modes.scorer import FailureModesScorer

#: A judge to try the suite with.
SAMPLE_JUDGES = Path(__file__).parent / "judging" / "samples"
_STATES = {**STATES, "nothing_to_read": "with nothing to read"}


def build(settings: FailureModeSettings) -> FailureModesScorer:
    """The scorer of the settings, with clients for its judges if there are any; its table loads with the first case. Raises `ConfigError`."""
    from touchstone.scorers.clinical.failure_modes.judge_folders import load_judges
    from touchstone.scorers.clinical.failure_modes.judging.standing import demoted, standings
    from touchstone.scorers.clinical.failure_modes.scorer import FailureModesScorer

    root = settings.judges.folder
    if "folder" in settings.judges.model_fields_set and not root.is_dir():
        raise ConfigError(f"{NAME}: judges.folder is set, and there is no folder {root}; make it with touchstone judges new, or unset it")
    judges = standings(load_judges(root, frozenset(QUESTIONS), settings.judges.only), settings)
    down = demoted(QUESTIONS, root)
    if not judges:
        return FailureModesScorer(settings, None, down)
    from touchstone.scorers.clinical.failure_modes.judging.asking import ModeJudging
    from touchstone.scorers.clinical.failure_modes.judging.clients import open_clients

    return FailureModesScorer(settings, ModeJudging(judges, open_clients([one.judge for one in judges], settings.judge), settings), down)


def notes(settings: FailureModeSettings) -> Iterator[str]:
    """Which judges are asked, or why none is."""
    if names := judge_names(settings):
        asked = f"{len(names)} judges: {', '.join(names)}"
        yield f"{asked}; {settings.judge.model}" if settings.judge.is_usable else Lacking(f"not asked: {asked}; {settings.judge.why_unusable}")


def fingerprint(settings: FailureModeSettings) -> dict[str, Any]:
    """The settings that change scores and labels, with what the judges' folders hold. Raises `ConfigError`."""
    from touchstone.scorers.clinical.failure_modes.fingerprint import fingerprint

    return fingerprint(settings)


def read(document: Document, settings: FailureModeSettings) -> Iterable[Found | Problem] | None:  # noqa: ARG001  # suites have one signature
    """The traces of a file, and a problem in place of each invalid one."""
    from touchstone.scorers.clinical import trace_files
    from touchstone.scorers.clinical.settings import ClinicalSettings

    return trace_files.read(document, ClinicalSettings())


def tables(report: SuiteReport) -> Iterator[Table]:
    """What each judge answered, and what all of them were asked and cost; nothing without judges."""
    tally, by_judge = JudgeTally(), dict[str, dict[str, int]]()
    for result in report.results:
        judges = result.details.get("judges")
        for name, one in judges.items() if isinstance(judges, dict) else ():
            if not isinstance(one, dict):
                continue
            tally.add({"judge": one.get("request")})
            row = by_judge.setdefault(str(name), dict.fromkeys(("pass", "fail", "none", "decides"), 0))
            row[verdict if (verdict := one.get("verdict")) in {"pass", "fail"} else "none"] += 1
            row["decides"] += bool(one.get("decides"))
    if by_judge:
        rows = [(name, *(str(row[key]) for key in ("pass", "fail", "none", "decides"))) for name, row in sorted(by_judge.items())]
        yield Table("Judges", ("Judge", "Pass", "Fail", "No verdict", "May decide"), rows, frozenset({1, 2, 3, 4}))
        yield tally.table("questions", _STATES)


def reading(case: Case | None, result: ScoreResult) -> CaseReading:
    """The question of each mode with its answer, then the patient's chart and documents, each finding at its place."""
    from touchstone.scorers.clinical.failure_modes.reading import read_modes

    return read_modes(case, result, SUITE.case_name(result))


def judges(settings: FailureModeSettings) -> dict[str, Basis]:
    """Each mode, and what it decides by: its code and table, or a judge with its prompt. Raises `ConfigError`."""
    from touchstone.scorers.clinical.failure_modes.judge_folders import load_judges
    from touchstone.scorers.clinical.failure_modes.judging.standing import code_digest, judge_digest

    code, asked = code_digest(), judge_digest(settings)
    by_model = load_judges(settings.judges.folder, frozenset(QUESTIONS), settings.judges.only)
    return {
        **{name: Basis(judge=code, labels="") for name in QUESTIONS},
        **{one.name: Basis(judge=asked, prompt=one.digest, labels="") for one in by_model},
    }


def only(settings: FailureModeSettings, name: str) -> FailureModeSettings:
    """The settings with which one judge is asked, about every trace; for a mode of code, none."""
    if name in QUESTIONS:
        return settings.model_copy(update={"judge": settings.judge.model_copy(update={"enabled": False})})
    return settings.model_copy(update={"judges": settings.judges.model_copy(update={"only": (name,), "sample_rate": 1.0})})


SUITE = Suite(
    name=NAME,
    version=VERSION,
    title="Failure modes",
    topics=("traces",),
    cases={"trace": ProductionTrace},
    resolve=resolve,
    build=build,
    fingerprint=fingerprint,
    document_name=DOCUMENT_NAME,
    env_prefix=ENV_PREFIX,
    notes=notes,
    execution="window",
    judged=AsksJudge(
        is_on=lambda settings: settings.judge.is_usable and bool(judge_names(settings)),
        env={f"{ENV_PREFIX}JUDGES_FOLDER": str(SAMPLE_JUDGES), f"{ENV_PREFIX}JUDGE_ENABLED": "true"},
        env_of_all={f"{ENV_PREFIX}JUDGES_SAMPLE_RATE": "1"},
        samples=traces,
        answer=careful_answer,
    ),
    read=read,
    # One a mode would be ten columns: the names of those that failed are in the column of reasons.
    columns=(Column("modes_passed", "Modes passed"),),
    tables=tables,
    metrics=("modes_passed", *QUESTIONS),
    further_metrics=judge_names,
    judges=judges,
    only=only,
    patient=identity_of,
    reading=reading,
    group=group,
)

__all__ = ["NAME", "QUESTIONS", "SUITE", "VERSION", "FailureModeSettings", "build", "resolve"]
