"""The labelled cases of a calibration, from files or from the store with its archive, and what a judge says of them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from touchstone.schemas.calibration import ReviewAs

if TYPE_CHECKING:
    from touchstone.ops.batch.cases import BatchCase
    from touchstone.ops.batch.sources import Source
    from touchstone.ops.reviews.annotations import StoreAnnotations
    from touchstone.ops.store.archive.archive import Archive
    from touchstone.schemas.case import Case
    from touchstone.schemas.result import ScoreResult
    from touchstone.schemas.settings.house import Settings
    from touchstone.scorers.calibration.measure import Known, Verdict
    from touchstone.scorers.suite import Suite

#: Fields of a case, or of what its producer sent along, by whose value recalls are shown.
SLICED: Final = ("model", "source", "archetype", "test_case_id")


@dataclass(slots=True)
class Judge:
    """What is measured: a suite's label, or one judge of it (`name`; empty for the label). `settings`: of the suite, with which it is asked.

    `models`: those that answered for a judge, as their servers name them.
    """

    suite: "Suite"
    settings: Any
    name: str = ""
    review_as: ReviewAs = "pass"
    models: set[str] = field(default_factory=set)

    @property
    def model(self) -> str | None:
        """The model that answered; all of them, if a server changed it meanwhile. None for code."""
        return ", ".join(sorted(self.models)) or None

    def verdict(self, result: "ScoreResult") -> "Verdict":
        """What a result says of its case; the model that answered is noted."""
        from touchstone.scorers.calibration.measure import verdict_of

        if self.name and (model := result.models.get(f"judge.{self.name}")):
            self.models.add(model)
        return verdict_of(result, self.name, self.review_as)

    def scored(self, cases: "Iterable[BatchCase]", sources: "Iterable[Source]", wanted: Collection[str] | None, house: "Settings") -> "dict[str, Verdict]":
        """Event id → verdict, of the wanted events of these cases and sources (None: all), scored as everywhere. No other judge of the suite is asked."""
        from touchstone.ops.batch.run import Run

        verdicts: dict[str, Verdict] = {}

        def keep(result: "ScoreResult") -> None:
            verdicts[result.event_id] = self.verdict(result)

        settings = self.suite.only(self.settings, self.name) if self.name and self.suite.only is not None else self.settings
        run = Run(self.suite, settings, admit=Chosen(frozenset(wanted)) if wanted is not None else None, given=cases, on_result=keep)
        run.files, run.score_timeout_s = house.files, house.worker.score_timeout_s
        run.score(sources)
        return verdicts


@dataclass(frozen=True, slots=True)
class Chosen:
    """Admits the records of these events."""

    events: frozenset[str]

    def __call__(self, record: Mapping[str, Any]) -> bool:
        """True if the record is of one of them."""
        return record.get("id") in self.events


class LabelledCases(Protocol):
    """Where labelled cases are."""

    def known(self, judge: Judge, traces: Collection[str]) -> "dict[str, Known]":
        """What is known of each of these traces that is at hand."""
        ...

    def verdicts(self, judge: Judge, traces: Collection[str]) -> "dict[str, Verdict]":
        """What the judge says of these traces, each of them known."""
        ...

    def cases(self, judge: Judge, traces: Collection[str]) -> "dict[str, Case]":
        """Those of these traces, each of them known, whose content is at hand."""
        ...


class FileCases:
    """Cases of files that `touchstone score` reads. A case is named by its own id or its event's."""

    def __init__(self, paths: list[str], house: "Settings") -> None:
        self._paths = paths
        self._house = house
        self._events: dict[str, str] = {}

    def known(self, judge: Judge, traces: Collection[str]) -> "dict[str, Known]":
        """See `LabelledCases`. A name that several cases have names none of them."""
        from touchstone.ops.batch.cases import BatchCase, cases_of

        wanted, found, several = set(traces), {}, set()
        for source in self._sources(judge.suite):
            for case in cases_of(source, judge.suite, judge.settings, None, self._house.files):
                if not isinstance(case, BatchCase):
                    continue
                for name in {case.event_id, case.case.case_id} & wanted:
                    if name is not None and self._events.setdefault(name, case.event_id) != case.event_id:
                        several.add(name)
                    elif name is not None and name not in found:
                        found[name] = known_of(judge.suite, case.case, name)
        return {name: one for name, one in found.items() if name not in several}

    def verdicts(self, judge: Judge, traces: Collection[str]) -> "dict[str, Verdict]":
        """See `LabelledCases`."""
        wanted = {self._events[name] for name in traces}
        scored = judge.scored((), self._sources(judge.suite), wanted, self._house) if wanted else {}
        return {name: scored[self._events[name]] for name in traces if self._events[name] in scored}

    def every_verdict(self, judge: Judge) -> "dict[str, Verdict]":
        """What the judge says of each case of the files, by event id."""
        return judge.scored((), self._sources(judge.suite), None, self._house)

    def cases(self, judge: Judge, traces: Collection[str]) -> "dict[str, Case]":
        """See `LabelledCases`."""
        from touchstone.ops.batch.cases import BatchCase, cases_of

        wanted = {self._events[name]: name for name in traces}
        found: dict[str, Case] = {}
        for source in self._sources(judge.suite) if wanted else ():
            for one in cases_of(source, judge.suite, judge.settings, Chosen(frozenset(wanted)), self._house.files):
                if isinstance(one, BatchCase) and one.event_id in wanted:
                    found[wanted[one.event_id]] = one.case
        return found

    def _sources(self, suite: "Suite") -> "Iterator[Source]":
        from touchstone.ops.batch.sources import find_sources
        from touchstone.ops.cli.common.scoring import paths_of

        return iter(list(find_sources(paths_of(self._paths), any_file=suite.read is not None, hint="name files with --traces", left_out=list[Path]())))


