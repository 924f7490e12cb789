"""The name in a request's Host header: a page of another origin reaches a service of this machine only under a name of its own (DNS rebinding)."""

from collections.abc import Collection
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

#: Names of loopback. Another name leads there only by DNS rebinding.
OWN_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})


def own_names(allowed: Collection[str], *, is_loopback: bool) -> frozenset[str] | None:
    """Names by which a service may be addressed: those of its setting, else loopback's where only this machine can connect; None: any."""
    return frozenset(filter(None, map(host_name, allowed))) | OWN_NAMES if allowed else OWN_NAMES if is_loopback else None


def is_own(host: str, names: frozenset[str] | None) -> bool:
    """True for one of the names, and for an address: no name was resolved then. Probes and scrapers use the address of a pod."""
    name = host_name(host)
    if names is None or name in names:
        return True
    with suppress(ValueError):
        ip_address(name)
        return True
    return False


def host_name(host: str) -> str:
    """The name in a Host header, without port, brackets and the dot of a full name, in lower case."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower().removesuffix(".")
    except ValueError:
        return ""
