"""Reads the query parameters of requests, within bounds. A mistake is reported in one line that names the parameter."""

from collections.abc import Collection, Mapping
from typing import Any, get_args

from starlette.datastructures import QueryParams

from touchstone.ops.web.access import Grant
from touchstone.schemas.result import Label
from touchstone.streams.subscription.events import Filter
from touchstone.streams.subscription.following import Wish
from touchstone.streams.subscription.positions import read_positions, read_topic_ids

NAME_CHARS_MAX = 256
NAMES_MAX = 100
LIMIT_MAX = 500
MINUTES_MAX = 24 * 60
#: Parameter → the field of a filter.
FILTERS = {"event": "types", "suite": "suites", "label": "labels", "concern": "concerns", "batch": "batches"}
_LABELS: Mapping[str, str] = {label.lower(): label for label in get_args(Label)}


class BadRequest(Exception):
    """A parameter that cannot be read. The message is one line for people."""

    status = 400


class MissingScope(BadRequest):
    """The token lacks a scope."""

    status = 403

    def __init__(self, scope: str) -> None:
        super().__init__(f"this needs a token with the scope {scope} (serve.tokens: suites/{scope}:TOKEN)")


class UnknownClient(BadRequest):
    """A client that gives no valid token or ticket."""

    status = 401


def check_scope(grant: Grant, scope: str) -> None:
    """Raise `MissingScope` if the client's token lacks a scope."""
    if not grant.may(scope):
        raise MissingScope(scope)


def check_names(query: QueryParams, names: Collection[str], *, repeated: Collection[str] = ()) -> None:
    """Raise `BadRequest` for parameters that an address does not have, and for a second value of those that have one, instead of ignoring them."""
    for name in query:
        if name not in names:
            there_are = f"there are {', '.join(sorted(names))}" if names else "there are none"
            raise BadRequest(f"no parameter {name[:40]!r} here; {there_are}")
        if name not in repeated and len(query.getlist(name)) > 1:
            raise BadRequest(f"{name}: give it once")


def read_filter(query: QueryParams, grant: Grant, *, further: frozenset[str]) -> Filter:
    """The filter of a request. `further`: other parameters that it may have. Raises `BadRequest` for unknown ones, instead of ignoring them."""
    check_names(query, further | FILTERS.keys(), repeated=FILTERS.keys())
    chosen: dict[str, Any] = {field: _names(query, name) for name, field in FILTERS.items()}
    labels = {name: _LABELS.get(name.lower()) for name in chosen["labels"]}
    if None in labels.values():
        raise BadRequest(f"label: give one of {', '.join(_LABELS.values())}")
    chosen["labels"] = frozenset(labels.values())
    return Filter(**chosen, scope=grant.scope)


def read_wish(query: QueryParams, last_event_id: str | None, grant: Grant) -> Wish:
    """What the request of a stream asks for. A browser that reconnects names its last event, which wins over `since` and `snapshot`."""
    chosen = read_filter(query, grant, further=frozenset({"since", "snapshot", "ticket"}))
    snapshot = number(query, "snapshot", default=0, least=0, most=LIMIT_MAX)
    if last_event_id:
        positions = read_positions(last_event_id)
        return Wish(chosen, positions, read_topic_ids(last_event_id), snapshot, None if positions is not None else "unknown")
    since = query.get("since")
    if not since:
        return Wish(chosen, snapshot=snapshot)
    positions = read_positions(since)
    if positions is None:
        raise BadRequest("since: give the id of an event, whole and as the stream wrote it")
    return Wish(chosen, positions, read_topic_ids(since), snapshot)


def number(query: QueryParams, name: str, *, default: int, least: int, most: int) -> int:
    """A whole number within bounds."""
    text = query.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 9 or not least <= int(text) <= most:
        raise BadRequest(f"{name}: give a whole number from {least:,} to {most:,}")
    return int(text)


def _names(query: QueryParams, name: str) -> frozenset[str]:
    """The values of a parameter that may be repeated, separated by commas, or both."""
    found = frozenset(part.strip() for text in query.getlist(name) for part in text.split(",") if part.strip())
    if len(found) > NAMES_MAX or any(len(part) > NAME_CHARS_MAX for part in found):
        raise BadRequest(f"{name}: at most {NAMES_MAX} names of at most {NAME_CHARS_MAX} characters")
    return found
