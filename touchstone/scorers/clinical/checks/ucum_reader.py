"""UCUM units: validity, dimension and conversion, by a real parser (ucumvert, with pint).

The parser takes seconds of a processor to load, so a table holds its answers for everyday units (`tables/units_read.json`, compiled with the parser)
and the first other unit loads it. Answers are cached by the unit's text. Units come from documents that may be hostile, so length, depth and
exponents are bounded.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from importlib.util import find_spec
from typing import Any, Final

#: Longer text is not a unit; the longest of UCUM's own examples has 30 characters.
UNIT_LENGTH_MAX: Final = 128
UNITS_CACHED: Final = 4096
_DEPTH_MAX: Final = 6
_DIGITS_MAX: Final = 9
#: Greater powers have no dimension here, because pint would compute the number.
_EXPONENT_MAX: Final = 60
_ANNOTATION: Final = re.compile(r"\{[!-z|~]*\}")
_GRAM_PERCENT: Final = re.compile(r"([kdcmunpf]?)g%")
_LOCK: Final = threading.Lock()
_BUILDING: Final = threading.Lock()

#: Base quantity → power, sorted; the empty tuple is a pure number.
Dimension = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A valid unit. `dimension` is None for UCUM's special units (logarithms, pH) and for huge powers."""

    dimension: Dimension | None
    atoms: frozenset[str]
    prefixes: frozenset[str]


@lru_cache(maxsize=1)
def reader_installed() -> bool:
    """Return True if the parser is installed (extra `clinical`); without it no unit can be read."""
    return find_spec("ucumvert") is not None


def read_unit(text: str) -> Unit | None:
    """Return the unit of a text in UCUM (case-sensitive form), or None. Raises ImportError if the parser is needed and not installed."""
    # A cache keeps its keys, so they must be short.
    return _read_unit(text) if len(text) <= UNIT_LENGTH_MAX else None


@lru_cache(maxsize=UNITS_CACHED)
def _read_unit(text: str) -> Unit | None:
    units = _everyday().units
    return units[text] if text in units else parse_unit(text)


def parse_unit(text: str) -> Unit | None:
    """What `read_unit` returns, by the parser alone."""
    prepared = _prepare(text)
    if prepared is None:
        return None
    tree = _engine().parse(prepared)
    if tree is None or _factor_has_exponent(tree):
        return None
    tokens = list(tree.scan_values(lambda _: True))
    atoms = frozenset(str(token) for token in tokens if token.type in {"UNIT_METRIC", "UNIT_NON_METRIC"})
    prefixes = frozenset(str(token) for token in tokens if token.type.startswith("PREFIX"))
    quantity = _quantity(text)
    powers = None if quantity is None else dict(quantity.dimensionality).items()
    dimension = None if powers is None else tuple(sorted((str(base).strip("[]"), float(power)) for base, power in powers if power))
    return Unit(dimension, atoms, prefixes)


def is_valid_unit(text: object) -> bool:
    """Return True if a value is a valid UCUM unit. Raises ImportError if the parser is not installed."""
    return isinstance(text, str) and read_unit(text) is not None


def conversion(source: str, target: str) -> tuple[float, float] | None:
    """Return factor and offset that convert numbers from `source` to `target`; None if the two do not convert."""
    return _conversion(source, target) if max(len(source), len(target)) <= UNIT_LENGTH_MAX else None


@lru_cache(maxsize=UNITS_CACHED)
def _conversion(source: str, target: str) -> tuple[float, float] | None:
    everyday = _everyday()
    if source in everyday.units and target in everyday.conversions:
        return everyday.conversions[target].get(source)
    return compute_conversion(source, target)


def compute_conversion(source: str, target: str) -> tuple[float, float] | None:
    """What `conversion` returns, by the parser's registry alone."""
    if read_unit(source) is None or read_unit(target) is None:
        return None
    before, after = _quantity(source), _quantity(target)
    if before is None or after is None:
        return None
    with _LOCK:
        try:
            # Two points, because temperatures have an offset.
            at_zero, at_one = (float(type(before)(number * before.m, before.u).to(after.u).m / after.m) for number in (0, 1))
        except _engine().errors:
            return None
    return at_one - at_zero, at_zero


