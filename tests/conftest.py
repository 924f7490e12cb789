"""Settings and hooks for every test."""

import gc
import importlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings

from tests.ordering import MARKS, ModelsTogether, names_a_mark, shared_out

# A deadline measures the machine, not the code: another process's load must not fail a test.
settings.register_profile("touchstone", deadline=None)
# A change is not refused for a case that chance found in it today: in CI the same cases are tried every time, and new ones wherever else tests run.
# Half as many there, where a test names no number: a case that is tried every day is not tried better by a second one of its kind.
settings.register_profile("gate", settings.get_profile("touchstone"), derandomize=True, max_examples=50)
settings.load_profile("gate" if os.environ.get("CI") else "touchstone")

#: Signals that a background job or `nohup` ignores.
OFTEN_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def let_children_have_signals() -> None:
    """Start children with the default handler of every signal, even if this process ignores some.

    A shell ignores Ctrl-C for a background job. A child inherits ignored signals, but never handlers. So a handler that does nothing keeps the signal
    without effect here and gives each child the default.
    """
    for number in OFTEN_IGNORED:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _do_nothing)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Keep the signal without effect."""


let_children_have_signals()


# 11,000 tests are collected, and every item lives until the end: looking for garbage among them took half of the collection's time.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Collect garbage from here on, but not among what was collected and imported so far.

    Trap: Python 3.11 may fail to parse a module ("AST constructor recursion depth mismatch") if garbage is collected meanwhile and its finalizers run.
    The largest module that pytest parses, and that a first test would import otherwise, is imported before.
    """
    importlib.import_module("hypothesis.strategies._internal.types")
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ModelsTogether | None:
    """Keep the tests of models in one process."""
    return ModelsTogether(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """An option for the slow tests, which stand in a fifth of the files: to import the others in every process takes minutes of processor time."""
    parser.addoption("--marked-files", action="store_true", help=f"read only test files that name one of the marks {', '.join(MARKS)}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what has quick tests alone, if only the others are wanted."""
    is_left_out = config.getoption("--marked-files") and collection_path.suffix == ".py" and not names_a_mark(collection_path)
    return True if is_left_out else None


@pytest.hookimpl(tryfirst=True, specname="pytest_collection_modifyitems")
def pytest_check_marks(items: list[pytest.Item]) -> None:
    """Refuse a marked test that `--marked-files` would not find, before any test is deselected."""
    lost = {item.path for item in items if not names_a_mark(item.path) and any(item.get_closest_marker(mark) for mark in MARKS)}
    if lost:
        raise pytest.UsageError(f"{', '.join(map(str, sorted(lost)))}: marked from elsewhere; name the mark in the file, or --marked-files leaves it out")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the longest tests first in each of several processes. Tests in groups (`--dist loadgroup`) are short and keep their order."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes > 1 and not getattr(config.option, "loadgroup", False):
        items[:] = shared_out(items, processes)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """For a test that sends Ctrl-C to its own process: it raises `KeyboardInterrupt`, also in a background job."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
