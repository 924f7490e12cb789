"""Changes of a document: values that contradict the other side, and rewordings that mean the same."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Final, NamedTuple

#: A time of HL7 v2 and CDA with its offset: to the minute, and seconds where there are any.
_ZONED: Final = re.compile(r"(\d{12})(\d\d)?(?:\.\d+)?([+-]\d{4})")
#: Unit → another unit, and the factor to it.
EQUAL_UNITS: Final = {
    "mg/dL": ("g/L", 0.01), "mg/dl": ("g/L", 0.01), "g/dL": ("g/L", 10.0), "g/dl": ("g/L", 10.0), "kg": ("g", 1000.0), "g": ("mg", 1000.0), "cm": ("m", 0.01),
    "mmol/L": ("umol/L", 1000.0), "%": ("1", 0.01), "mm[Hg]": ("kPa", 0.13332239), "mL": ("L", 0.001), "ng/mL": ("ug/L", 1.0), "mm": ("cm", 0.1),
    "meq/L": ("mmol/L", 1.0), "ug/dL": ("ug/L", 10.0), "[lb_av]": ("kg", 0.45359237), "[in_i]": ("cm", 2.54), "U/L": ("U/mL", 0.001),
}  # fmt: skip
#: Unit → another one of the same dimension.
OTHER_UNITS: Final = {"mg/dL": "g/L", "mg/dl": "g/L", "g/dL": "g/L", "g/dl": "g/L", "kg": "[lb_av]", "cm": "m", "mmol/L": "umol/L", "mm[Hg]": "kPa", "mL": "L"}


class Change(NamedTuple):
    """One changed document. `expects`: how the code of the expected finding begins; None if the meaning is the same."""

    kind: str
    content: bytes
    expects: tuple[str, ...] | None


@dataclass(slots=True)
class Chance:
    """Seeded choices: the same pair and seed give the same changes."""

    dice: random.Random

    def other_code(self, code: str) -> str:
        """Another code: one of its characters is replaced by the next of its kind."""
        places = [place for place, character in enumerate(code) if character.isascii() and character.isalnum()]
        if not places:
            return f"{code}1"
        place = self.dice.choice(places)
        return code[:place] + _next(code[place]) + code[place + 1 :]

    def other_number(self, number: str) -> str:
        """A number that differs by more than rounding."""
        places = len(number.partition(".")[2])
        changed = float(number) * self.dice.choice((1.1, 1.5, 2.0, 10.0)) + (1.0 if float(number) == 0 else 0.0)
        text = f"{changed:.{max(places, 1)}f}"
        return text if float(text) != float(number) else f"{float(number) + 1:.{places}f}"


def _next(character: str) -> str:
    if character.isdigit():
        return str((int(character) + 1) % 10)
    return {"z": "a", "Z": "A"}.get(character, chr(ord(character) + 1))


def plain_number(number: float) -> str:
    """A number as a document writes it."""
    return f"{number:.10g}"


def shifted_day(day: str, days: int) -> str:
    """A day (YYYYMMDD or YYYY-MM-DD) some days later."""
    form = "%Y-%m-%d" if "-" in day else "%Y%m%d"
    return (datetime.strptime(day, form) + timedelta(days=days)).strftime(form)  # noqa: DTZ007  # a day alone


def in_zone(moment: datetime, minutes: int) -> datetime:
    """The same instant in another zone."""
    return moment.astimezone(timezone(timedelta(minutes=minutes)))


def has_number(other: str, number: str) -> bool:
    """True if the other document, as JSON text, has the number as a value."""
    return re.search(rf'"value": {re.escape(plain_number(float(number)))}(?:\.0)?[,}}\s]', other) is not None


def moved_in_zone(written: str, other: str, chance: Chance) -> str | None:
    """A zoned time of HL7 written in another zone; empty if the other document does not have that instant, None if it has no zone."""
    zoned = _ZONED.fullmatch(written)
    if zoned is None:
        return None
    moment = datetime.strptime(f"{zoned[1]}{zoned[2] or '00'}{zoned[3]}", "%Y%m%d%H%M%S%z")
    if not any(f"{in_zone(moment, minutes):%Y-%m-%dT%H:%M}" in other for minutes in range(-840, 841, 5)):
        return ""
    return in_zone(moment, chance.dice.choice((-480, -300, 0, 60, 345))).strftime("%Y%m%d%H%M%S%z" if zoned[2] else "%Y%m%d%H%M%z")


def fresh(number: int) -> Iterator[str]:
    """Codes that no document uses."""
    while True:
        number += 1
        yield f"990{number:05d}"