@dataclass(frozen=True, slots=True)
class _Everyday:
    """The parser's answers for everyday texts; None for those that are no unit. `conversions`: target → source → factor and offset, of all that convert."""

    units: Mapping[str, Unit | None]
    conversions: Mapping[str, Mapping[str, tuple[float, float]]]


@lru_cache(maxsize=1)
def _everyday() -> _Everyday:
    stored = json.loads(resources.files("touchstone.scorers.clinical.tables").joinpath("units_read.json").read_text("utf-8"))
    units = {text: None if found is None else _stored_unit(*found) for text, found in stored["units"].items()}
    return _Everyday(units, {target: {source: (line[0], line[1]) for source, line in sources.items()} for target, sources in stored["conversions"].items()})


def _stored_unit(dimension: list[list[Any]] | None, atoms: list[str], prefixes: list[str]) -> Unit:
    return Unit(None if dimension is None else tuple((base, power) for base, power in dimension), frozenset(atoms), frozenset(prefixes))


class _Engine:
    """The grammar and the registry, built once per process."""

    def __init__(self) -> None:
        import lark
        import pint
        import ucumvert

        own_errors = (lark.exceptions.LarkError, pint.PintError)
        self.errors: tuple[type[Exception], ...] = (*own_errors, ArithmeticError, ValueError, TypeError, LookupError, AttributeError)
        self._parser = ucumvert.get_ucum_parser()
        self._registry = ucumvert.PintUcumRegistry()
        self._syntax_error = lark.exceptions.LarkError

    def parse(self, text: str) -> Any:
        with _LOCK:
            try:
                return self._parser.parse(text)
            except self._syntax_error:
                return None

    def quantity(self, text: str) -> Any:
        """Pint's quantity of one such unit; None if pint does not know it."""
        with _LOCK:
            try:
                found = self._registry.from_ucum(text)
                return found if hasattr(found, "dimensionality") else self._registry.Quantity(1)
            except self.errors:
                return None


def _engine() -> _Engine:
    """The engine, built once: two threads would define every unit twice, which the library refuses."""
    with _BUILDING:
        return _built()


@lru_cache(maxsize=1)
def _built() -> _Engine:
    return _Engine()


def _prepare(text: str) -> str | None:
    """The text with shortened annotations; None if it is certainly no unit."""
    if not text or len(text) > UNIT_LENGTH_MAX or not text.isascii() or any(character <= " " or character == "\x7f" for character in text):
        return None
    prepared = _ANNOTATION.sub("{a}", text)
    depth = 0
    for character in prepared:
        depth += (character == "(") - (character == ")")
        if depth > _DEPTH_MAX:
            return None
    if any(len(digits) > _DIGITS_MAX for digits in re.findall(r"[0-9]+", prepared)):
        return None
    return prepared


def _factor_has_exponent(tree: Any) -> bool:
    """True if a bare number has an exponent (`10+3`): the parser accepts it, but UCUM's grammar does not."""
    for node in tree.iter_subtrees():
        for first, second in zip(node.children, node.children[1:], strict=False):
            if getattr(second, "type", "") == "EXPONENT" and [getattr(token, "type", "") for token in getattr(first, "children", ())] == ["FACTOR"]:
                return True
    return False


def _quantity(text: str) -> Any:
    prepared = _prepare(text)
    if prepared is None or any(int(digits) > _EXPONENT_MAX for digits in re.findall(r"(?<=[^0-9{}/.(])[0-9]+", _ANNOTATION.sub("", prepared))):
        return None
    # UCUM defines g% as grams per decilitre; pint takes it for grams times percent.
    return _engine().quantity(_GRAM_PERCENT.sub(r"\1g/dL", prepared) if _GRAM_PERCENT.fullmatch(prepared) else prepared)
