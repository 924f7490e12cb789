"""Names for expectations that results may not quote: "signal 2 of I25-001" instead of a reference that nobody can read."""

import re
from collections.abc import Sequence
from typing import Final

from touchstone.schemas.reports.safe import SafeV0Result
from touchstone.schemas.result import Finding

_REFERENCE: Final = "withheld:"
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
                if text.startswith(_REFERENCE):
                    name = (result.test_id, place, noun)
                    self._anywhere[text] = min(name, self._anywhere.get(text, name))
                    self._in_case[result.test_id, text] = f"{noun} {place}"

    def shown(self, text: str) -> str:
        """The text; of a reference, the place in the first case by name that has it."""
        if (name := self._anywhere.get(text)) is None:
            return text
        test_id, place, noun = name
        return f"{noun} {place} of {test_id}"

    def in_case(self, test_id: str, text: str) -> str:
        """The same within one case: `signal 2`."""
        return self._in_case.get((test_id, text), text)


NO_NAMES: Final = Names()
