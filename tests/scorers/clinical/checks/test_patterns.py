"""Patterns that come from outside are tried in bounded time, or not at all."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchstone.scorers.clinical.checks.pattern_steps import steps_at_most
from touchstone.scorers.clinical.checks.patterns import BACKTRACKED_CHARS_MAX, STEPS_MAX, PatternError, read_pattern


@contextmanager
def within(processor_s: float) -> Iterator[None]:
    """Fails where the block takes more processor time; Python's engine looks for signals while it backtracks."""

    def stop(*_: Any) -> None:
        raise AssertionError(f"more than {processor_s} s of processor time")

    former = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, processor_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)


@pytest.mark.parametrize(
    ("regex", "held", "broken"),
    [
        (r"\d{2,3}", "123", "1234"),
        (r"^(?:AB|CD)\d$", "CD7", "CD"),
        (r"(a)\1", "aa", "ab"),
        (r"^(?!666|000)\d{3}-(?!00)\d{2}-(?!0000)\d{4}$", "123-45-6789", "123-00-6789"),
        (r"^(?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{8,}$", "Abcdefg1", "abcdefg1"),
        (r"(?<=x)?[A-Z]+(?!.)", "ABC", "ABc"),
        (r"(?>a|ab)c(?!d)", "ac", "abc"),
        (r"(?i)(?!x)[a-c]{2}", "aB", "xb"),
        (r"(?!x)a*+b", "aab", "aa"),
        (r"(?!x)[^]a](?:[]b]|c)", "c]", "a]"),
        (r"(?!x)a{,2}b{}", "aab{}", "aaab{}"),
    ],
)
def test_a_pattern_tells_texts_of_its_form_from_others(regex: str, held: str, broken: str) -> None:
    assert read_pattern(regex)(held) is True
    assert read_pattern(regex)(broken) is False


@pytest.mark.parametrize(
    "regex",
    [
        "(?x)(?=a)(a+) +b", "(?=a)(a+)(?#x)+b", "(?!x)" + "(?:a|ab|)" * 30 + "c", "(?=a)(a+)+b", "(?!x)((?:a|ab)c?)*d", "(?!x).*.*.*.*y", r"(a*)*\1b",
        "(?=a)" + "a?" * 40 + "a" * 40, r"(?=(\w+\s?)*$)!", "(?:(?=(a+)+b)|a)+c", "(?=a)a{1,99}a{1,99}a{1,99}b", r"(?P<n>a+)+(?P=n)b", "(a)?(?(1)b|c)(?=d)",
        "(?-i:(?=a)(a+)+b)", "(?=a)((a{0,9}){0,9}){0,9}b", r"(.*)(.*)(.*)\1\2\3z",
    ],
)  # fmt: skip
def test_a_pattern_whose_steps_cannot_be_bounded_is_not_tried(regex: str) -> None:
    with pytest.raises(PatternError, match="may take too long") as raised:
        read_pattern(regex)
    assert raised.value.is_readable
    assert regex not in str(raised.value)


@pytest.mark.parametrize("regex", ["(", "a)|(?:b", "[z-a]", "(?<n>a", "*", "(" * 3_000 + ")" * 3_000])
def test_what_is_no_pattern_is_told_from_what_is_too_slow(regex: str) -> None:
    for anywhere in (False, True):
        with pytest.raises(PatternError, match="cannot be read") as raised:
            read_pattern(regex, anywhere=anywhere)
        assert not raised.value.is_readable


@pytest.mark.parametrize("regex", ["(a+)+$", "(?:a|ab|)*c", "(x+x+)+y", "(?x)(a+) +b", "(?:a?){1,20}b", "(?P<n>a+)+b"])
def test_patterns_without_look_around_take_linear_time(regex: str) -> None:
    with within(2):
        assert read_pattern(regex)("a" * 20_000 + "!") is False
        assert read_pattern(regex, anywhere=True)("a" * 4_000 + "!") is False


@pytest.mark.parametrize(
    ("regex", "text", "anywhere", "whole"),
    [("b", "abc", True, False), ("(?!x)b", "abc", True, False), ("^abc$", "abc", True, True), ("(?=d)", "abc", False, False), ("a|b", "cb", True, False)],
)
def test_a_pattern_may_be_asked_of_a_part_of_a_text(regex: str, text: str, anywhere: bool, whole: bool) -> None:
    assert read_pattern(regex, anywhere=True)(text) is anywhere
    assert read_pattern(regex)(text) is whole


def test_a_dot_and_classes_are_as_asked() -> None:
    for regex in ("a.b", "(?!x)a.b"):
        assert read_pattern(regex, dot_all=True)("a\nb")
        assert not read_pattern(regex)("a\nb")
    arabic = "\u0663"
    for regex in (r"\d", r"[\d-]", r"(?!x)\d", r"\w", r"[^\W_]"):
        assert read_pattern(regex)(arabic) is True
        assert read_pattern(regex, ascii_only=True)(arabic) is False
        assert read_pattern(regex, ascii_only=True)("7") is True
    assert read_pattern(r"\\d", ascii_only=True)(r"\d")


def test_a_text_beyond_the_bound_of_the_backtracking_engine_is_not_decided() -> None:
    asked = read_pattern("(?!x)a*")
    assert asked("a" * BACKTRACKED_CHARS_MAX) is True
    assert asked("a" * (BACKTRACKED_CHARS_MAX + 1)) is None


_ATOMS = st.sampled_from(["a", "b", ".", r"\w", "[ab]", "a?", "ab", "", r"\b", "^", "$", r"\1"])
_REPEATS = st.sampled_from(["", "*", "+", "?", "{2}", "{,3}", "{1,9}", "{2,}", "*?", "++", "{3}?"])
_GROUPS = st.sampled_from(["(", "(?:", "(?=", "(?!", "(?>", "(?P<n>"])


def _nested(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(st.builds("{}{}".format, parts, _REPEATS), min_size=1, max_size=4).map("".join)
    return st.builds("{}{}{})".format, _GROUPS, several, st.sampled_from(["", "|a", "|"])) | several


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(regex=st.recursive(_ATOMS, _nested, max_leaves=12), anywhere=st.booleans())
def test_whatever_is_tried_by_the_backtracking_engine_is_quick(regex: str, anywhere: bool) -> None:
    try:
        known = re.compile(regex)
    except (re.error, RecursionError):
        return
    if steps_at_most(regex, BACKTRACKED_CHARS_MAX, STEPS_MAX, anywhere=anywhere) is None:
        return
    act = known.search if anywhere else known.fullmatch
    for text in ("a" * BACKTRACKED_CHARS_MAX, "ab" * (BACKTRACKED_CHARS_MAX // 2), "a" * (BACKTRACKED_CHARS_MAX - 1) + "!"):
        with within(0.5):
            act(text)
