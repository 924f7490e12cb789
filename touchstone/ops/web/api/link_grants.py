"""What a link to a queue allows, once it is checked."""

from collections.abc import Callable

from touchstone.ops.web.access import Grant
from touchstone.ops.web.api.calls import Refusal
from touchstone.ops.web.api.sources import Sources
from touchstone.ops.web.links import Signer, read_link


class LinkGrants:
    """Checks links against the keys of their queues."""

    def __init__(self, sources: Sources, signer: Signer, clock: Callable[[], float]) -> None:
        self._sources = sources
        self._signer = signer
        self._clock = clock

    def grant(self, unchecked: Grant) -> Grant:
        """What a link allows. Raises `Refusal` (401) if it is not valid any more."""
        found = read_link(unchecked.link)
        row = self._sources.get().queues.get(found[0].queue) if found is not None else None
        if found is None or row is None or not self._signer.is_valid(*found, row.link_key, self._clock()):
            raise Refusal("this link has ended, or was revoked; ask for a new one", 401)
        suite = row.definition.suite
        scope = frozenset({suite}) if suite is not None else None
        return Grant(scope, frozenset({"text", "annotate"}), found[0].reviewer, unchecked.taken, queue=row.name)
