"""Axial coding: categories of failure, and which annotations belong to each. A person decides; a proposal is only a file to start from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final, Literal

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


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Member(_Written):
    """One annotation, by trace and reviewer. `notes`: as they were when the file was written, for whoever sorts them; not read back."""

    traceId: Name  # noqa: N815  # as in the specification's records
    reviewer: Name
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
        seen: set[tuple[str, str]] = set()
        for category in categories:
            for member in category.annotations:
                if (key := (member.traceId, member.reviewer)) in seen:
                    raise ValueError("has an annotation in two categories; an annotation has one failure mode")
                seen.add(key)
        return categories


def coded(records: Sequence[AnnotationRecord], categories: Categories, at: datetime, accepted: Sequence[str] = ()) -> list[AnnotationRecord]:
    """The records that a coding adds: each named annotation again, with its failure mode, in a review pass above all others.

    `accepted`: only these categories of the file; all of them if it is empty.
    Earlier records stay, so an earlier coding can be read from them. An annotation that has the failure mode already is not written again. Raises
    `ConfigError` for annotations that there are not, or that did not fail.
    """
    now = {(one.trace_id, one.reviewer): one for one in current(records)}
    if missing := sorted(set(accepted) - {one.name for one in categories.categories}):
        raise ConfigError(f"the file has no category {', '.join(missing)}; it has {', '.join(one.name for one in categories.categories) or 'none'}")
    taken = [one for one in categories.categories if not accepted or one.name in accepted]
    wanted = {(member.traceId, member.reviewer): category.name for category in taken for member in category.annotations}
    if unknown := [key for key in wanted if key not in now]:
        raise ConfigError(f"{len(unknown)} annotations of the file are not here, such as one of trace {unknown[0][0]!r}; export them again")
    if passed := [key for key in wanted if now[key].verdict != "fail"]:
        raise ConfigError(f"{len(passed)} annotations of the file are no failures, such as one of trace {passed[0][0]!r}; take them out of the file")
    return _again(records, {key: name for key, name in wanted.items() if now[key].failure_mode != name}, at)


def renamed(records: Sequence[AnnotationRecord], names: Mapping[str, str], at: datetime) -> list[AnnotationRecord]:
    """The records that renaming or merging categories adds. `names`: old → new. Raises `ConfigError` for a category that nothing is in."""
    now = {(one.trace_id, one.reviewer): one for one in current(records)}
    used = {one.failure_mode for one in now.values()}
    if missing := sorted(set(names) - used):
        raise ConfigError(f"no annotation is in the category {', '.join(missing)}; there are {', '.join(sorted(filter(None, used))) or 'none'}")
    return _again(records, {key: names[one.failure_mode] for key, one in now.items() if one.failure_mode is not None and one.failure_mode in names}, at)


def split(records: Sequence[AnnotationRecord], old: str, new: str, traces: Sequence[str], at: datetime) -> list[AnnotationRecord]:
    """The records that taking some traces out of a category, into another, adds. Raises `ConfigError` for traces that are not in it."""
    inside = [one for one in current(records) if one.failure_mode == old and one.verdict == "fail"]
    if missing := sorted(set(traces) - {one.trace_id for one in inside}):
        raise ConfigError(f"not in the category {old}: {missing[0]!r}{f' and {len(missing) - 1} more' if missing[1:] else ''}; errors export lists its traces")
    return _again(records, {(one.trace_id, one.reviewer): new for one in inside if one.trace_id in set(traces)}, at)


def assigned(records: Sequence[AnnotationRecord], members: Iterable[tuple[str, str]], name: str | None, at: datetime) -> list[AnnotationRecord]:
    """The records that putting annotations (trace, reviewer) into one category adds, or, with None, into no category. Raises `ConfigError`."""
    now = {(one.trace_id, one.reviewer): one for one in current(records)}
    wanted = list(dict.fromkeys(members))
    if unknown := [key for key in wanted if key not in now or now[key].verdict != "fail"]:
        raise ConfigError(f"{len(unknown)} of the annotations are no failures here, such as one of trace {unknown[0][0]!r}; read them again")
    return _again(records, {key: name for key in wanted if now[key].failure_mode != name}, at)


def _again(records: Iterable[AnnotationRecord], modes: Mapping[tuple[str, str], str | None], at: datetime) -> list[AnnotationRecord]:
    whole = list(records)
    now = {(one.trace_id, one.reviewer): one for one in current(whole)}
    review_pass = max((one.review_pass for one in whole), default=0) + 1
    return [now[key].model_copy(update={"failure_mode": name, "review_pass": review_pass, "at": at}) for key, name in modes.items()]


def exported(records: Iterable[AnnotationRecord], told: Iterable[Category] = ()) -> Categories:
    """The failures as they are coded now, as a file to edit: categories with their members, and what has none. `told`: what is said of categories."""
    said = {one.name: one for one in told}
    failures = [one for one in current(records) if one.verdict == "fail"]
    members: dict[str | None, list[Member]] = {}
    for one in failures:
        members.setdefault(one.failure_mode, []).append(Member(traceId=one.trace_id, reviewer=one.reviewer, notes=one.notes))
    try:
        categories = tuple(
            said.get(name, Category(name=name)).model_copy(update={"annotations": tuple(members[name])}) for name in sorted(filter(None, members))
        )
    except ValidationError:
        raise ConfigError("a failure mode is not named in lower case with underscores; rename it with errors code --rename OLD=new_name") from None
    return Categories(categories=categories, uncoded=tuple(members.get(None, ())))
