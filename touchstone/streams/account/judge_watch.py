"""What the projector finds out about judges at each look: states, staleness, and live rates corrected for their errors.

The folder says what was measured and decided, the store what the judges say now and what people say now. A worker knows of neither guideline nor labels, so
whether these have changed is found here.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from touchstone.schemas.calibration import Basis, Calibration, Decision
from touchstone.schemas.prevalence import JudgeStatus, LivePrevalence, Window
from touchstone.schemas.settings.house import JudgesSettings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.folder import DECIDING, read_calibration, read_history, shortfalls, stale, status, subjects_in
from touchstone.scorers.calibration.live import answered_by, live_prevalence, suite_and_value
from touchstone.scorers.calibration.truth import guideline_now, labels_of
from touchstone.scorers.reporting.intervals import Rate
from touchstone.streams.account.judge_port import JudgeSource, Verdicts, Way
from touchstone.streams.account.projection import ResultRow
from touchstone.streams.account.verdict_window import VerdictWindow

log = structlog.get_logger("touchstone.projector")

#: Subjects that are watched: each has series of its own in the metrics. Further ones, by name, are not.
SUBJECTS_MAX: Final = 100
#: Decisions of a subject's history that are told.
HISTORY_SHOWN: Final = 50
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: A way of scoring → who answers for a subject in its results, as far as these tell.
_Answering = Mapping[Way, Mapping[str, str | None]]


@dataclass(frozen=True, slots=True)
class Looked:
    """What one look found. `judges`: the state of every subject. `changed`: those whose state is another than before; `rates`: those of them whose rate is.

    `gone`: subjects that the folder no longer has. `failures`: reason → how often something could not be read.
    """

    judges: tuple[JudgeStatus, ...]
    changed: tuple[JudgeStatus, ...] = ()
    rates: tuple[LivePrevalence, ...] = ()
    gone: tuple[str, ...] = ()
    failures: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Folder:
    """What the folder has of one subject."""

    subject: str
    calibration: Calibration | None
    history: tuple[Decision, ...]


@dataclass(frozen=True, slots=True)
class _Labels:
    """What people say now of one subject: the digest of their labels, and the guidelines that these follow. Both are empty without labels."""

    digest: str = ""
    guideline: str | None = None


class JudgeWatch:
    """Looks after the judges of a folder. `look` blocks; `touch` may be called meanwhile from another thread."""

    def __init__(self, settings: JudgesSettings, source: JudgeSource) -> None:
        self._settings = settings
        self._source = source
        self._window = VerdictWindow(source, settings.window_s)
        self._known: dict[str, JudgeStatus] | None = None
        self._labels: dict[str, _Labels] = {}
        self._labelled: tuple[int, int] | None = None
        self._guidelines: Mapping[str, int] = {}
        self._told: dict[str, str] = {}
        self._failures: Counter[str] = Counter()
        self._looking = threading.Lock()

    def touch(self, rows: Iterable[ResultRow]) -> None:
        """Results were written, or may have been."""
        self._window.touch(rows)

    def look(self, now: float) -> Looked | None:
        """Look at folder and store; None if counting takes longer than one look, or an earlier one still goes on. Raises `StoreUnavailable` or `StoreRefused`.

        What cannot be read in the folder is counted and logged, and its subject is left out.
        """
        if not self._looking.acquire(blocking=False):
            return None
        try:
            return self._look(now)
        finally:
            self._looking.release()

    def _look(self, now: float) -> Looked | None:
        self._failures = Counter()
        if self._known is None:
            self._known = {one.subject: one for one, _ in self._source.states()}
        folders = self._folders()
        wanted: dict[str, set[str]] = {}
        for one in folders:
            suite, value = suite_and_value(one.subject)
            wanted.setdefault(suite, set()).update(() if value is None else (value,))
        self._window.watch(wanted)
        if not self._window.count(now):
            return None
        self._read_labels([one.subject for one in folders])
        judges = tuple(self._status(one) for one in folders)
        changed = tuple(one for one in judges if not _is_same(one, self._known.get(one.subject)))
        rates = tuple(one.prevalence for one in changed if one.prevalence is not None and not _is_same_rate(one, self._known.get(one.subject)))
        gone = tuple(sorted(self._known.keys() - {one.subject for one in judges})) if not self._failures["folder"] else ()
        return Looked(judges, changed, rates, gone, dict(self._failures))

    def kept(self, looked: Looked) -> None:
        """What was found is sent and kept: it is news no more."""
        if self._known is not None:
            self._known = {subject: one for subject, one in self._known.items() if subject not in looked.gone} | {one.subject: one for one in looked.changed}

    def _folders(self) -> list[_Folder]:
        """What the folder has of each subject that can be read."""
        root = self._settings.folder
        if self._known and not root.exists():  # it was there before; where nobody ever measured a judge, there is none
            self._failed("folder", f"there is no folder {root} any more; check the setting judges.folder")
            return []
        try:
            subjects = subjects_in(root)
        except ConfigError as error:
            self._failed("folder", str(error))
            return []
        if len(subjects) > SUBJECTS_MAX:
            self._failed("too_many", f"the folder {root} has {len(subjects)} judges; the first {SUBJECTS_MAX} by name are watched")
        found = []
        for subject in subjects[:SUBJECTS_MAX]:
            try:
                found.append(_Folder(subject, read_calibration(root, subject), read_history(root, subject)))
            except ConfigError as error:
                self._failed("folder", str(error))
        return found

    def _failed(self, reason: str, message: str) -> None:
        """Count something that could not be read, and log it once."""
        self._failures[reason] += 1
        if self._told.get(reason) != message:
            self._told[reason] = message
            log.warning("judges_not_read", code=reason, message=message)

    def _read_labels(self, subjects: Iterable[str]) -> None:
        """Read what people say of the subjects, if anybody has said anything since, or a subject is new."""
        self._guidelines = self._source.guidelines()
        state = self._source.annotations_state()
        wanted = set(subjects)
        if state == self._labelled and wanted <= self._labels.keys():
            return
        try:
            records = self._source.annotations()
        except ConfigError as error:
            self._failed("annotations", str(error))
            self._labels = dict.fromkeys(wanted, _Labels())
            return
        truths = {subject: labels_of(records, subject) for subject in wanted}
        self._labels = {subject: _Labels(truth.digest, truth.guideline) if truth.labels else _Labels() for subject, truth in truths.items()}
        self._labelled = state

    def _status(self, folder: _Folder) -> JudgeStatus:
        calibration = folder.calibration
        totals = self._window.totals(suite_and_value(folder.subject)[0])
        answering = self._answering(folder.subject, totals)
        now = self._basis(folder.subject, calibration, answering)
        found = status(calibration, folder.history, now)
        changed = stale(calibration, now) if calibration is not None else ()
        below = shortfalls(calibration) if calibration is not None and calibration.test is not None else ()
        return JudgeStatus(
            subject=folder.subject,
            state=found.state,
            decides=found.decides,
            reasons=found.reasons,
            stale=changed,
            outdated=calibration is not None and bool(stale(calibration, now, (*DECIDING, "guideline"))),
            below_floor=below,
            calibration=calibration,
            prevalence=None if calibration is None else self._prevalence(calibration, totals, answering, changed),
            history=folder.history[-HISTORY_SHOWN:],
        )

    def _answering(self, subject: str, totals: Mapping[Way, Verdicts]) -> _Answering:
        """Who answered for the subject in the newest result of each way of scoring; the newest of all comes last."""
        suite, value = suite_and_value(subject)
        found = []
        for way, verdicts in totals.items():
            if verdicts.of(value)[1]:
                document = self._window.newest(suite, way, value)
                details = document.get("details")
                told = answered_by(subject, way, details if isinstance(details, dict) else {})
                found.append((str(document.get("scored_at", "")), way, told))
        return {way: told for _, way, told in sorted(found, key=lambda one: one[:2])}

    def _basis(self, subject: str, calibration: Calibration | None, answering: _Answering) -> Basis:
        """What is in use now. What no result of the window tells is as it was measured; an empty text is not compared."""
        labels = self._labels.get(subject, _Labels())
        told: Mapping[str, str | None] = list(answering.values())[-1] if answering else {}
        before = {} if calibration is None else {"prompt": calibration.basis.prompt, "model": calibration.basis.model}
        return Basis(**({"judge": ""} | before | dict(told)), guideline=guideline_now(labels.guideline, self._guidelines), labels=labels.digest)

    def _prevalence(self, calibration: Calibration, totals: Mapping[Way, Verdicts], answering: _Answering, changed: tuple[str, ...]) -> LivePrevalence:
        """The corrected rate of the results by the judge that was measured; those of another one are not counted."""
        _, value = suite_and_value(calibration.subject)
        failed = total = others = 0
        for way, told in answering.items():
            count, of = totals[way].of(value, calibration.review_as)
            if all(getattr(calibration.basis, part) == told[part] for part in DECIDING if part in told):
                failed, total = failed + count, total + of
            else:
                others += of
        since, until = (_EPOCH + timedelta(microseconds=micros) for micros in self._window.bounds())
        return live_prevalence(calibration, Rate(failed, total), Window(since=since, until=until), others=others, stale=changed)


def _is_same(now: JudgeStatus, before: JudgeStatus | None) -> bool:
    """True if nothing has changed but the time."""
    return before is not None and _without_window(now) == _without_window(before)


def _is_same_rate(now: JudgeStatus, before: JudgeStatus | None) -> bool:
    return before is not None and _without_window(now).prevalence == _without_window(before).prevalence


def _without_window(one: JudgeStatus) -> JudgeStatus:
    """The state, with a window that is the same for all: time alone is no news."""
    if one.prevalence is None:
        return one
    return one.model_copy(update={"prevalence": one.prevalence.model_copy(update={"window": Window(since=_EPOCH, until=_EPOCH)})})
