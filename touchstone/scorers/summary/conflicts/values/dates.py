"""Dates as they are written: days, months, years, decades and weekdays, each with its open parts."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.values.numerals import numeral
from touchstone.scorers.summary.conflicts.values.tokens import Tokens
from touchstone.scorers.summary.word_lists import word_lists

_LISTS = word_lists(__file__, "words")

_MONTH_NAMES = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]
MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_SHORT_MONTHS = {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
WEEKDAYS = {name: number for number, name in enumerate(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])}
_SEASONS = {"spring": (2, 3, 4, 5, 6), "summer": (5, 6, 7, 8, 9), "autumn": (8, 9, 10, 11, 12), "fall": (8, 9, 10, 11, 12), "winter": (11, 12, 1, 2, 3)}
#: Words that are months too; they count as one only among words of a date.
_DOUBTFUL = frozenset({"may", "march"})
_BEFORE_MONTH = _LISTS["before_month"]
_BEFORE_YEAR = _BEFORE_MONTH | frozenset(["year", "around", "about", "circa", "c", "spring", "summer", "autumn", "fall", "winter", "(", "/", "back"])
_TENS_OF_YEARS = {"twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70, "eighties": 80, "nineties": 90}
_YEAR_MIN, _YEAR_MAX = 1000, 2199


class When(NamedTuple):
    """What a date says, None if it says nothing: the years [first, last], the months it may lie in, the day of the month, the weekday."""

    years: tuple[int, int] | None = None
    months: frozenset[int] | None = None
    day: int | None = None
    weekday: int | None = None

    def agreement(self, other: When) -> bool | None:
        """True if the parts that both say agree; None if they say no part in common."""
        agreements = [
            _overlap(self.years, other.years),
            None if self.months is None or other.months is None else bool(self.months & other.months),
            None if self.day is None or other.day is None else self.day == other.day,
            None if self.weekday is None or other.weekday is None else self.weekday == other.weekday,
        ]
        both = [one for one in agreements if one is not None]
        return all(both) if both else None

    def leaves_open(self, other: When) -> bool:
        """True if the other date says something that this one does not."""
        return any(mine is None and its is not None for mine, its in zip(self, other, strict=True)) or (
            self.years is not None and other.years is not None and self.years[1] - self.years[0] > other.years[1] - other.years[0]
        )

    def parts_alike(self, other: When) -> bool:
        """True if both say two parts or more and differ in one of them alone."""
        both = [(mine, its) for mine, its in zip(self, other, strict=True) if mine is not None and its is not None]
        return len(both) >= 2 and sum(mine != its for mine, its in both) == 1

    def follows(self, other: When) -> bool | None:
        """True if this date is later than the other one; None if that is not known."""
        mine, its = self._order(), other._order()
        both = [(one, two) for one, two in zip(mine, its, strict=True) if one is not None and two is not None]
        if not both or (mine[0] is None) != (its[0] is None) or all(one == two for one, two in both):
            return None
        return [one for one, _ in both] > [two for _, two in both]

    def _order(self) -> tuple[int | None, int | None, int | None]:
        return (self.years[0] if self.years else None, min(self.months) if self.months else None, self.day)

    def ordinal_day(self) -> int | None:
        """The day as a count, where day and month are known; an unknown year counts as 2000."""
        if self.day is None or self.months is None or len(self.months) != 1:
            return None
        year = self.years[0] if self.years and self.years[0] == self.years[1] else 2000
        try:
            return dt.date(year, next(iter(self.months)), self.day).toordinal()
        except ValueError:
            return None


def _overlap(mine: tuple[int, int] | None, other: tuple[int, int] | None) -> bool | None:
    return None if mine is None or other is None else mine[0] <= other[1] and other[0] <= mine[1]


class Dated(NamedTuple):
    """A date at tokens up to `after`. `readings`: what it may mean; `others`: further dates the same words name ("3 and 5 March")."""

    readings: tuple[When, ...]
    after: int
    others: tuple[tuple[int, When], ...] = ()


def date(tokens: Tokens, place: int) -> Dated | None:
    """The date that begins at this token, or nothing."""
    token = tokens[place]
    if token.kind == "number":
        return _in_figures(tokens, place) or _day_first(tokens, place) or _decade(tokens, place) or _year(tokens, place)
    if token.kind == "sign":
        apostrophe = token.text in {"'", "’"} and tokens[place + 1].kind == "number" and len(tokens.text(place + 1)) == 2 and tokens.text(place + 2) == "s"
        return _decade(tokens, place + 1) if apostrophe else None
    if token.kind != "word":
        return None
    for reader in (_weekday, _month_first, _day_first, _century, _season, _decade_in_words, _year_in_words):
        found = reader(tokens, place)
        if found:
            return found
    return None


def _in_figures(tokens: Tokens, place: int) -> Dated | None:
    """2024-03-03, 3.3.2024, 03/03/2024, 03/03."""
    text = tokens.text(place)
    if "." in text or "," in text:
        parts = text.split(".")
        return (
            _three([int(part) for part in parts], parts, place + 1) if len(parts) == 3 and all(len(part) <= 4 for part in parts) and "," not in text else None
        )
    parts = [text]
    sign = tokens.text(place + 1)
    if sign not in {"/", "-"}:
        return None
    after = place + 1
    while len(parts) < 3 and tokens.text(after) == sign and tokens[after].close and tokens[after + 1].close and tokens.text(after + 1).isdigit():
        parts.append(tokens.text(after + 1))
        after += 2
    if not all(part.isdigit() and len(part) <= 4 for part in parts):
        return None
    numbers = [int(part) for part in parts]
    if len(parts) == 3:
        return _three(numbers, parts, after)
    if sign == "/" and len(parts) == 2 and max(map(len, parts)) == 2 and min(map(len, parts)) == 2:
        first, second = numbers
        return _either(first, second, None, after) if max(first, second) <= 31 and min(first, second) <= 12 and first else None
    return None


def _three(numbers: list[int], parts: list[str], after: int) -> Dated | None:
    first, second, third = numbers
    if len(parts[0]) == 4 and 1 <= second <= 12 and 1 <= third <= 31:
        return Dated((When((first, first), frozenset({second}), third),), after)
    if len(parts[2]) in {2, 4} and max(len(parts[0]), len(parts[1])) <= 2:
        year = third if len(parts[2]) == 4 else 2000 + third if third < 70 else 1900 + third
        return _either(first, second, year, after)
    return None


def _either(first: int, second: int, year: int | None, after: int) -> Dated | None:
    """Day before month and month before day: both readings where both can be."""
    orders = {(first, second), (second, first)}
    years = None if year is None else (year, year)
    readings = tuple(
        When(years, frozenset({month}), day) for day, month in sorted(orders, key=lambda order: order != (first, second)) if 1 <= month <= 12 and 1 <= day <= 31
    )
    return Dated(readings, after) if readings else None


def month(tokens: Tokens, place: int, *, beside_number: bool = False) -> int | None:
    """The number of the month that a word names, where it surely does."""
    token = tokens[place]
    number = MONTHS.get(token.text) or (_SHORT_MONTHS.get(token.text) if beside_number or token.capital else None)
    if number is None or beside_number:
        return number if number is None or token.capital or token.text not in {"mar", "may", "march", "dec", "jan"} or beside_number else None
    if token.text in _DOUBTFUL or token.text in _SHORT_MONTHS:
        before = tokens.text(place - 1)
        return number if token.capital and before in _BEFORE_MONTH else None
    return number


def _day(tokens: Tokens, place: int) -> tuple[int, int] | None:
    """A day of the month at this token, with what follows it, or nothing."""
    found = numeral(tokens, place)
    if not found or found.form not in {"cardinal", "ordinal"} or not found.readings[0].is_integer() or not 1 <= found.readings[0] <= 31:
        return None
    return (int(found.readings[0]), found.after) if found.figures or found.form == "ordinal" else None


def _year_at(tokens: Tokens, place: int) -> tuple[int, int] | None:
    """A year at this token or behind a comma, with what follows it."""
    place += tokens.text(place) == ","
    text = tokens.text(place)
    if len(text) == 4 and text.isdigit() and _YEAR_MIN <= int(text) <= _YEAR_MAX:
        return int(text), place + 1
    found = numeral(tokens, place) if tokens[place].kind == "word" else None
    return (int(found.readings[0]), found.after) if found and found.form == "year" else None


def _day_first(tokens: Tokens, place: int) -> Dated | None:
    """3 March 2024, 3rd of March, the third of March; 3-5 March, 3 and 5 March."""
    first = _day(tokens, place)
    if not first:
        return None
    days, after = [(first[0], place)], first[1]
    if tokens.text(after) in {"-", "to", "and", "or"}:
        second = _day(tokens, after + 1)
        if second:
            days, after = [*days, (second[0], after + 1)], second[1]
    after += tokens.text(after) == "of"
    after = tokens.past_hyphen(after)
    found = month(tokens, after, beside_number=True)
    if found is None or (tokens.text(after) in _DOUBTFUL and not tokens[after].capital):
        return None
    return _complete(tokens, days, found, after + 1)


def _month_first(tokens: Tokens, place: int) -> Dated | None:
    """March 3rd, 2024; March 3-5; March 2024; March."""
    found = month(tokens, place, beside_number=tokens[place].capital and tokens[place + 1].kind == "number" and tokens.text(place) != "mar")
    if found is None:
        return None
    after = place + 1
    after += tokens.text(after) == "." and tokens[after].close and len(tokens.text(place)) <= 4
    after += tokens.text(after) == "the"
    year = _year_at(tokens, after)
    if year:
        return Dated((When((year[0], year[0]), frozenset({found})),), year[1])
    first = _day(tokens, after)
    if not first or tokens.text(first[1]) == "%":
        return Dated((When(None, frozenset({found})),), place + 1)
    days, after = [(first[0], place)], first[1]
    if tokens.text(after) in {"-", "to", "and"}:
        second = _day(tokens, after + 1)
        if second and month(tokens, second[1], beside_number=True) is None:
            days, after = [*days, (second[0], after + 1)], second[1]
    return _complete(tokens, days, found, after)


def _complete(tokens: Tokens, days: list[tuple[int, int]], found: int, after: int) -> Dated:
    after += tokens.text(after) == "." and tokens[after].close and len(tokens.text(after - 1)) <= 4 and _year_at(tokens, after + 1) is not None
    year = _year_at(tokens, after + (tokens.text(after) == "of"))
    years = (year[0], year[0]) if year else None
    whens = [(place, When(years, frozenset({found}), day)) for day, place in days]
    return Dated((whens[0][1],), year[1] if year else after, tuple(whens[1:]))


def _weekday(tokens: Tokens, place: int) -> Dated | None:
    token = tokens[place]
    name = token.text if token.text in WEEKDAYS else token.text.removesuffix("s")
    return Dated((When(weekday=WEEKDAYS[name]),), place + 1) if name in WEEKDAYS and token.capital else None


def _year(tokens: Tokens, place: int) -> Dated | None:
    """A year in figures, where the words around it speak of one; of 2019-20 and 2019/20 both years."""
    text = tokens.text(place)
    if len(text) != 4 or not text.isdigit() or not _YEAR_MIN <= int(text) <= _YEAR_MAX:
        return None
    year, following = int(text), tokens[place + 1]
    if tokens.text(place + 1) in {"-", "/"} and following.close and tokens[place + 2].close and tokens[place + 2].kind == "number":
        end = tokens.text(place + 2)
        if len(end) == 2 and int(end) == (year + 1) % 100:
            return Dated((When((year, year + 1)),), place + 3)
    before = tokens.text(place - 1)
    counted = following.kind == "word" and following.text not in _AFTER_YEAR
    if 1900 <= year <= 2099 and counted and (following.capital or before in {"the", "a", "an", "this", "its", "their"}):
        return Dated((When((year, year)),), place + 1)
    if before in _BEFORE_YEAR and not (counted and year < 1900):
        return Dated((When((year, year)),), place + 1)
    if not counted and 1700 <= year <= 2100 and following.text not in {"%", "/", "°"}:
        return Dated((When((year, year)),), place + 1)
    return None


_AFTER_YEAR = _LISTS["after_year"]


def _year_in_words(tokens: Tokens, place: int) -> Dated | None:
    found = numeral(tokens, place)
    return Dated((When((int(found.readings[0]),) * 2),), found.after) if found and found.form == "year" else None


def _decade(tokens: Tokens, place: int) -> Dated | None:
    """1990s, the '90s."""
    text = tokens.text(place)
    after = place + 1 + (tokens.text(place + 1) in {"'", "’"})
    if not text.isdigit() or tokens.text(after) != "s" or not tokens[after].close or len(text) not in {2, 4} or int(text) % 10:
        return None
    first = int(text) if len(text) == 4 else 1900 + int(text)
    return Dated((When((first, first + (99 if len(text) == 4 and first % 100 == 0 and first < 2000 else 9))),), after + 1)


