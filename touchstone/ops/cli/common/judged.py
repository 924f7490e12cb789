"""Every subject that can be measured against people, and how far each is trusted."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchstone.ops.cli.common.labelled import Judge
from touchstone.schemas.calibration import Basis, Calibration, ReviewAs

if TYPE_CHECKING:
    from touchstone.schemas.annotation import AnnotationRecord
    from touchstone.schemas.settings.house import Settings
    from touchstone.scorers.calibration.folder import Status
    from touchstone.scorers.suite import Suite


@dataclass(frozen=True, slots=True)
class Standing:
    """One subject: how far it is trusted, and what was measured of it."""

    subject: str
    status: "Status"
    calibration: Calibration | None

    def document(self) -> dict[str, Any]:
        """As JSON types."""
        return {
            "subject": self.subject,
            "state": self.status.state,
            "decides": self.status.decides,
            "reasons": list(self.status.reasons),
            "calibration": None if self.calibration is None else self.calibration.model_dump(mode="json"),
        }


def judge_of(subject: str, review_as: ReviewAs = "pass") -> tuple[Judge, Basis]:
    """What a subject names, and what it decides by now, without guideline and labels. Raises `ConfigError`."""
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.registry import load_suite
    from touchstone.scorers.suite_settings import suite_settings_for_files

    name, _, judge = subject.partition("/")
    suite = load_suite(name)
    settings = suite_settings_for_files(suite)
    found = _bases(suite, settings).get(subject)
    if found is None:
        known = ", ".join(suite.judges(settings)) if suite.judges is not None else ""
        raise ConfigError(f"the suite {name} has no judge {judge!r}; {f'it has {known}' if known else 'its label is measured as ' + name}")
    return Judge(suite, settings, judge, review_as), found


def _bases(suite: "Suite", settings: Any) -> dict[str, Basis]:
    """Subject → what it decides by: the suite's label, and each of its judges."""
    from touchstone.scorers.calibration.folder import suite_judge
    from touchstone.scorers.identity import config_digest

    label = Basis(judge=suite_judge(suite.version, config_digest(suite.fingerprint(settings))), labels="")
    own = suite.judges(settings) if suite.judges is not None else {}
    return {suite.name: label, **{f"{suite.name}/{name}": basis for name, basis in own.items()}}


def now_of(subject: str, basis: Basis, settings: "Settings", annotated: Path | None) -> Basis:
    """The basis with the guideline and the labels that there are now; without them where there is no store. Raises `ConfigError`."""
    return _with_labels(subject, basis, *_said(settings, annotated))


def standing(settings: "Settings", annotated: Path | None) -> list[Standing]:
    """Every suite that can be used here and each of its judges, in order. Raises `ConfigError`."""
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.calibration.folder import read_calibration, status_of
    from touchstone.scorers.registry import usable_suites
    from touchstone.scorers.suite_settings import suite_settings_for_files

    (records, guidelines), root, found = _said(settings, annotated), settings.judges.folder, []
    for suite in usable_suites().values():
        try:
            bases = _bases(suite, suite_settings_for_files(suite))
        except ConfigError:
            continue  # its settings cannot be used, which its own commands say
        for subject, basis in bases.items():
            now = _with_labels(subject, basis, records, guidelines)
            found.append(Standing(subject, status_of(root, subject, now), read_calibration(root, subject)))
    return found


def _said(settings: "Settings", annotated: Path | None) -> "tuple[Sequence[AnnotationRecord], Mapping[str, int]]":
    """The annotations of a file, or of the store, and the newest version of each guideline; none where there is no store."""
    from touchstone.ops.reviews.annotations import FileAnnotations, StoreAnnotations
    from touchstone.ops.store.judges import JudgeStore
    from touchstone.ops.store.results import ResultStore
    from touchstone.scorers.base import ConfigError

    if annotated is not None:
        return FileAnnotations(annotated).read(), {}
    with suppress(ConfigError):
        results = ResultStore.open(settings.store.url.get_secret_value())
        try:
            return StoreAnnotations(results).read(), JudgeStore(results.engine).guidelines()
        finally:
            results.close()
    return (), {}


def _with_labels(subject: str, basis: Basis, records: "Sequence[AnnotationRecord]", guidelines: "Mapping[str, int]") -> Basis:
    from touchstone.scorers.calibration.truth import guideline_now, labels_of

    if not records:
        return basis
    truth = labels_of(records, subject)
    return basis.model_copy(update={"guideline": guideline_now(truth.guideline, guidelines), "labels": truth.digest if truth.labels else ""})


def lines_of(found: Sequence[Standing]) -> Iterator[str]:
    """The subjects for people, two lines where something is to be said of one."""
    from touchstone.ops.cli.common.moments import age
    from touchstone.scorers.calibration.folder import recalls_of

    width = max((len(one.subject) for one in found), default=0)
    yield f"{'subject':{width}}  {'state':12}  {'decides':7}  {'fail_recall':11}  {'pass_recall':11}  measured"
    for one in found:
        recalls, when = ("–", "–"), "never"
        if one.calibration is not None:
            counted = recalls_of(one.calibration.test or one.calibration.dev)
            recalls = (_shown(counted.fail_recall.share, counted.failed), _shown(counted.pass_recall.share, counted.passed))
            when = f"{age(one.calibration.at)} ago, {'test' if one.calibration.test is not None else 'dev'} set"
        decides = "yes" if one.status.decides else "no"
        yield f"{one.subject:{width}}  {one.status.state:12}  {decides:7}  {recalls[0]:11}  {recalls[1]:11}  {when}"
        if one.calibration is not None:
            yield from (f"    {reason}" for reason in one.status.reasons)


def _shown(share: float, total: int) -> str:
    return f"{share:.2f} ({total})" if total else "–"
