"""A judge's folder: what was measured of it, what was decided, and whether either still holds. Reads only; `touchstone judges` writes it.

`judges/NAME/` holds `calibration.json` (the newest measurement), `history.jsonl` (decisions, appended) and `splits.json` (which patient is in which part).
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from touchstone.schemas.calibration import Basis, Calibration, Counts, Decision
from touchstone.schemas.faults import explain
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.recalls import Recalls
from touchstone.scorers.calibration.splits import Part

CALIBRATION: Final = "calibration.json"
HISTORY: Final = "history.jsonl"
SPLITS: Final = "splits.json"
EXAMPLES: Final = "examples.jsonl"
FILE_BYTES_MAX: Final = 67_108_864
#: Parts of a basis that decide what a judge says. Whether another guideline or new labels still agree with it is for people to measure.
DECIDING: Final = ("judge", "prompt", "model")
PARTS: Final = (*DECIDING, "guideline", "labels")
_WORDS: Final = {"judge": "the judge's code or settings", "prompt": "the prompt or its examples"}

State = Literal["uncalibrated", "shadow", "promoted", "stale"]
ModelT = TypeVar("ModelT", bound=BaseModel)


class Splits(BaseModel):
    """Which part each patient is in. Patients are digests; they keep their part when labels are added."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    seed: int = 0
    parts: dict[str, Part] = {}


@dataclass(frozen=True, slots=True)
class Status:
    """How far a subject is trusted. `decides`: it may decide labels; else it runs in the shadow. `reasons`: what speaks against it, as sentences."""

    state: State
    decides: bool
    reasons: tuple[str, ...] = ()


def folder_of(root: Path, subject: str) -> Path:
    """The folder of a subject: named like the mode, or the suite."""
    return root / subject.rpartition("/")[2]


def digest_of(*parts: str | bytes) -> str:
    """A digest of texts in their order: 16 hex digits."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()[:16]


def suite_judge(version: str, config_digest: str) -> str:
    """What a suite's label is decided by, as its results name it."""
    return f"{version}/{config_digest}"


def patient_digest(*identity: str) -> str:
    """Stands for a patient in splits and examples: which names or ids these are cannot be read from it."""
    return digest_of("patient", *identity)


def subjects_in(root: Path) -> tuple[str, ...]:
    """The subjects that the folder knows of: those with a measurement or a decision, by name. None without such a folder. Raises `ConfigError`."""
    found = set()
    try:
        folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.exists() else []
    except OSError as error:
        raise ConfigError(f"{root} cannot be read ({error.strerror}); check the setting judges.folder") from None
    for folder in folders:
        if (data := _bytes(folder / CALIBRATION)) is not None:
            found.add(_model(data, Calibration, str(folder / CALIBRATION)).subject)
        elif (written := _bytes(folder / HISTORY)) is not None:
            found |= {_model(line, Decision, str(folder / HISTORY)).subject for line in written.split(b"\n")[:-1] if line.strip()}
    return tuple(sorted(found))


def read_calibration(root: Path, subject: str) -> Calibration | None:
    """The newest measurement of a subject; None if there is none. Raises `ConfigError`."""
    path = folder_of(root, subject) / CALIBRATION
    data = _bytes(path)
    if data is None:
        return None
    found = _model(data, Calibration, str(path))
    if found.subject != subject:
        raise ConfigError(f"{path} is of {found.subject} and not of {subject}; two subjects cannot share a folder: rename one")
    return found


def read_history(root: Path, subject: str) -> tuple[Decision, ...]:
    """The decisions on a subject, oldest first. A last line that a kill cut off is passed over. Raises `ConfigError`."""
    path = folder_of(root, subject) / HISTORY
    lines = (_bytes(path) or b"").split(b"\n")
    whole = [_model(line, Decision, f"{path}, line {number}") for number, line in enumerate(lines[:-1], 1) if line.strip()]
    return tuple(one for one in whole if one.subject == subject)


def read_splits(root: Path, subject: str) -> Splits:
    """The parts of a subject's patients; empty before its first calibration. Raises `ConfigError`."""
    path = folder_of(root, subject) / SPLITS
    data = _bytes(path)
    return Splits() if data is None else _model(data, Splits, str(path))