def _decade_in_words(tokens: Tokens, place: int) -> Dated | None:
    decade = _TENS_OF_YEARS.get(tokens.text(place))
    century = {"nineteen": 1900, "eighteen": 1800}.get(tokens.text(place - 1))
    if decade is None or (century is None and tokens.text(place - 1) != "the"):
        return None
    first = (century or 1900) + decade
    return Dated((When((first, first + 9)),), place + 1)


def _century(tokens: Tokens, place: int) -> Dated | None:
    """The nineteenth century."""
    found = numeral(tokens, place)
    if not found or found.form != "ordinal":
        return None
    step = found.after + (tokens.text(found.after) == "-")
    if tokens.text(step) not in {"century", "centuries"} or not 1 <= found.readings[0] <= 22:
        return None
    first = int(found.readings[0] - 1) * 100
    return Dated((When((first, first + 100)),), step + 1)


def _season(tokens: Tokens, place: int) -> Dated | None:
    """Spring 2019, the spring of 2019; "in spring", "next spring"."""
    months = _SEASONS.get(tokens.text(place))
    if months is None:
        return None
    after = place + 1 + (tokens.text(place + 1) == "of")
    year = _year_at(tokens, after)
    if year:
        return Dated((When((year[0] - 1, year[0] + 1) if tokens.text(place) == "winter" else (year[0], year[0]), frozenset(months)),), year[1])
    the_season = tokens.text(place - 1) in {"in", "this", "next", "last", "by", "until"} or (
        tokens.text(place - 1) == "the" and tokens.text(place - 2) in {"in", "by"}
    )
    return Dated((When(None, frozenset(months)),), place + 1) if the_season else None
