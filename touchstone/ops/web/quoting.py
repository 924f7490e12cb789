"""What may quote a case, and who gets it: the one rule for lists, single results and streams. Without the scope `text` it is left out."""

from collections.abc import Mapping
from typing import Any

import orjson

from touchstone.streams.subscription.events import Event

#: Fields of a result event that may quote the case, where the suite is set to quote.
MAY_QUOTE = frozenset({"details"})


def without_text(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result event without what may quote the case: details, and the findings' messages and suggestions."""
    shown = {name: value for name, value in result.items() if name not in MAY_QUOTE}
    shown["findings"] = [{**finding, "message": "", "suggestion": None} for finding in result.get("findings") or ()]
    return shown


def value_of(event: Event, *, has_text: bool) -> bytes:
    """An event as a client gets it: its bytes on the topic, or a result without what may quote. Reports hold ids and figures, and stay as they are."""
    if has_text or not event.is_result:
        return event.value
    return orjson.dumps(without_text(orjson.loads(event.value)))
