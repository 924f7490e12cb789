"""What a process has learnt of a judge's server: how it wants to be asked, whether it answers, and whether it ever will."""

import logging
from collections import OrderedDict
from typing import Final

from touchstone.scorers.base import Lost
from touchstone.scorers.judges.ask.form import WAYS, Form, Way
from touchstone.scorers.judges.serve.faults import MEND, Fault

log = logging.getLogger("touchstone.judge")
#: After an answer, so many refusals in a row that blame the settings are believed; a gateway may refuse a single text with them.
_REFUSALS_MAX: Final = 5
#: So many answers in a row that had to be asked for twice show that the server does not heed the form.
_UNHEEDED_MAX: Final = 3
_MARKS_MAX: Final = 10_000


class Known:
    """Learns from every request. `rung`: the first way of asking that the server has not refused; `renames`: it wants `max_completion_tokens`."""

    def __init__(self, structured: str) -> None:
        ways = WAYS if structured == "auto" else tuple(way for way in WAYS if way == structured)
        #: The ways of asking, from the most binding; each strictly first.
        self.ladder: tuple[tuple[Way, bool], ...] = tuple((way, strict) for way in ways for strict in ((True, False) if way != "text" else (False,)))
        self.rung = 0
        self.renames = False
        self._code: str | None = None
        self._answers = 0
        self._refusals = 0
        self._unheeded = 0
        #: Question that failed → how many answers there had been.
        self._marks: OrderedDict[bytes, int] = OrderedDict()

    def lost(self) -> Lost | None:
        """Why nothing is asked any more, where that is so."""
        return None if self._code is None else Lost(self._code)

    def heard(self, fault: Fault | None) -> Fault | None:
        """Note what came of a request; None: an answer. A refusal that blames the settings is the case's own while others are answered."""
        if fault is None:
            self._answers += 1
            self._refusals = 0
        elif fault.kind == "settings":
            self._refusals += 1
            if fault.code != "judge_key" and self._answers and self._refusals < _REFUSALS_MAX:
                return Fault("case", "rejected")
            if self._code is None:
                self._code = fault.code
                log.error(MEND[fault.code], fault.code)
        return fault

    def learnt(self, rung: int, *, renames: bool, mended: bool) -> None:
        """Note how a verdict was got, so that the next case is asked in that way at once. `mended`: it had to be asked for twice."""
        self.renames |= renames
        self.rung = max(self.rung, rung)
        self._unheeded = self._unheeded + 1 if mended else 0
        if self._unheeded >= _UNHEEDED_MAX:
            way = self.ladder[self.rung][0]
            self.rung = next((lower for lower in range(self.rung, len(self.ladder)) if self.ladder[lower][0] != way), self.rung)
            self._unheeded = 0

    def below(self, rung: int, form: Form) -> int | None:
        """The next way of asking for a form; None where there is none. A form that cannot be strict is asked for only once in each."""
        return next((lower for lower in range(rung + 1, len(self.ladder)) if form.strict or not self.ladder[lower][1]), None)

    def others_since(self, question: bytes) -> int:
        """How many others were answered since a question failed first, which is noted now if it had not."""
        mark = self._marks.setdefault(question, self._answers)
        while len(self._marks) > _MARKS_MAX:
            self._marks.popitem(last=False)
        return self._answers - mark

    def over(self, question: bytes) -> None:
        """Forget that a question failed."""
        self._marks.pop(question, None)
