"""Whether an idle connection can be used again."""

import select
from typing import Protocol


class Socket(Protocol):
    """What has a file descriptor: a socket, or what stands for one in an event loop."""

    def fileno(self) -> int: ...  # noqa: D102 -- the name is the documentation


def is_readable(connection: Socket) -> bool:
    """True if an idle connection has something to read: its end, or bytes that answer no request of ours."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
