"""Makes the folder of a judge from a category of failure that people have coded: question, prompt, a split of the patients, and examples of its training part.

The suite says what a prompt looks like and how an example shows a case; this module knows neither.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from touchstone.ops.reports.files import write_whole
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.counting import current
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.folder import EXAMPLES, SPLITS, Splits, folder_of, read_splits
from touchstone.scorers.calibration.measure import Known, parts_of
from touchstone.scorers.calibration.truth import Label, Truth

PROMPT: Final = "prompt.md"
ABOUT: Final = "judge.toml"
#: Cases that are looked at for each example.
SPARE: Final = 3
#: Traces → the text of each that is at hand.
Texts = Callable[[Collection[str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be made. `subject`: SUITE/NAME; `category`: as people coded it. `prompt`: text of the file. `examples`: at most so many, of both classes."""

    subject: str
    category: str
    question: str
    description: str
    prompt: str
    seed: int
    examples: int


@dataclass(frozen=True, slots=True)
class Made:
    """What was made. `absent`: labelled cases that were not at hand. `parts`: part → patients."""

    folder: Path
    failing: int
    passing: int
    absent: int
    parts: Mapping[str, int]
    examples: tuple[int, int]


def make_judge(root: Path, wish: Wish, truth: Truth, known: Mapping[str, Known], records: Sequence[AnnotationRecord], texts_of: Texts) -> Made:
    """Write the folder, whole or not at all. `texts_of`: traces → what an example shows of each, of those that are at hand.

    Raises `ConfigError`: if there is such a judge already, if nobody coded the category, or if no case of it is at hand.
    """
    folder = folder_of(root, wish.subject)
    refuse_existing(root, wish.subject)
    here = [one for one in truth.labels if one.trace_id in known]
    failing = [one for one in here if one.fails]
    if not any(one.fails for one in truth.labels):
        raise ConfigError(f"nobody coded a failure as {wish.category}; code some with touchstone errors code, or name another with --category")
    if not failing:
        raise ConfigError(f"no case that people coded as {wish.category} is at hand; name the files that hold them with --traces")
    before = read_splits(root, wish.subject)
    seed = before.seed if before.parts else wish.seed
    parts = {**before.parts, **parts_of(truth, known, seed, before.parts)}
    training = sorted((one for one in here if parts[known[one.trace_id].patient] == "train"), key=lambda one: _place(seed, one.trace_id))
    examples = _examples(wish, training, known, _notes(records, wish.category), texts_of)
    files = {
        SPLITS: Splits(seed=seed, parts=parts).model_dump_json(indent=2) + "\n",
        EXAMPLES: "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in examples),
        PROMPT: wish.prompt,
        ABOUT: _about(wish),
    }
    _write(folder, files)
    by_part = {part: sum(found == part for found in parts.values()) for part in ("train", "dev", "test")}
    shown = sum(one["fails"] for one in examples)
    return Made(folder, len(failing), len(here) - len(failing), len(truth.labels) - len(here), by_part, (shown, len(examples) - shown))


def _examples(
    wish: Wish, training: Sequence[Label], known: Mapping[str, Known], notes: Mapping[tuple[str, bool], str], texts_of: Texts
) -> list[dict[str, Any]]:
    """Examples of both classes, failures first. Of each class some more cases are looked at than are taken, because the archive may have forgotten some."""
    found = []
    for fails, most in ((True, wish.examples - wish.examples // 2), (False, wish.examples // 2)):
        candidates = [one.trace_id for one in training if one.fails is fails][: most * SPARE]
        texts = texts_of(candidates)
        found += [
            {"trace_id": name, "patient": known[name].patient, "fails": fails, "critique": notes.get((name, fails), ""), "text": texts[name]}
            for name in [name for name in candidates if name in texts][:most]
        ]
    return found


def refuse_existing(root: Path, subject: str) -> None:
    """Raise `ConfigError` if the subject has a prompt already: people have worked on it."""
    folder = folder_of(root, subject)
    if found := next((name for name in (PROMPT, ABOUT, EXAMPLES) if (folder / name).exists()), None):
        raise ConfigError(f"{folder / found} is there already, and nothing is overwritten; edit it, or move the folder away")


def _notes(records: Sequence[AnnotationRecord], category: str) -> dict[tuple[str, bool], str]:
    """(Trace, fails) → what a person wrote. A failure of another category is a pass of this one, and what was written about it explains no pass."""
    found: dict[tuple[str, bool], str] = {}
    for one in current(records):
        named = {one.failure_mode, *(one.common_issues or ())}
        if one.notes and one.verdict is not None and (one.verdict == "pass" or category in named):
            found.setdefault((one.trace_id, one.verdict == "fail"), " ".join(one.notes.split()))
    return found


def _about(wish: Wish) -> str:
    """The text of `judge.toml`. A string of JSON is one of TOML."""
    said = {"kind": "llm", "question": wish.question, "category": wish.category, "description": wish.description}
    return "".join(f"{key} = {json.dumps(' '.join(value.split()), ensure_ascii=False)}\n" for key, value in said.items())


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files. A new folder appears whole; in one that a calibration has made, the file that makes it a judge is the last."""
    try:
        if folder.exists():
            for name, text in files.items():
                write_whole(folder / name, text)
            (folder / EXAMPLES).chmod(0o600)
            return
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = folder.with_name(f".{folder.name}-{secrets.token_hex(6)}")
        try:
            beside.mkdir()
            for name, text in files.items():
                (beside / name).write_text(text, encoding="utf-8")
            # Examples are records of patients.
            (beside / EXAMPLES).chmod(0o600)
            beside.rename(folder)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written ({error.strerror}); check the setting judges.folder, and free space") from None


def _place(seed: int, trace_id: str) -> bytes:
    return sha256(f"{seed}\n{trace_id}".encode("utf-8", "surrogatepass")).digest()
