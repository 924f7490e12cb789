"""Axial coding: categories of failure, and which annotations belong to each. A person decides; a proposal is only a file to start from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.types import StringConstraints

from touchstone.schemas.annotation import AnnotationRecord, Name
from touchstone.schemas.counting import current
from touchstone.scorers.base import ConfigError

CATEGORIES_MAX: Final = 500
#: Named like a failure mode of the specification: `missing_condition_relevant_labs`.
CATEGORY_NAME: Final = r"^[a-z][a-z0-9_]{0,63}$"
CategoryName = Annotated[str, StringConstraints(pattern=CATEGORY_NAME)]
#: specification: the prompt or its instructions are wrong. generalization: the model does not follow right instructions.
FailureKind = Literal["specification", "generalization"]


class Who(NamedTuple):
    """What names an annotation that counts: trace, reviewer, and the suite whose result was judged; None for the case as a whole."""

    trace_id: str
    reviewer: str
    suite: str | None = None


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Member(_Written):
    """One annotation, by trace, reviewer and the suite whose result was judged; without a suite all failures of this trace that the reviewer noted.

    `notes`: as they were when the file was written, for whoever sorts them; not read back.
    """

    traceId: Name  # noqa: N815  # as in the specification's records
    reviewer: Name
    suite: Name | None = None
    notes: str | None = None


class Category(_Written):
    """One kind of failure."""

    name: CategoryName
    kind: FailureKind | None = None
    description: str = Field("", max_length=2_000)
    annotations: tuple[Member, ...] = ()


class Categories(_Written):
    """A file of categories, as `errors propose` writes it and a person edits it.

    `uncoded`: failures without a category. `proposed_by`: what grouped the notes; such a file is a proposal until a person gives it to `errors code`.
    """

    categories: tuple[Category, ...] = Field((), max_length=CATEGORIES_MAX)
    uncoded: tuple[Member, ...] = ()
    proposed_by: str | None = Field(None, max_length=512)

    @field_validator("categories")
    @classmethod
    def _once(cls, categories: tuple[Category, ...]) -> tuple[Category, ...]:
        names = [one.name for one in categories]
        if double := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"names {', '.join(double)} twice; merge them")
        seen: set[Who] = set()
        for category in categories:
            for member in category.annotations:
                if (key := Who(member.traceId, member.reviewer, member.suite)) in seen:
                    raise ValueError("has an annotation in two categories; an annotation has one failure mode")
                seen.add(key)
        return categories


def coded(records: Sequence[AnnotationRecord], categories: Categories, at: datetime, accepted: Sequence[str] = ()) -> list[AnnotationRecord]:
    """The records that a coding adds: each named annotation again, with its failure mode, in a review pass above all others.

    `accepted`: only these categories of the file; all of them if it is empty.
    Earlier records stay, so an earlier coding can be read from them. An annotation that has the failure mode already is not written again. Raises
    `ConfigError` for annotations that there are not, or that did not fail.
    """
    now = standing(records)
    if missing := sorted(set(accepted) - {one.name for one in categories.categories}):
        raise ConfigError(f"the file has no category {', '.join(missing)}; it has {', '.join(one.name for one in categories.categories) or 'none'}")
    taken = [one for one in categories.categories if not accepted or one.name in accepted]
    given = [(Who(member.traceId, member.reviewer, member.suite), category.name) for category in taken for member in category.annotations]
    if unknown := [key for key, _ in given if not meant(key, now)]:
        raise ConfigError(f"{len(unknown)} annotations of the file are not here, such as one of trace {unknown[0].trace_id!r}; export them again")
    wanted = {key: name for named, name in given for key in meant(named, now)}
    if passed := [key for key in wanted if now[key].verdict != "fail"]:
        raise ConfigError(f"{len(passed)} annotations of the file are no failures, such as one of trace {passed[0].trace_id!r}; take them out of the file")
    return _again(records, {key: name for key, name in wanted.items() if now[key].failure_mode != name}, at)


def renamed(records: Sequence[AnnotationRecord], names: Mapping[str, str], at: datetime) -> list[AnnotationRecord]:
    """The records that renaming or merging categories adds. `names`: old → new. Raises `ConfigError` for a category that nothing is in."""
    now = standing(records)
    used = {one.failure_mode for one in now.values()}
    if missing := sorted(set(names) - used):
        raise ConfigError(f"no annotation is in the category {', '.join(missing)}; there are {', '.join(sorted(filter(None, used))) or 'none'}")
    return _again(records, {key: names[one.failure_mode] for key, one in now.items() if one.failure_mode is not None and one.failure_mode in names}, at)


def split(records: Sequence[AnnotationRecord], old: str, new: str, traces: Sequence[str], at: datetime) -> list[AnnotationRecord]:
    """The records that taking some traces out of a category, into another, adds. Raises `ConfigError` for traces that are not in it."""
    inside = [one for one in current(records) if one.failure_mode == old and one.verdict == "fail"]
    if missing := sorted(set(traces) - {one.trace_id for one in inside}):
        raise ConfigError(f"not in the category {old}: {missing[0]!r}{f' and {len(missing) - 1} more' if missing[1:] else ''}; errors export lists its traces")
    return _again(records, {who(one): new for one in inside if one.trace_id in set(traces)}, at)


def assigned(records: Sequence[AnnotationRecord], members: Iterable[Who], name: str | None, at: datetime) -> list[AnnotationRecord]:
    """The records that putting annotations into one category adds, or, with None, into no category. Raises `ConfigError`."""
    now, given = standing(records), list(dict.fromkeys(members))
    if unknown := [key for key in given if not (found := meant(key, now)) or any(now[one].verdict != "fail" for one in found)]:
        raise ConfigError(f"{len(unknown)} of the annotations are no failures here, such as one of trace {unknown[0].trace_id!r}; read them again")
    wanted = dict.fromkeys(key for named in given for key in meant(named, now))
    return _again(records, {key: name for key in wanted if now[key].failure_mode != name}, at)


def who(one: AnnotationRecord) -> Who:
    """What names an annotation among those that count."""
    return Who(one.trace_id, one.reviewer, one.suite)


def standing(records: Iterable[AnnotationRecord]) -> dict[Who, AnnotationRecord]:
    """The annotations that count, by what names them."""
    return {who(one): one for one in current(records)}


def meant(key: Who, now: Mapping[Who, AnnotationRecord]) -> list[Who]:
    """The annotations that a file or a client means: the one of this suite; if it names none and there is none without a suite, the reviewer's failures."""
    if key in now or key.suite is not None:
        return [key] if key in now else []
    own = [other for other in now if (other.trace_id, other.reviewer) == (key.trace_id, key.reviewer)]
    return [other for other in own if now[other].verdict == "fail"] or own