class StoredCases:
    """Cases that the archive keeps. A verdict of the same configuration that the store has is taken; any other case is scored anew."""

    def __init__(self, annotations: "StoreAnnotations", house: "Settings") -> None:
        from touchstone.ops.web.api.api import open_sources

        self._annotations = annotations
        self._house = house
        self._opened = open_sources(house)

    def known(self, judge: Judge, traces: Collection[str]) -> "dict[str, Known]":
        """See `LabelledCases`."""
        from touchstone.scorers.calibration.measure import Known, patient_of

        found = {}
        for name in traces:
            case = self._case(judge, self._annotations.event_of(name))
            if case is not None:
                found[name] = known_of(judge.suite, case.case, name)
            elif self._stored(judge, name) is not None:
                found[name] = Known(patient_of((), name))
        return found

    def verdicts(self, judge: Judge, traces: Collection[str]) -> "dict[str, Verdict]":
        """See `LabelledCases`."""
        verdicts = {name: stored for name in traces if (stored := self._stored(judge, name)) is not None}
        missing = {self._annotations.event_of(name): name for name in traces if name not in verdicts}
        cases = (case for event_id in missing if (case := self._case(judge, event_id)) is not None)
        scored = judge.scored(cases, (), missing, self._house) if missing else {}
        return verdicts | {missing[event_id]: verdict for event_id, verdict in scored.items()}

    def cases(self, judge: Judge, traces: Collection[str]) -> "dict[str, Case]":
        """See `LabelledCases`."""
        return {name: case.case for name in traces if (case := self._case(judge, self._annotations.event_of(name))) is not None}

    def _stored(self, judge: Judge, name: str) -> "Verdict | None":
        """The verdict of the newest stored result of this configuration."""
        from touchstone.scorers.identity import config_digest
        from touchstone.streams.account.projection import restore

        history = self._opened.history.case(self._annotations.event_of(name))
        digest = config_digest(judge.suite.fingerprint(judge.settings))
        for row in history.results if history is not None else ():
            result = restore(row)
            if (result.suite, result.suite_version, result.config_digest) == (judge.suite.name, judge.suite.version, digest):
                verdict = judge.verdict(result)
                return None if isinstance(verdict, str) and verdict != "reviewed" else verdict
        return None

    def _case(self, judge: Judge, event_id: str) -> "BatchCase | None":
        """The case as it was kept, if the archive has it and the suite can read it."""
        from touchstone.ops.batch.cases import BatchCase
        from touchstone.ops.store.archive.encryption import Undecipherable
        from touchstone.ops.store.archive.objects import ArchiveAway, Missing, NoArchive, TooLarge
        from touchstone.ops.web.api.reading import case_of
        from touchstone.schemas.result import FileRef

        row = self._opened.index.row(event_id)
        if row is None or row.state != "kept":
            return None
        try:
            document = self._archive.document(event_id)
        except (Missing, NoArchive, TooLarge, ArchiveAway, Undecipherable):
            return None
        case = case_of(document, row.kind, {judge.suite.name: judge.suite}, judge.suite.name)
        return None if case is None else BatchCase(case, event_id, FileRef(file="archive"))

    @property
    def _archive(self) -> "Archive":
        return self._opened.open_archive()


def known_of(suite: "Suite", case: "Case", name: str) -> "Known":
    """What is known of a case before it is judged."""
    from touchstone.schemas.trace import CLINICAL_FORMATS, ProductionTrace
    from touchstone.scorers.calibration.measure import Known, patient_of

    slices = []
    for part in SLICED:
        value = getattr(case, part, None) or case.correlation.get(part)
        if isinstance(value, str) and value:
            slices.append((part, value))
    if isinstance(case, ProductionTrace):
        slices += [("format", form) for form in CLINICAL_FORMATS if (output := case.outputs.of(form)) is not None and output.documents]
    return Known(patient_of(suite.patient(case) if suite.patient is not None else (), name), tuple(slices))
