"""What a process has learned about a judge's server: in which way it can be asked, and whether it answers."""

import logging
from collections import OrderedDict
from typing import Final

from touchstone.scorers.base import Lost
from touchstone.scorers.judges.ask.form import WAYS, Form, Way
from touchstone.scorers.judges.serve.faults import ADVICE, Fault

log = logging.getLogger("touchstone.judge")
#: Once a server has answered, so many refusals in a row that blame the settings are believed. A gateway may refuse a single text in that way.
_REFUSALS_MAX: Final = 5
#: So many answers in a row that needed a second request show that the server ignores the form.
_REPAIRS_MAX: Final = 3
_MARKS_MAX: Final = 10_000


class ServerState:
    """Learns from every request. `rung`: index of the first way in `ladder` that the server has not refused. `renames`: it expects `max_completion_tokens`."""

    def __init__(self, structured: str) -> None:
        ways = WAYS if structured == "auto" else tuple(way for way in WAYS if way == structured)
        #: The ways of asking, from the most binding to the least; each first with `strict`.
        self.ladder: tuple[tuple[Way, bool], ...] = tuple((way, strict) for way in ways for strict in ((True, False) if way != "text" else (False,)))
        self.rung = 0
        self.renames = False
        self._code: str | None = None
        self._answers = 0
        self._refusals = 0
        self._repairs_in_a_row = 0
        #: Question that failed → how many answers the server had given by then.
        self._marks: OrderedDict[bytes, int] = OrderedDict()

    def lost(self) -> Lost | None:
        """The reason why nothing is asked any more; None while requests are sent."""
        return None if self._code is None else Lost(self._code)

    def note(self, fault: Fault | None) -> Fault | None:
        """Note the outcome of a request; None: an answer. While other cases are answered, a refusal that blames the settings counts as the case's own."""
        if fault is None:
            self._answers += 1
            self._refusals = 0
        elif fault.kind == "settings":
            self._refusals += 1
            if fault.code != "judge_key" and self._answers and self._refusals < _REFUSALS_MAX:
                return Fault("case", "rejected")
            if self._code is None:
                self._code = fault.code
                log.error(ADVICE[fault.code], fault.code)
        return fault

    def note_verdict(self, rung: int, *, renames: bool, repaired: bool) -> None:
        """Remember the way that led to a verdict, so that the next case is asked in it at once. `repaired`: it took a second request."""
        self.renames |= renames
        self.rung = max(self.rung, rung)
        self._repairs_in_a_row = self._repairs_in_a_row + 1 if repaired else 0
        if self._repairs_in_a_row >= _REPAIRS_MAX:
            way = self.ladder[self.rung][0]
            self.rung = next((lower for lower in range(self.rung, len(self.ladder)) if self.ladder[lower][0] != way), self.rung)
            self._repairs_in_a_row = 0

    def below(self, rung: int, form: Form) -> int | None:
        """The next way of asking for a form; None if there is none. A form that cannot be strict is asked for once in each way."""
        return next((lower for lower in range(rung + 1, len(self.ladder)) if form.strict or not self.ladder[lower][1]), None)

    def answers_since_failure(self, question: bytes) -> int:
        """How many answers the server has given since a question first failed. If it had not failed, it has now."""
        mark = self._marks.setdefault(question, self._answers)
        while len(self._marks) > _MARKS_MAX:
            self._marks.popitem(last=False)
        return self._answers - mark

    def forget(self, question: bytes) -> None:
        """Forget that a question failed."""
        self._marks.pop(question, None)
