"""Scripts: which request gets which answer, as a file or as a function."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from tests.doubles.judges.asked import Asked, Form
from tests.doubles.judges.faults import Fault
from tests.doubles.judges.replies import Reply
from touchstone.scorers.base import ConfigError

#: A script as a function; what is not a `Reply` is the content of one, and a `Fault` is one with the sample of the schema.
Answering = Callable[[Asked], "Reply | Fault | Mapping[str, Any] | str | None"]


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Rule:
    """What a request must be like, and what it then gets. `model`: with `*` and `?`; `contains` and `matches` (a regular expression): in all that was said.

    `answers`: the n-th request of this rule gets the n-th, the last one stays; none is the sample of the schema. `fault`: of every answer of this rule.
    """

    model: str = "*"
    contains: str = ""
    matches: re.Pattern[str] | None = None
    turn: Annotated[int, Ge(1)] | None = None
    form: Form | None = None
    answers: tuple[dict[str, Any] | str | None, ...] = (None,)
    fault: Fault | None = None
    decoy: dict[str, Any] | None = None
    latency_ms: Annotated[float, Ge(0)] | None = None
    tokens: tuple[int, int] | None = None

    def fits(self, asked: Asked) -> bool:
        """True if the rule applies to the request."""
        return (
            (self.turn is None or self.turn == asked.turn)
            and (self.form is None or self.form == asked.form)
            and fnmatchcase(asked.model, self.model)
            and self.contains in asked.text
            and (self.matches is None or self.matches.search(asked.text) is not None)
        )


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class ScriptFile:
    """What a script file holds. `faults`: of every request whose rule has none; the first that strikes counts. `seed`: of the shares of faults."""

    rules: tuple[Rule, ...] = ()
    faults: tuple[Fault, ...] = ()
    seed: int = 0


class Script:
    """Rules in their order: the first that fits answers, and where none does, the sample of the schema is the answer."""

    def __init__(self, *rules: Rule) -> None:
        self._rules = rules
        self._asked: Counter[int] = Counter()

    def __call__(self, asked: Asked) -> Reply:
        """The answer to a request."""
        for number, rule in enumerate(self._rules):
            if rule.fits(asked):
                answer = rule.answers[min(self._asked[number], len(rule.answers) - 1)] if rule.answers else None
                self._asked[number] += 1
                latency_s = None if rule.latency_ms is None else rule.latency_ms / 1000
                return Reply(answer, rule.fault, rule.decoy, latency_s, rule.tokens)
        return Reply()


def read_script(path: Path) -> ScriptFile:
    """A script file, which is JSON. Raises `ConfigError`."""
    try:
        return TypeAdapter(ScriptFile).validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"The script {path} cannot be read: {error.strerror}. Give the path of a JSON file.") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"]) or "the whole file"
        raise ConfigError(f"The script {path} is wrong at {place}: {first['msg']}. Mend it there.") from None
