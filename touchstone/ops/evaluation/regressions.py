"""Cases that were made of failures: a prompt whose outcome must not fail in the same way again. `touchstone errors to-cases` writes them, `touchstone eval
--cases` runs them, and people edit them in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.types import StringConstraints

from touchstone.ops.evaluation.items import Item
from touchstone.ops.evaluation.prompts import PROMPT_CHARS_MAX, check_prompt
from touchstone.ops.reports.files import write_whole
from touchstone.schemas.annotation import Name
from touchstone.schemas.faults import explain
from touchstone.scorers.base import ConfigError
from touchstone.scorers.json_documents import read_bounded

CASES_FILE: Final = Path("eval-data/regressions.json")
FILE_BYTES_MAX: Final = 67_108_864
CASES_MAX: Final = 10_000


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class RegressionCase(_Written):
    """One case. `modes`: how the trace failed that it comes from. `checks`: failure mode → the check that finds it, where that has another name.

    `expected`, `minimum`: what the outcome must have, and its least scores; as in the curated cases, and empty until a person fills them in.
    """

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,64}$")]
    trace_id: Name
    prompt: Annotated[str, Field(min_length=1, max_length=PROMPT_CHARS_MAX)]
    modes: tuple[Name, ...] = Field(max_length=50)
    checks: dict[str, Name] = Field(default_factory=dict, max_length=50)
    expected: dict[str, Any] = Field(default_factory=dict, max_length=10)
    minimum: dict[str, Annotated[float, Field(ge=0, le=100)]] = Field(default_factory=dict, max_length=10)
    added_at: AwareDatetime | None = None

    @property
    def item(self) -> Item:
        """The test of an evaluation run."""
        modes = {mode: self.checks.get(mode, mode) for mode in self.modes}
        return Item(id=self.id, prompt=self.prompt, place="regression", category=next(iter(modes), None), minimum=self.minimum, modes=modes)


class RegressionCases(_Written):
    """The file."""

    cases: tuple[RegressionCase, ...] = Field((), max_length=CASES_MAX)

    @field_validator("cases")
    @classmethod
    def _once(cls, cases: tuple[RegressionCase, ...]) -> tuple[RegressionCase, ...]:
        ids = [one.id for one in cases]
        if len(set(ids)) < len(ids):
            raise ValueError("has an id twice")
        return cases


def read_cases(path: Path) -> RegressionCases:
    """The cases of a file. Raises `ConfigError`, which quotes no prompt."""
    data = read_bounded(path, FILE_BYTES_MAX, remedy="`touchstone errors to-cases` writes such a file", too_large="split it")
    try:
        found = RegressionCases.model_validate(orjson.loads(data))
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{path} is not JSON (line {error.lineno})") from None
    except ValidationError as error:
        raise ConfigError(f"{path}: {explain(error, RegressionCases)}") from None
    for one in found.cases:
        check_prompt(f"{path}: {one.id}", one.prompt)
    return found


def write_cases(path: Path, cases: RegressionCases) -> None:
    """Write the file, readable for its owner alone: prompts may tell of patients. Raises `ConfigError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = cases.model_dump(mode="json", exclude_none=True)
    write_whole(path, orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n", private=True)


def case_id(trace_id: str) -> str:
    """The id of the case of a trace, the same every time."""
    return f"regression-{sha256(trace_id.encode()).hexdigest()[:16]}"


def merged(before: RegressionCases, made: Iterable[RegressionCase], checks: Mapping[str, str]) -> tuple[RegressionCases, int, int]:
    """The file with new cases, how many are new, and how many were coded anew. What people wrote in a case stays; a case that there is is not added again."""
    cases = {one.trace_id: one for one in before.cases}
    added = changed = 0
    for one in made:
        wanted = {mode: checks[mode] for mode in one.modes if mode in checks}
        known = cases.get(one.trace_id)
        if known is None:
            cases[one.trace_id] = one.model_copy(update={"checks": wanted})
            added += 1
            continue
        kept = {mode: check for mode, check in known.checks.items() if mode in one.modes}
        news = known.model_copy(update={"modes": one.modes, "checks": kept | wanted})
        changed += news != known
        cases[one.trace_id] = news
    if len(cases) > CASES_MAX:
        raise ConfigError(f"{len(cases):,} cases; a file has at most {CASES_MAX:,}. Choose kinds with --category, or another file with --output")
    return RegressionCases(cases=tuple(cases.values())), added, changed


def items_of(cases: Sequence[RegressionCase]) -> tuple[Item, ...]:
    """The tests of a file of cases."""
    return tuple(one.item for one in cases)