def read_example_patients(root: Path, subject: str) -> tuple[str, ...]:
    """The patients of the examples in a judge's prompt; none for a judge without a prompt. Raises `ConfigError`."""
    path = folder_of(root, subject) / EXAMPLES
    patients = []
    for number, line in enumerate((_bytes(path) or b"").splitlines(), 1):
        if not line.strip():
            continue
        try:
            patient = orjson.loads(line)["patient"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            patient = None
        if not isinstance(patient, str):
            raise ConfigError(f"{path}, line {number}: is no example with a patient; write it anew with touchstone judges new")
        patients.append(patient)
    return tuple(patients)


def stale(calibration: Calibration, now: Basis, parts: Iterable[str] = PARTS) -> tuple[str, ...]:
    """What is another than when it was measured, as sentences; none if nothing is. What `now` leaves empty is not known here, and not compared."""
    changed = []
    for part in parts:
        before, after = getattr(calibration.basis, part), getattr(now, part)
        if after and after != before:
            changed.append(f"{_WORDS.get(part, f'the {part}')} changed{_from_to(part, before, after)} since the calibration")
    return tuple(changed)


def _from_to(part: str, before: str | None, after: str) -> str:
    """What a part was and is, in the words of a sentence."""
    if part == "labels":
        return ""
    if part == "guideline":
        # Labels may follow several versions: only the new ones are news.
        known = set((before or "").split(", "))
        return f" to {', '.join(one for one in after.split(', ') if one not in known) or after}"
    return f" from {before} to {after}"


def recalls_of(counts: Counts) -> Recalls:
    """The recalls of stored counts."""
    return Recalls(counts.failed, counts.failed_found, counts.passed, counts.passed_found)


def shortfalls(calibration: Calibration) -> tuple[str, ...]:
    """Why a measured judge may not decide labels, by the floor that it was measured for."""
    if calibration.test is None:
        return ("the test set was not read",)
    return recalls_of(calibration.test).shortfalls(floor=calibration.floor, least=calibration.least)


def status_of(root: Path, subject: str, now: Basis) -> Status:
    """How far a subject is trusted, from its folder. `now`: what is in use; its empty parts are not compared. Raises `ConfigError`.

    A judge with a prompt decides once it was promoted, and while judge, prompt and model are those that were measured. Code decides unless it was demoted,
    or a mode's measured recalls are below the floor.
    """
    calibration, history = read_calibration(root, subject), read_history(root, subject)
    return status(calibration, history, now)


def status(calibration: Calibration | None, history: Iterable[Decision], now: Basis) -> Status:
    """The same, of what the folder holds."""
    last = next((one for one in reversed(tuple(history)) if one.action != "calibrate"), None)
    promoted = last is not None and last.action == "promote"
    is_code = now.prompt is None and now.model is None
    if last is not None and last.action == "demote":
        return Status("shadow", decides=False, reasons=(f"it was demoted{''.join(f': {one}' for one in last.reasons)}",))
    if calibration is None:
        return Status("uncalibrated", decides=is_code, reasons=("it was never calibrated",))
    below = shortfalls(calibration)
    # Forced, knowing of just this measurement.
    forced = promoted and last is not None and bool(last.reasons) and last.at >= calibration.at
    if changed := stale(calibration, now, DECIDING):
        return Status("stale", decides=is_code, reasons=changed)
    later = stale(calibration, now)
    if is_code:
        # Few labels say little against it; a recall that was measured to be low does.
        decides = forced or not _is_bad(calibration)
        return Status("promoted" if decides else "shadow", decides=decides, reasons=(*below, *later))
    if not promoted:
        return Status("shadow", decides=False, reasons=below or ("it was not promoted",))
    if last is not None and last.calibration != measured(calibration.basis):
        return Status("shadow", decides=False, reasons=("another judge, prompt or model was promoted; promote this one",))
    if below and not forced:
        return Status("shadow", decides=False, reasons=below)
    return Status("promoted", decides=True, reasons=(*below, *later))


def _is_bad(calibration: Calibration) -> bool:
    """True if a mode was measured on enough labels of both classes, and is below its floor."""
    if calibration.test is None or "/" not in calibration.subject:
        return False
    recalls = recalls_of(calibration.test)
    return min(recalls.failed, recalls.passed) >= calibration.least and bool(shortfalls(calibration))


def measured(basis: Basis) -> str:
    """What a promotion holds for: one judge with its prompt and model."""
    return digest_of(basis.judge, basis.prompt or "", basis.model or "")


def _bytes(path: Path) -> bytes | None:
    """The content of a file; None if there is no such file."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ConfigError(f"{path} has more than {FILE_BYTES_MAX:,} bytes; no calibration writes as much")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); check the setting judges.folder") from None


def _model(data: bytes, model: type[ModelT], place: str) -> ModelT:
    try:
        return model.model_validate(orjson.loads(data))
    except orjson.JSONDecodeError:
        raise ConfigError(f"{place} is not JSON; restore it from a copy") from None
    except ValidationError as error:
        raise ConfigError(f"{place}: {explain(error, model)}") from None
