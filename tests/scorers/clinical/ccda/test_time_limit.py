from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from tests.scorers.clinical.ccda.documents import ccd, codes, validated
from touchstone.scorers.clinical.formats.ccda import time_limit, was_validated


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()
    for one in [one for one in threading.enumerate() if one.name == "ccda"]:
        one.join(30)


def busy(stop: threading.Event) -> None:
    while not stop.is_set():
        sum(range(1_000))


def test_a_call_that_ends_is_waited_for_and_its_error_is_the_caller_s() -> None:
    done = []
    assert time_limit.within(5, lambda: done.append(1)) == "done"
    assert done == [1]
    with pytest.raises(ZeroDivisionError):
        time_limit.within(5, lambda: print(1 // 0))


def test_a_call_is_given_up_by_the_time_it_takes_of_the_processor(stop: threading.Event) -> None:
    assert time_limit.within(0.05, lambda: busy(stop)) == "given up"


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="the system does not tell a thread's time")
def test_a_call_that_waits_is_not_given_up(stop: threading.Event) -> None:
    assert time_limit.within(0.05, lambda: time.sleep(0.2)) == "done"


def test_beyond_so_many_given_up_nothing_is_begun_until_one_has_ended(stop: threading.Event) -> None:
    for _ in range(time_limit.GIVEN_UP_MAX):
        assert time_limit.within(0.01, lambda: busy(stop)) == "given up"
    assert time_limit.within(5, lambda: None) == "refused"
    report = validated(ccd())
    assert codes(report) == {"ccda.internal.time"}
    assert not was_validated(report)
    stop.set()
    for one in [one for one in threading.enumerate() if one.name == "ccda"]:
        one.join(30)
    assert time_limit.within(5, lambda: None) == "done"


def test_what_is_lent_is_for_one_at_a_time_and_kept() -> None:
    pool = time_limit.Pool(object)
    with pool.one() as first, pool.one() as second:
        assert first is not second
    with pool.one() as again:
        assert again in {first, second}
