"""Judges as folders: `FOLDER/NAME/prompt.md`, `judge.toml` and `examples.jsonl`. A folder without a prompt is of code or of a suite, and no judge of ours.

An example is a record that people judged. Its patient must be of the training split of `splits.json`, or the judge would be measured on what it has seen.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from touchstone.schemas.faults import explain
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.folder import EXAMPLES, digest_of, read_splits
from touchstone.scorers.calibration.splits import LeakError, refuse_leaks
from touchstone.scorers.judges.ask.judge import Prompt
from touchstone.scorers.judges.ask.prompt import PLACE, parse_prompt

PROMPT: Final = "prompt.md"
ABOUT: Final = "judge.toml"
#: Judges of one folder. Each is a value of every result and a request for every trace.
JUDGES_MAX: Final = 32
EXAMPLES_MAX: Final = 50
FILE_BYTES_MAX: Final = 2_097_152
#: Parts of a trace that a prompt can show, always fenced, and what the judge's own file says, as it stands.
CASE_FIELDS: Final = frozenset({"trace", "day", "request", "persona", "documents", "examples"})
OWN_FIELDS: Final = frozenset({"question", "description"})
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
#: Names of the suite's own values.
_TAKEN: Final = frozenset({"modes_passed", "label", "overall"})
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]
ModelT = TypeVar("ModelT", bound=BaseModel)


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class About(_Written):
    """What `judge.toml` says. `question`: what is asked of a trace; yes is a failure. `model`: in place of the settings' one."""

    kind: Literal["llm"] = "llm"
    question: Words
    category: Words | None = None
    description: Annotated[str, Field(max_length=4_000)] = ""
    model: Words | None = None


class Example(_Written):
    """A record that people judged. `patient`: a digest. `critique`: their note. `text`: the record as a judge is shown it."""

    trace_id: Annotated[str, Field(max_length=1_000)]
    patient: Annotated[str, Field(min_length=1, max_length=200)]
    fails: bool
    critique: Annotated[str, Field(max_length=10_000)] = ""
    text: Annotated[str, Field(min_length=1, max_length=200_000)]


@dataclass(frozen=True, slots=True)
class ModeJudge:
    """One judge. `digest`: of prompt, examples and what its own file says of the question; never of the model."""

    name: str
    about: About
    prompt: Prompt
    examples: tuple[Example, ...]
    digest: str

    @property
    def shown_examples(self) -> str:
        """The examples for its prompt: a JSON object a line, so that no text can pose as another example."""
        lines = ({"record": one.text, "verdict": "fail" if one.fails else "pass", "critique": " ".join(one.critique.split())} for one in self.examples)
        return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines) or "(none)"


def judge_folders(root: Path) -> Iterator[Path]:
    """The folders with a prompt or a `judge.toml`, by name. Raises `ConfigError`."""
    try:
        found = sorted(path for path in root.iterdir() if path.is_dir() and ((path / PROMPT).exists() or (path / ABOUT).exists()))
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(f"the folder of judges {root} cannot be read ({error.strerror}); check judges.folder") from None
    if len(found) > JUDGES_MAX:
        raise ConfigError(f"{root} has {len(found)} judges, and at most {JUDGES_MAX} are asked; move the others away")
    yield from found


def load_judges(root: Path, taken: frozenset[str], only: Collection[str] = ()) -> tuple[ModeJudge, ...]:
    """The judges of a folder, by name. `taken`: names of modes that code answers. `only`: those that are asked; none: all. Raises `ConfigError`."""
    paths = list(judge_folders(root))
    if absent := sorted({*only} - {path.name for path in paths}):
        raise ConfigError(f"{root} has no judge {', '.join(absent)}; correct judges.only, or make it with touchstone judges new")
    return tuple(load_judge(path, taken) for path in paths if not only or path.name in only)


def load_judge(path: Path, taken: frozenset[str] = frozenset()) -> ModeJudge:
    """The judge of one folder. Raises `ConfigError` for anything that is missing or broken in it."""
    name = path.name
    check_name(name, taken, str(path))
    about, prompt = _about(path / ABOUT), _prompt(path / PROMPT)
    examples = _examples(path / EXAMPLES)
    try:
        refuse_leaks(read_splits(path.parent, name).parts, (one.patient for one in examples))
    except LeakError as error:
        raise ConfigError(f"{path / EXAMPLES}: {error}") from None
    if "examples" not in prompt.fields and examples:
        raise ConfigError(f"{path / PROMPT}: there are examples, and the prompt has no place {{{{examples}}}}; add it to the user part, or remove {EXAMPLES}")
    parts = (prompt.digest, about.question, about.description, *(one.model_dump_json() for one in examples))
    return ModeJudge(name, about, prompt, examples, digest_of(*parts))


def check_name(name: str, taken: frozenset[str], place: str) -> None:
    """Refuse a name that is none, or another's. Raises `ConfigError`."""
    if _NAME.fullmatch(name) is None:
        raise ConfigError(f"{place}: the name of a judge is small letters, digits and _, at most 64, a letter first; rename it")
    if name in taken or name in _TAKEN:
        raise ConfigError(f"{place}: this is the name of a mode that code answers, or of another value; choose another name")


def _prompt(path: Path) -> Prompt:
    # Without the folder that holds it: a digest that changed with the place would make every calibration stale.
    prompt = parse_prompt(f"{path.parent.name}/{PROMPT}", _text(path, "touchstone judges new makes one"))
    places = {(found[1], bool(found[2])) for found in PLACE.finditer(prompt.user)}
    if wrong := sorted(name for name, plain in places if name not in (OWN_FIELDS if plain else CASE_FIELDS | OWN_FIELDS)):
        known = ", ".join(f"{{{{{name}}}}}" for name in sorted(CASE_FIELDS))
        raise ConfigError(
            f"{path}: no place {', '.join(wrong)} here; there are {known}, and {{{{question!}}}} and {{{{description!}}}} from {ABOUT}: only these take a !"
        )
    if not prompt.fields & {"trace", "request", "persona", "documents"}:
        raise ConfigError(f"{path}: the prompt shows nothing of the case; add {{{{trace}}}} to its user part")
    return prompt


def _about(path: Path) -> About:
    text = _text(path, 'write at least question = "…" into it')
    try:
        return _checked(About, tomllib.loads(text), str(path))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML ({error.args[0].splitlines()[0]}); mend it there") from None


def _examples(path: Path) -> tuple[Example, ...]:
    if not path.exists():
        return ()
    lines = [(number, line) for number, line in enumerate(_text(path, "").splitlines(), 1) if line.strip()]
    if len(lines) > EXAMPLES_MAX:
        raise ConfigError(f"{path} has {len(lines)} examples, and a prompt takes at most {EXAMPLES_MAX}; keep the best")
    return tuple(_checked(Example, _json(line, f"{path}, line {number}"), f"{path}, line {number}") for number, line in lines)


def _json(line: str, place: str) -> Any:
    try:
        return json.loads(line)
    except (json.JSONDecodeError, RecursionError):
        raise ConfigError(f"{place} is not JSON; write one example a line") from None


def _text(path: Path, advice: str) -> str:
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ConfigError(f"{path} has more than {FILE_BYTES_MAX:,} bytes; shorten it")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing; {advice}") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); make it readable, or move its folder away") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8; save it as UTF-8") from None


def _checked(model: type[ModelT], value: Any, place: str) -> ModelT:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        words = {"extra_forbidden": f"is no key here; there are {', '.join(model.model_fields)}"}
        raise ConfigError(f"{place}: {explain(error, model, words)}") from None
