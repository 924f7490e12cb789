"""Scoring batches from files: select, validate, count each event once, score. What `touchstone safe score` does between reading and reporting."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from pydantic import ValidationError

from touchstone.ops.batch.batches import BatchEntry, BatchFile, BatchProblem, read_batches
from touchstone.schemas.case import SafeCase, validate_case
from touchstone.schemas.reports.safe import SafeV0BatchReport, SafeV0CaseError
from touchstone.scorers.base import ConfigError
from touchstone.scorers.safe.observation import Observer, score_batch
from touchstone.scorers.safe.report import build_report
from touchstone.scorers.safe.scorer import SafeScorer
from touchstone.scorers.safe.settings import SafeSettings
from touchstone.streams.wire.codec import field_names, safe_path

Step = Callable[[int], None]
_FIELDS = frozenset(field_names(SafeCase))
_EXPLAINED = {
    "missing": "is missing; add it",
    "blank_expectation": "is an empty or blank expected string; remove it or write what is expected",
    "string_type": "is no string",
    "too_long": "holds too many items",
    "string_too_long": "is too long",
    "literal_error": "names another kind than safe; leave the case out or mend it",
}


@dataclass(slots=True)
class Selection:
    """The cases of a run: which are taken, which ids were seen, what went wrong.

    `by_case`: concern and pattern are compared with each case (files named one by one), not with the file's place.
    `on_step`: called with the number of cases so far.
    """

    concern: str | None
    pattern: str
    by_case: bool
    on_step: Step = lambda _: None
    errors: list[SafeV0CaseError] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    passed_over: int = 0
    batch_ids: set[str] = field(default_factory=set)
    found_concern: str | None = None
    _seen: set[str] = field(default_factory=set)

    def cases(self, entries: Iterable[BatchEntry | BatchProblem]) -> Iterator[SafeCase]:
        """Valid, selected cases, each event id once. Raises `ConfigError` where the run mixes concerns."""
        for entry in entries:
            if isinstance(entry, BatchProblem):
                self.errors.append(SafeV0CaseError(where=entry.where, what=entry.what))
                continue
            if self.by_case and not self._wanted(entry):
                self.passed_over += 1
                continue
            try:
                case = validate_case(SafeCase, entry.record)
            except ValidationError as error:
                self.errors.append(SafeV0CaseError(where=entry.where, what=explain(error)))
                continue
            if self._is_new(case, entry.where):
                yield case
                self.on_step(len(self._seen))

    def _wanted(self, entry: BatchEntry) -> bool:
        """Whether concern and batch fit. A case without a usable id is taken, so that validation can name what is missing."""
        concern, batch = entry.record.get("concern_id"), entry.record.get("batch_id")
        fits = self.concern is None or not isinstance(concern, str) or concern == self.concern
        return fits and (not isinstance(batch, str) or fnmatchcase(batch, self.pattern))

    def _is_new(self, case: SafeCase, where: str) -> bool:
        """Note the case; False where its event id was seen before."""
        if self.found_concern is None:
            self.found_concern = case.concern_id
        if case.concern_id != self.found_concern:
            raise ConfigError(f"{where}: a second concern, {case.concern_id}, beside {self.found_concern}; choose one with --concern")
        event_id = case.id or ""
        if event_id in self._seen:
            self.repeated.append(where)
            return False
        self._seen.add(event_id)
        self.batch_ids.add(case.batch_id)
        return True


def explain(error: ValidationError) -> str:
    """What is wrong with a case, as field paths and fixed texts; nothing of the case is quoted."""
    parts = []
    for item in error.errors(include_input=False, include_url=False, include_context=False)[:3]:
        message = item["msg"]
        what = _EXPLAINED.get(item["type"]) or message[:1].lower() + message[1:]
        parts.append(f"{safe_path(item['loc'], _FIELDS)} {what}")
    rest = error.error_count() - len(parts)
    return "; ".join(parts) + (f"; and {rest} more" if rest > 0 else "")


def score_files(files: Sequence[BatchFile], selection: Selection, settings: SafeSettings, observe: Observer | None = None) -> SafeV0BatchReport:
    """Score what the selection takes of the files, and report it.

    The report's batch id is the cases' own where they share one, else the pattern. Raises `ConfigError` where nothing is
    selected; cases that cannot be scored are listed in the report's `errors` and the others scored.
    """
    results = list(score_batch(selection.cases(read_batches(files)), SafeScorer(settings), observe))
    if not results and not selection.errors:
        wanted = f"concern {selection.concern or 'any'}, batch {selection.pattern!r}"
        raise ConfigError(f"no case to score ({wanted}; {selection.passed_over} others passed over); check --concern and --batch")
    batch_id = next(iter(selection.batch_ids)) if len(selection.batch_ids) == 1 else selection.pattern
    return build_report(results, concern_id=selection.found_concern or selection.concern or "", batch_id=batch_id, settings=settings, errors=selection.errors)
