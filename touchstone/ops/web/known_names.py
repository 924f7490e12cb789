"""Checks the suites and event types that a stream's filter names, because a stream of a misspelt name would stay silent for ever.

Other workers may run suites that are not installed here and have sent nothing yet. So only a name that looks like a known one is refused as a typing error;
of any other unknown name the stream's first message says that it is unknown here.
"""

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from touchstone.ops.web.access import Grant
from touchstone.ops.web.query import BadRequest
from touchstone.ops.web.service import Service
from touchstone.schemas.prevalence import PREVALENCE_TYPE
from touchstone.scorers.registry import suite_entry_points
from touchstone.streams.subscription.following import Wish
from touchstone.streams.wire.codec import RESULT_TYPE

#: Similarity from which a name counts as a typing error (`difflib`): one wrong letter in five.
ALIKE_MIN = 0.8
_SHOWN_MAX = 20
_DIGITS = re.compile(r"\d+")


class OutOfScope(BadRequest):
    """The token is for none of the suites that are named."""

    status = 403


def checked(wish: Wish, grant: Grant, service: Service) -> Wish:
    """The wish, with a note for the stream's first message if a name is not known here.

    Raises `BadRequest` for a name that looks like a typing error, and `OutOfScope` if the token sees none of the suites.
    """
    chosen = wish.chosen
    if grant.scope is not None and chosen.suites and not chosen.suites & grant.scope:
        raise OutOfScope(f"suite: this token is for {_listed(grant.scope)} only; ask for one of these, or send a token for {_listed(chosen.suites)}")
    if chosen.suites <= service.suites.keys() and not chosen.types:
        return wish
    events = [seen.event for seen in service.hub.window.backwards()]
    suites = {*service.suites, *suite_entry_points(), *(event.suite for event in events if event.suite)}
    suites.update(*(one.suites or () for one in service.settings.serve.grants()))
    types = {RESULT_TYPE, PREVALENCE_TYPE, *(suite.report_type for suite in service.suites.values()), *(event.type for event in events)}
    seen = {name for name in suites if grant.sees(name)}
    notes = [*_unknown("suite", chosen.suites, seen), *_unknown("event", chosen.types, types)]
    return replace(wish, note="; ".join(notes)) if notes else wish


def _unknown(parameter: str, named: Collection[str], known: Collection[str]) -> Iterable[str]:
    """A note for each unknown name. Raises `BadRequest` for one that looks like a typing error."""
    for name in sorted(set(named) - set(known)):
        shown = ascii(name[:64])
        near = max(sorted(known), key=lambda one: _likeness(name, one), default="")
        if _likeness(name, near) >= ALIKE_MIN:
            raise BadRequest(f"{parameter}: unknown name {shown}; did you mean {near}? There are {_listed(known)}")
        yield f"{parameter} {shown} is unknown here and has sent nothing yet (known: {_listed(known)}); waiting for its events"


def _likeness(name: str, known: str) -> float:
    """How alike two names are, 0 to 1: the least of their parts between colons. 0 for names that differ in a number only, which are versions of each other."""
    parts, others = name.casefold().split(":"), known.casefold().split(":")
    if len(parts) != len(others) or (_DIGITS.sub("", name) == _DIGITS.sub("", known)):
        return 0.0
    return min(difflib.SequenceMatcher(None, one, other).ratio() for one, other in zip(parts, others, strict=True))


def _listed(names: Collection[str]) -> str:
    """The names, at most so many."""
    ordered = sorted(names)
    more = f" and {len(ordered) - _SHOWN_MAX} more" if len(ordered) > _SHOWN_MAX else ""
    return (", ".join(ordered[:_SHOWN_MAX]) or "none") + more
