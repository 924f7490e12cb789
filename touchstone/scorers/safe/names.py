"""Names for expectations that results may not quote: "signal 2 of I25-001" instead of a reference that nobody can read."""

import re
from collections.abc import Sequence
from typing import Final

from touchstone.schemas.reports.safe import SafeV0Result
from touchstone.schemas.result import Finding

#: What stands for an expectation that may not be quoted (`matching.reference`).
_REFERENCE: Final = re.compile(r"withheld:[0-9a-f]{12}")
#: What people read where neither the text nor its place is known.
NOT_QUOTED: Final = "not quoted"
_PLACE: Final = re.compile(r"\[(\d+)\]$")


class Names:
    """Reference → the place of the expectation in the cases that name it. Equal results in any order give equal names."""

    def __init__(self) -> None:
        self._anywhere: dict[str, tuple[str, int, str]] = {}
        self._in_case: dict[tuple[str, str], str] = {}

    def add(self, result: SafeV0Result, findings: Sequence[Finding]) -> None:
        """Note one case. Its findings are in the order of the details, and their paths have the places."""
        details = result.details
        for noun, code, texts in (
            ("signal", "cr_missing", details.CR.missing),
            ("term", "ah_violation", details.AH.violations),
            ("phrase", "ac_missing", details.AC.missing),
        ):
            places = [int(found[1]) + 1 for one in findings if one.code == code and (found := _PLACE.search(one.path))]
            if len(places) != len(texts):
                continue
            for text, place in zip(texts, places, strict=True):
                if is_reference(text):
                    name = (result.test_id, place, noun)
                    self._anywhere[text] = min(name, self._anywhere.get(text, name))
                    self._in_case[result.test_id, text] = f"{noun} {place}"

    def shown(self, text: str) -> str:
        """The text; of a reference, the place in the first case by name that lacks (or uses) it, if it is known."""
        if (name := self._anywhere.get(text)) is None:
            return NOT_QUOTED if is_reference(text) else text
        test_id, place, noun = name
        return f"{noun} {place} of {test_id}"

    def in_case(self, test_id: str, text: str) -> str:
        """The same within one case: `signal 2`."""
        return self._in_case.get((test_id, text)) or (NOT_QUOTED if is_reference(text) else text)


def is_reference(text: str) -> bool:
    """True for what stands in place of an expectation that may not be quoted; it says nothing to people."""
    return _REFERENCE.fullmatch(text) is not None


NO_NAMES: Final = Names()
