"""Links that admit one reviewer to one queue: signed, with an end, and useless once the queue's key or the service's tokens change."""

import binascii
import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Final, NamedTuple

import orjson

from touchstone.schemas.settings.house import TokenGrant

#: What a link's token begins with.
PREFIX: Final = "link."
CHARS_MAX: Final = 2_048


class Linked(NamedTuple):
    """What a link says: who may review which queue, until when (seconds since the epoch)."""

    queue: str
    reviewer: str
    expires: int


def link_in(header: str | None) -> str:
    """The link in an `Authorization` header; empty if there is none."""
    scheme, _, token = (header or "").partition(" ")
    return token if scheme.lower() == "bearer" and token.startswith(PREFIX) else ""


def read_link(token: str) -> tuple[Linked, str] | None:
    """What a link says, and its signature, which is not checked here; None if it is none."""
    if len(token) > CHARS_MAX or not token.isascii():
        return None
    body, _, signature = token.removeprefix(PREFIX).rpartition(".")
    try:
        queue, reviewer, expires = orjson.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (binascii.Error, ValueError, TypeError):
        return None
    is_link = isinstance(queue, str) and isinstance(reviewer, str) and isinstance(expires, int)
    return (Linked(queue, reviewer, expires), signature) if is_link else None


class Signer:
    """Signs links with a key made of the service's tokens and of the queue's own key."""

    def __init__(self, tokens: Sequence[TokenGrant]) -> None:
        self._key = hashlib.sha256(b"\0".join([b"touchstone link", *(one.token.encode() for one in tokens)])).digest()
        #: Without tokens, everything is open anyway, and a link says only who reviews what.
        self.is_enforced = bool(tokens)

    def signed(self, linked: Linked, link_key: str) -> str:
        """The link as a token."""
        body = urlsafe_b64encode(orjson.dumps(list(linked))).rstrip(b"=").decode()
        return f"{PREFIX}{body}.{self.signature(linked, link_key)}"

    def signature(self, linked: Linked, link_key: str) -> str:
        """The signature of a link to a queue with this key."""
        return hmac.new(self._key, b"\0".join([link_key.encode(), orjson.dumps(list(linked))]), hashlib.sha256).hexdigest()

    def is_valid(self, linked: Linked, signature: str, link_key: str, now: float) -> bool:
        """True if a link was signed with this key and has not ended."""
        return hmac.compare_digest(self.signature(linked, link_key).encode(), signature.encode()) and now < linked.expires