def _again(records: Iterable[AnnotationRecord], modes: Mapping[Who, str | None], at: datetime) -> list[AnnotationRecord]:
    whole = list(records)
    now = standing(whole)
    review_pass = max((one.review_pass for one in whole), default=0) + 1
    return [now[key].model_copy(update={"failure_mode": name, "review_pass": review_pass, "at": at}) for key, name in modes.items()]


def exported(records: Iterable[AnnotationRecord], told: Iterable[Category] = ()) -> Categories:
    """The failures as they are coded now, as a file to edit: categories with their members, and what has none. `told`: what is said of categories."""
    said = {one.name: one for one in told}
    failures = [one for one in current(records) if one.verdict == "fail"]
    members: dict[str | None, list[Member]] = {}
    for one in failures:
        members.setdefault(one.failure_mode, []).append(Member(traceId=one.trace_id, reviewer=one.reviewer, suite=one.suite, notes=one.notes))
    try:
        categories = tuple(
            said.get(name, Category(name=name)).model_copy(update={"annotations": tuple(members[name])}) for name in sorted(filter(None, members))
        )
    except ValidationError:
        raise ConfigError("a failure mode is not named in lower case with underscores; rename it with errors code --rename OLD=new_name") from None
    return Categories(categories=categories, uncoded=tuple(members.get(None, ())))
