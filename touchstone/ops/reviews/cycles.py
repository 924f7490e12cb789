"""Cycles of evaluation: failures were reviewed, coded, and became cases that are run again. A file with a line for each, which is only added to."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from touchstone.schemas.faults import explain
from touchstone.scorers.base import ConfigError

CYCLES_FILE: Final = Path("eval-results/cycles.jsonl")
FILE_BYTES_MAX: Final = 67_108_864


class Cycle(BaseModel):
    """One cycle. `review_pass`: the highest one that went into it. `categories`: name → traces. `cases`: in the file of cases then; `added`: of them, new."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    cycle: int = Field(ge=1)
    at: AwareDatetime
    review_pass: int = Field(ge=0)
    reviewed: int = Field(ge=0)
    failed: int = Field(ge=0)
    categories: Mapping[str, int]
    cases_file: str
    cases: int = Field(ge=0)
    added: int = Field(ge=0)


def read_cycles(path: Path) -> tuple[Cycle, ...]:
    """The cycles of a file, oldest first; none without a file. Raises `ConfigError`."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ConfigError(f"{path} has more than {FILE_BYTES_MAX:,} bytes; is it a file of cycles?")
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{path} cannot be read; `touchstone errors to-cases` writes such a file") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(Cycle.model_validate_json(line))
        except ValidationError as error:
            raise ConfigError(f"{path}, line {number}: {explain(error, Cycle, {'json_invalid': 'is not JSON'}).removeprefix('the case ')}") from None
    return tuple(found)


def count_cycle(path: Path, made: Cycle) -> Cycle | None:
    """Add a cycle with the next number. None if the newest one is the same but for its time: what is repeated is no cycle. Raises `ConfigError`."""
    before = read_cycles(path)
    if before and not made.added and _content(before[-1]) == _content(made):
        return None
    numbered = made.model_copy(update={"cycle": max((one.cycle for one in before), default=0) + 1})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(numbered.model_dump_json() + "\n")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}); give another file with --cycles") from None
    return numbered


def first_cycle(at: datetime, review_pass: int, reviewed: int, failed: int, categories: Mapping[str, int], cases: tuple[Path, int, int]) -> Cycle:
    """A cycle without its number yet. `cases`: their file, how many are in it, and how many of them are new."""
    file, total, added = cases
    return Cycle(
        cycle=1, at=at, review_pass=review_pass, reviewed=reviewed, failed=failed, categories=dict(categories), cases_file=str(file), cases=total, added=added
    )


def _content(one: Cycle) -> dict[str, object]:
    return one.model_dump(exclude={"cycle", "at", "added"})
