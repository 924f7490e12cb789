"""Changes of the HL7 v2 side of a pair, in its text. A fact is changed only if the Bundle's text has it, too."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from touchstone.ops.lab.consistency.changes import EQUAL_UNITS, Chance, Change, fresh, has_number, moved_in_zone, plain_number, shifted_day

#: Segment → kind, field of the code, and whether dropping or inventing one contradicts the other side.
CODED: Final = {"DG1": ("condition", 3), "AL1": ("allergy", 3), "OBX": ("observation", 3), "RXA": ("immunization", 5)}
TIMES: Final = {"DG1": ("condition", 5), "OBX": ("observation", 14), "PV1": ("encounter", 44), "RXA": ("immunization", 3)}
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")


def changes(content: bytes, other: str, chance: Chance) -> Iterator[Change]:
    """Every change of a message whose counterpart is `other`, the text of the Bundle."""
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\r").replace("\n", "\r")
    lines = text.split("\r")
    if not lines[0].startswith("MSH|^~\\&"):
        return
    for number, line in enumerate(lines):
        name = line[:3]
        if name == "PID":
            yield from _of_patient(lines, number, other, chance)
        if name in CODED:
            yield from _of_entry(lines, number, other, chance)
        if name in TIMES:
            yield from _of_time(lines, number, other, chance)
    yield Change("lines that end with CR and LF", "\r\n".join(lines).encode(), None)


def _field(line: str, position: int) -> str:
    fields = line.split("|")
    return fields[position] if len(fields) > position else ""


def _with(lines: list[str], number: int, position: int, value: str) -> bytes:
    fields = lines[number].split("|")
    fields[position] = value
    return "\r".join([*lines[:number], "|".join(fields), *lines[number + 1 :]]).encode()


def _of_patient(lines: list[str], number: int, other: str, chance: Chance) -> Iterator[Change]:
    line = lines[number]
    birth, sex, name, identifier = (_field(line, position) for position in (7, 8, 5, 3))
    if re.match(r"\d{8}", birth) and f"{birth[:4]}-{birth[4:6]}-{birth[6:8]}" in other:
        changed = shifted_day(birth[:8], chance.dice.choice((1, 31, 366))) + birth[8:]
        yield Change("birth date", _with(lines, number, 7, changed), ("patient.birth-date", "patient.other"))
        yield Change("birth date with a time", _with(lines, number, 7, f"{birth[:8]}0000"), None)
    if sex in {"M", "F"} and '"gender"' in other:
        yield Change("sex", _with(lines, number, 8, "F" if sex == "M" else "M"), ("patient.sex",))
        yield Change("sex in lower case", _with(lines, number, 8, sex.lower()), None)
    family = re.match(r"[^^&~|]*", name)
    if family is not None and len(family[0]) > 2 and family[0] in other:
        yield Change("name", _with(lines, number, 5, f"Q{name[1:]}".replace(f"Q{family[0][1:]}", f"Q{family[0][1:]}oke", 1)), ("patient.name", "patient.other"))
        yield Change("name in another case", _with(lines, number, 5, name.replace(family[0], family[0].title(), 1)), None)
    value = re.match(r"[^^&~|]*", identifier)
    if value is not None and len(value[0]) > 3 and f'"{value[0]}"' in other:
        changed = chance.other_code(value[0]) + identifier[len(value[0]) :]
        yield Change("identifier", _with(lines, number, 3, changed), ("patient.identifier",))


def _of_entry(lines: list[str], number: int, other: str, chance: Chance) -> Iterator[Change]:
    line = lines[number]
    kind, position = CODED[line[:3]]
    code, *rest = _field(line, position).split("^")
    codes = Counter(_field(one, position).split("^")[0] for one in lines if one[:3] == line[:3])
    if not code or not rest or f'"{code}"' not in other or codes[code] > 1:
        return
    if line[:3] == "OBX" and (_field(line, 2) not in {"NM", "SN"} or not _has_number(line, other)):
        return
    if line[:3] == "RXA" and _field(line, 20) in {"RE", "NA"}:
        return
    system = rest[1] if len(rest) > 1 else ""
    yield Change("code", _with(lines, number, position, "^".join([chance.other_code(code), *rest])), (f"{kind}.",))
    yield Change("dropped entry", "\r".join([*lines[:number], *lines[number + 1 :]]).encode(), (f"{kind}.",))
    made = line.split("|")
    made[position] = f"{next(fresh(number))}^Something else entirely^{system}"
    yield Change("invented entry", "\r".join([*lines[: number + 1], "|".join(made), *lines[number + 1 :]]).encode(), (f"{kind}.missing",))
    if line[:3] == "OBX":
        yield from _of_value(lines, number, chance)


def _number(line: str) -> str:
    written = _field(line, 5)
    found = _NUMBER.fullmatch(written) or (_NUMBER.fullmatch(written[1:]) if written.startswith("^") else None)
    return "" if found is None else found[0]


def _has_number(line: str, other: str) -> bool:
    number = _number(line)
    return bool(number) and has_number(other, number)


def _of_value(lines: list[str], number: int, chance: Chance) -> Iterator[Change]:
    written, unit = _number(lines[number]), _field(lines[number], 6).split("^")[0]
    before = "^" if _field(lines[number], 5).startswith("^") else ""
    yield Change("value", _with(lines, number, 5, before + chance.other_number(written)), ("observation.value",))
    if unit in EQUAL_UNITS:
        equal, factor = EQUAL_UNITS[unit]
        fields = lines[number].split("|")
        fields[5], fields[6] = before + plain_number(float(written) * factor), equal
        yield Change("value in another unit", "\r".join([*lines[:number], "|".join(fields), *lines[number + 1 :]]).encode(), None)


def _of_time(lines: list[str], number: int, other: str, chance: Chance) -> Iterator[Change]:
    kind, position = TIMES[lines[number][:3]]
    written = _field(lines[number], position)
    code = _field(lines[number], CODED[name][1]).split("^")[0] if (name := lines[number][:3]) in CODED else ""
    if name == "PV1" and '"Encounter"' not in other:
        return
    if not re.match(r"\d{8}", written) or (code and f'"{code}"' not in other) or (name == "OBX" and _field(lines[number], 11) in {"D", "N", "O", "W", "X"}):
        return
    moved = moved_in_zone(written, other, chance)
    if moved == "":
        return
    if moved is not None:
        yield Change("time in another zone", _with(lines, number, position, moved), None)
    elif f"{written[:4]}-{written[4:6]}-{written[6:8]}" not in other:
        return
    changed = shifted_day(written[:8], chance.dice.choice((2, 30, 365))) + written[8:]
    yield Change("time", _with(lines, number, position, changed), (f"{kind}.",))
