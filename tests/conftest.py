"""What holds for every test."""

import signal
from collections.abc import Iterator
from types import FrameType

import pytest
from hypothesis import settings

# A deadline measures the machine, not the code: another process's load must not fail a test.
settings.register_profile("touchstone", deadline=None)
settings.load_profile("touchstone")

#: What a background job or `nohup` has a process ignore.
OFTEN_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def let_children_have_signals() -> None:
    """Start children with the default for every signal, also where this process was told to ignore some.

    Whoever starts a job in the background ignores Ctrl-C for it, and a child inherits what is ignored, but never what is
    handled. A handler that does nothing keeps the signal without effect here and gives each child the default.
    """
    for number in OFTEN_IGNORED:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _unheard)


def _unheard(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""


let_children_have_signals()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """For a test that sends Ctrl-C to its own process: it raises `KeyboardInterrupt`, also in a background job."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
