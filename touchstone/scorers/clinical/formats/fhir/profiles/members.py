"""What is known of a value set's members: codes by system, systems whose members are not known, and what is excluded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


class Growing(set[str]):
    """All codes of a system with editions of its own: other codes may have been published later."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Codes that a rule decides: True, False, or None if it cannot tell."""

    holds: Callable[[str], bool | None]


#: None means every code of the system, known or not.
Codes = set[str] | Rule | None


@dataclass(slots=True)
class Members:
    """What is known of a value set.

    `systems`: system → its codes. `lacking`: system → why its members are not known; the key "" stands for any system. `others`: further members.
    `excluded`: what the set leaves out. `both`: if there are any, sets whose common members are members too.
    """

    systems: dict[str, Codes] = field(default_factory=dict)
    lacking: dict[str, str] = field(default_factory=dict)
    others: list[Members] = field(default_factory=list)
    excluded: Members | None = None
    both: tuple[Members, ...] = ()

    def add(self, other: Members) -> None:
        """Take in the members of another set, which is not used afterwards."""
        has_clash = any(isinstance(codes, Rule) and system in self.systems for system, codes in other.systems.items())
        if other.both or other.others or other.excluded is not None or has_clash:
            self.others.append(other)
            return
        self.lacking |= other.lacking
        for system, codes in other.systems.items():
            held = self.systems.get(system, codes)
            if isinstance(held, Rule) and held is not codes:
                self.others.append(Members({system: codes}))
            elif held is None or codes is None or held is codes:
                self.systems[system] = None if held is None or codes is None else held
            elif isinstance(held, set) and isinstance(codes, set):
                is_growing = isinstance(codes, Growing) and not isinstance(held, Growing)
                held |= codes
                self.systems[system] = Growing(held) if is_growing else held

    def holds(self, system: str | None, code: str) -> bool | None:
        """True if a code is a member, None if unknown. `system` is None for an element that has a code only."""
        verdicts = [self._included(system, code), *(one.holds(system, code) for one in self.others)]
        if self.both:
            verdicts.append(_all(one.holds(system, code) for one in self.both))
        included = _any(verdicts)
        if self.excluded is None or included is False:
            return included
        left_out = self.excluded.holds(system, code)
        return False if left_out else None if left_out is None else included

    def _included(self, system: str | None, code: str) -> bool | None:
        asked = list(self.systems.values()) if system is None else [self.systems.get(system, set())]
        verdicts = [_among(codes, code) for codes in asked]
        is_lacking = bool(self.lacking) if system is None else system in self.lacking or "" in self.lacking
        return _any([*verdicts, None if is_lacking else False])

    def parts(self) -> Iterator[Members]:
        """This set, and those that it is made from."""
        yield self
        for one in (*self.others, *self.both, *((self.excluded,) if self.excluded is not None else ())):
            yield from one.parts()


def _any(verdicts: list[bool | None]) -> bool | None:
    return True if True in verdicts else None if None in verdicts else False


def _all(asked: Iterator[bool | None]) -> bool | None:
    verdicts = list(asked)
    return False if False in verdicts else None if None in verdicts else True


def _among(codes: Codes, code: str) -> bool | None:
    if codes is None:
        return True
    if isinstance(codes, Rule):
        return codes.holds(code)
    return True if code in codes else None if isinstance(codes, Growing) else False
