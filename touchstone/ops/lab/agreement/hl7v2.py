"""Measures how far the HL7 v2 validator agrees with messages whose file names state their fault, and whether it reads samples whole.

A name is read word by word: `NO_MSH3`, `PID5_ERROR`, `WITH_PID22.1_NO_PID22.3`, `OBX2CWE_OBX5ST`, `DUPLICATE_OBX1`, `TWO_OBX_WITH_SAME_OBX3…`
name a place and its fault; `VALID` means that there is none. Any other name is reported as unread, never guessed.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from touchstone.ops.lab.agreement.tally import Tally
from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.formats.hl7v2 import decode, read
from touchstone.scorers.clinical.formats.hl7v2.fields import checker

GRAVE = frozenset({"critical", "major"})
#: The sign of an HL7 v2 file: a header at the beginning of some line, with any delimiters.
_HEADER = re.compile(rb"(?:^|[\r\n\x0b])\s*(?:MSH|FHS|BHS)[^A-Za-z0-9\s]")
_HEADER_WITHIN_BYTES = 1 << 20
_PLACE = re.compile(r"([A-Z][A-Z0-9]{2})(\d{1,3})(?:\.\d+)*")
_TYPED = re.compile(r"([A-Z][A-Z0-9]{2})(\d{1,3})([A-Z]{2,3})")
_ABSENT = frozenset({"NO", "MISSING", "WITHOUT", "NULL", "EMPTY", "LACKS"})
_TWICE = frozenset({"SAME", "DUPLICATE", "DUPLICATED", "DUP", "REPEATED"})
_UNLIKE = frozenset({"DIFFERENT", "DISTINCT", "UNIQUE"})
_WRONG = frozenset({"ERROR", "ERRORS", "INVALID", "WRONG", "BAD", "INCORRECT", "MALFORMED"})
_VALID = frozenset({"VALID", "HAPPYPATH"})
#: A version in which every segment is still defined.
_TABLES = "2.8.2"


@dataclass(frozen=True, slots=True)
class Promise:
    """What a file's name says: valid; or a fault, perhaps at a segment, perhaps at a field of it, reported with one of these severities."""

    valid: bool = False
    segment: str | None = None
    field: int | None = None
    severities: frozenset[str] = GRAVE

    def keeps(self, finding: Finding) -> bool:
        """True if a finding is the promised one. A missing segment is reported at another one, by a finding of the structure."""
        if self.valid or finding.severity not in self.severities:
            return False
        if self.segment is None or (self.field is None and finding.code.startswith("structure.")):
            return True
        place = rf"(?:message\[\d+\]/)?{self.segment}(?:\[\d+\])?" + ("(?:-.*)?" if self.field is None else rf"-{self.field}(?:\D.*)?")
        return re.fullmatch(place, finding.path) is not None

    def __str__(self) -> str:
        """`valid`, `a fault`, `OBX`, `MSH-3`."""
        if self.segment is None:
            return "valid" if self.valid else "a fault"
        return self.segment if self.field is None else f"{self.segment}-{self.field}"


def read_name(name: str) -> Promise | None:
    """The promise of a file's name; None if it has none."""
    words = [word.strip(".").upper() for word in re.split(r"[^A-Za-z0-9.]+", name) if word.strip(".")]
    pairs = list(pairwise(words))
    absent = [place for verb, word in pairs if verb in _ABSENT and (place := _place(word))]
    absent += [place for word, verb in pairs if verb in _ABSENT - {"NO", "WITHOUT"} and (place := _place(word))]
    twice = [place for verb, word in pairs if verb in _TWICE and (place := _place(word))]
    typed = [(found[1], int(found[2])) for word in words if (found := _TYPED.fullmatch(word)) and _is_segment(found[1])]
    wrong = [place for pair in pairs for word, verb in (pair, pair[::-1]) if verb in _WRONG and (place := _place(word))]
    if twice and _UNLIKE.intersection(words):  # SAME_OBX3_DIFFERENT_OBX4: distinguished as they should be
        return Promise(valid=True)
    if twice:  # two segments are distinguished by all their fields: any of them may be named
        return Promise(segment=twice[0][0])
    if absent:  # WITH_PID22.1_NO_PID22.3: the last one is missing
        return Promise(segment=absent[-1][0], field=absent[-1][1])
    if typed:  # OBX2CWE_OBX5ST: the value is not of the type that was declared before it
        return Promise(segment=typed[-1][0], field=typed[-1][1])
    if wrong:
        return Promise(segment=wrong[0][0], field=wrong[0][1], severities=GRAVE | {"minor"})
    if _WRONG.intersection(words):
        return Promise()
    return Promise(valid=True) if _VALID.intersection(words) else None


