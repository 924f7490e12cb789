"""Who may see which suites and do what: bearer tokens, and one-use tickets for browsers, whose streams cannot send a header."""

import hashlib
import hmac
import secrets
import time
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from touchstone.ops.web.links import link_in
from touchstone.schemas.settings.house import TOKEN_SCOPES, TokenGrant

#: Suites that a client may see; None: all of them.
Scope = frozenset[str] | None
TICKET_CHARS_MAX = 256
#: Used tickets that are remembered until they expire.
USED_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Grant:
    """The suites that a client may see, and its scopes: what it may do with their cases.

    `name`: whose token it is; empty if the settings do not say. `taken`: the names of all tokens, as `_folded` writes them.
    `link`: a link to a queue that has not been checked yet, and allows nothing until it is. `queue`: the only one that the client may see.
    """

    scope: Scope
    scopes: frozenset[str] = frozenset({"results"})
    name: str = ""
    taken: frozenset[str] = frozenset()
    link: str = ""
    queue: str = ""

    def sees(self, suite: str | None) -> bool:
        """True if the client may see events of a suite."""
        return self.scope is None or suite in self.scope

    def may(self, scope: str) -> bool:
        """True if the client has a scope."""
        return scope in self.scopes

    def may_write_as(self, reviewer: str) -> bool:
        """True if the client may write under a name: its own; without one, any that belongs to no token and is not like one; an admin, any."""
        if self.may("admin"):
            return True
        return reviewer == self.name if self.name else _folded(reviewer) not in self.taken


def _folded(name: str) -> str:
    """A name without what people do not see: case, blanks, forms of the same letter."""
    return "".join(one for one in unicodedata.normalize("NFKC", name).casefold() if one.isprintable() and not one.isspace())


EVERYTHING = Grant(None, TOKEN_SCOPES)
NOTHING = Grant(frozenset(), frozenset())


class Access:
    """Checks tokens and tickets. Without any token, every client sees everything and may do everything.

    Tickets are signed with a key made from the tokens, so every instance with the same settings accepts a ticket, each of them once.
    `scraper`: a token for the metrics alone, the same as for the pages of other processes.
    """

    def __init__(
        self,
        tokens: Sequence[TokenGrant],
        ticket_s: float,
        clock: Callable[[], float] = time.time,
        *,
        scraper: str | None = None,
    ) -> None:
        taken = frozenset(_folded(one.name) for one in tokens if one.name)
        self._tokens = [(one.token.encode(), Grant(one.suites, one.scopes, one.name, taken)) for one in tokens]
        self._ticket_s = ticket_s
        self._clock = clock
        self._scraper = None if scraper is None else f"Bearer {scraper}".encode()
        self._key = hashlib.sha256(b"\0".join([b"touchstone ticket", *(token for token, _ in self._tokens)])).digest() if tokens else secrets.token_bytes(32)
        self._used: dict[str, float] = {}
        self.taken = taken

    @property
    def is_open(self) -> bool:
        """True if no token is needed."""
        return not self._tokens

    def by_header(self, header: str | None) -> Grant | None:
        """The grant of an `Authorization` header; None if it has no valid token. A link to a queue is one that has to be checked yet."""
        index = self._index_of(header)
        link = link_in(header) if index < 0 else ""
        return Grant(frozenset(), frozenset(), taken=self.taken, link=link) if link else self._granted(index)

    def by_scraper(self, header: str | None) -> Grant | None:
        """The grant of the scraper's token, which covers metrics and no suite; None for other headers."""
        is_scraper = self._scraper is not None and hmac.compare_digest((header or "").encode("utf-8", "replace"), self._scraper)
        return NOTHING if is_scraper else None

    def by_token(self, token: str) -> Grant | None:
        """The grant of a token or ticket; None if it is not valid."""
        return self.by_header(f"Bearer {token}") or self.by_ticket(token)

    def ticket(self, header: str | None) -> str | None:
        """A new ticket for the bearer of a token; None without a valid token."""
        index = self._index_of(header)
        if self._granted(index) is None or (index < 0 and link_in(header)):
            return None
        expires = int((self._clock() + self._ticket_s) * 1000)
        body = f"{index}.{expires}.{secrets.token_urlsafe(12)}"
        return f"{body}.{self._signature(body)}"

    def by_ticket(self, ticket: str | None) -> Grant | None:
        """The grant of a ticket, once; None if it is not valid."""
        if not ticket or len(ticket) > TICKET_CHARS_MAX or not ticket.isascii():
            return None
        body, _, signature = ticket.rpartition(".")
        if not hmac.compare_digest(self._signature(body).encode(), signature.encode()):
            return None
        index, expires, _ = body.split(".")
        now = self._clock()
        self._used = {used: until for used, until in self._used.items() if until > now} if len(self._used) > 1_000 else self._used
        if now > int(expires) / 1000 or ticket in self._used or len(self._used) >= USED_MAX:
            return None
        self._used[ticket] = int(expires) / 1000
        return self._granted(int(index))

    def _index_of(self, header: str | None) -> int:
        """The index of the token in a header, compared in constant time; -1 without a valid one."""
        scheme, _, rest = (header or "").partition(" ")
        # The scheme is case-insensitive (RFC 9110 §11.1), the token is not.
        given = f"{'Bearer' if scheme.lower() == 'bearer' else scheme} {rest}".encode("utf-8", "replace")
        found = -1
        for index, (token, _) in enumerate(self._tokens):
            if hmac.compare_digest(given, b"Bearer " + token):
                found = index
        return found

    def _granted(self, index: int) -> Grant | None:
        if self.is_open:
            return EVERYTHING
        return self._tokens[index][1] if 0 <= index < len(self._tokens) else None

    def _signature(self, body: str) -> str:
        return hmac.new(self._key, body.encode(), hashlib.sha256).hexdigest()[:43]
