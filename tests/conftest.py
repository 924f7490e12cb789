"""What holds for every test."""

import os
import signal
from collections.abc import Iterator
from types import FrameType

import pytest
from hypothesis import settings

from tests.ordering import shared_out

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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In one of several processes: the longest tests first. Tests in groups (`--dist loadgroup`) are short, and are left as they are."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes > 1 and not getattr(config.option, "loadgroup", False):
        items[:] = shared_out(items, processes)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """For a test that sends Ctrl-C to its own process: it raises `KeyboardInterrupt`, also in a background job."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