def _place(word: str) -> tuple[str, int | None] | None:
    """`MSH3` is field 3 of MSH, `PID22.1` field 22 of PID, `PV1` the segment; None for what names no segment of HL7."""
    if _is_segment(word):
        return word, None
    found = _PLACE.fullmatch(word)
    return (found[1], int(found[2])) if found is not None and _is_segment(found[1]) else None


def _is_segment(word: str) -> bool:
    return checker(_TABLES, word) is not None


def labelled(files: list[Path]) -> dict[str, Any]:
    """Agreement with the names of files. `elsewhere`: severe findings at other places than the promised one, which is not a disagreement."""
    table, unread, elsewhere = Tally(), [], 0
    validator = DocumentValidator()
    for path in files:
        promise = read_name(path.stem)
        if promise is None:
            unread.append(path.name)
            continue
        checked = validator.validate(path.read_bytes(), "hl7v2")
        findings = checked.report.findings
        grave = sorted({f"{finding.path} {finding.code}" for finding in findings if finding.severity in GRAVE})
        kept = bool(checked.valid) if promise.valid else any(promise.keeps(finding) for finding in findings)
        table.cases += 1
        table.valid += promise.valid
        table.agree += kept
        elsewhere += 0 if promise.valid else sum(finding.severity in GRAVE and not promise.keeps(finding) for finding in findings)
        if not kept:
            table.false_alarms += promise.valid
            table.missed += not promise.valid
            table.disagreements.append({"case": path.name, "expected": str(promise), "ours": grave})
    return table.as_json() | {"unread": unread, "elsewhere": elsewhere}


def samples(files: list[Path]) -> dict[str, Any]:
    """Counts the files that are read without a crash and without a dropped line, and the messages of each version."""
    table, versions = Tally(), Counter[str]()
    validator = DocumentValidator()
    for path in files:
        data = path.read_bytes()
        table.cases += 1
        table.valid += 1
        problem = None
        try:
            found = validator.validate(data, "hl7v2").report.findings
            text, _ = decode(data)
            document = read(text)
            kept = sum(len(message.segments) for message in document.messages) + len(document.envelope) + len(document.strays)
            lines = sum(1 for line in re.split(r"\r\n|\r|\n", text) if line.strip(" \t\x0b\x1c\ufeff"))
            versions.update(message.segments[0].component(12, 1) or "none" for message in document.messages if message.segments)
            if any(finding.code == "structure.internal" for finding in found):
                problem = "the validator failed"
            elif kept != lines:
                problem = f"{lines} lines, {kept} segments"
        except Exception as error:  # noqa: BLE001  # crashes are counted
            problem = f"crashed: {type(error).__name__}"
        if problem is None:
            table.agree += 1
        else:
            table.false_alarms += 1
            table.disagreements.append({"case": path.name, "expected": "read whole", "ours": [problem]})
    return table.as_json() | {"versions": dict(sorted(versions.items()))}


def message_files(folder: Path) -> list[Path]:
    """Every file below a folder that holds HL7 v2, by its content."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and _HEADER.search(_beginning(path))]


def _beginning(path: Path) -> bytes:
    with path.open("rb") as opened:
        return opened.read(_HEADER_WITHIN_BYTES)


def measure(folder: Path, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Every table that the folder has data for: the labelled files (below a folder named labelled…), and the samples by folder."""
    files = message_files(folder)
    named = [path for path in files if any(part.startswith("labelled") for part in path.relative_to(folder).parts[:-1])]
    found: dict[str, Any] = {}
    if named:
        say(f"hl7v2: {len(named)} labelled files")
        found = labelled(named)
    groups: dict[str, list[Path]] = {}
    for path in files:
        groups.setdefault(path.relative_to(folder).parts[0] if path.parent != folder else ".", []).append(path)
    if files:
        say(f"hl7v2: {len(files)} samples")
        found["samples"] = samples(files)
    if len(groups) > 1:
        found |= {f"samples/{name}": samples(of) for name, of in groups.items()}
    return found
