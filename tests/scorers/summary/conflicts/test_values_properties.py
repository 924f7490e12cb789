from __future__ import annotations

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from touchstone.scorers.summary.conflicts.values import read, same
from touchstone.scorers.summary.conflicts.values.differences import find

_SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()  # noqa: SIM905
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_SEPARATORS = (",", "\u00a0", "\u202f", "\u2009", " ", "'")
_WORDS = "about 5 mg twice daily half 3 March 2024 , . - to of the nine 9-4 $ % million every 8 hours 1,800 [3] a third p.m. 08:00 patients room and".split(" ")  # noqa: SIM905


def spelt(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    if number < 100:
        return _TENS[number // 10 - 2] + (f"-{_SMALL[number % 10]}" if number % 10 else "")
    for scale, name in ((1_000_000, "million"), (1_000, "thousand"), (100, "hundred")):
        if number >= scale:
            rest = number % scale
            joined = f" and {spelt(rest)}" if 0 < rest < 100 else f" {spelt(rest)}" if rest else ""
            return f"{spelt(number // scale)} {name}{joined}"
    raise AssertionError(number)


def equal(here: str, there: str) -> bool:
    (mine,), (its,) = read(here)[1], read(there)[1]
    return same(mine, its) and same(its, mine)


@given(st.integers(0, 999_999_999), st.sampled_from(_SEPARATORS))
def test_a_count_equals_itself_in_figures_groups_and_words(number: int, separator: str) -> None:
    grouped = f"{number:,}".replace(",", separator)
    assert equal(f"{number} people", f"{grouped} people")
    assert equal(f"{number} people", f"{spelt(number)} people")


@given(
    st.integers(1, 9_999),
    st.sampled_from([("mg", 1_000, "mcg"), ("g", 1_000, "mg"), ("km", 1_000, "m"), ("litres", 1_000, "ml"), ("hours", 60, "minutes"), ("weeks", 7, "days")]),
)
def test_a_quantity_equals_itself_in_a_smaller_unit(number: int, units: tuple[str, int, str]) -> None:
    larger, factor, smaller = units
    assert equal(f"{number} {larger}", f"{number * factor} {smaller}")


@given(st.dates(dt.date(1700, 1, 1), dt.date(2099, 12, 31)))
def test_a_date_equals_itself_in_any_order(date: dt.date) -> None:
    written = [
        date.isoformat(),
        f"{date.day} {date:%B} {date.year}",
        f"{date:%B} {date.day}, {date.year}",
        f"{date:%d/%m/%Y}",
        f"{date:%m/%d/%Y}",
        f"{date:%d %b %Y}",
    ]
    assert all(equal(f"on {one}", f"on {other}") for one in written for other in written[:3])


@given(st.integers(0, 23), st.integers(0, 59))
def test_a_time_of_day_equals_itself_with_and_without_noon(hour: int, minute: int) -> None:
    assert equal(f"at {hour:02}:{minute:02}", f"at {hour % 12 or 12}:{minute:02} {'p.m.' if hour >= 12 else 'a.m.'}")


@given(st.integers(1, 999_999), st.sampled_from([("$", "dollars"), ("€", "euros"), ("£", "pounds")]))
def test_a_price_equals_itself_with_sign_and_name(amount: int, currency: tuple[str, str]) -> None:
    assert equal(f"{currency[0]}{amount:,}", f"{amount} {currency[1]}")


@given(st.integers(2, 999_998), st.integers(1, 999_999))
def test_another_count_of_the_same_thing_is_a_conflict(number: int, more: int) -> None:
    other = number + number // 10 + more
    assert [difference.rule for difference in find(f"The town has {other} inhabitants.", [f"The town has {number} inhabitants."])] in (["number"], [])
    assert find(f"The town has {other} inhabitants.", [f"The town has {number} inhabitants."])


@given(st.lists(st.sampled_from(_WORDS), max_size=25).map(" ".join))
def test_a_sentence_of_value_words_never_contradicts_itself(sentence: str) -> None:
    assert find(sentence, [sentence]) == []


@given(st.text(max_size=200))
def test_any_text_can_be_read_and_does_not_contradict_itself(text: str) -> None:
    assert find(text, [text]) == []
