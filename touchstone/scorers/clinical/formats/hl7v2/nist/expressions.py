"""Assertions and conditions of NIST profiles, as read from XML; `evaluation.py` applies them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from touchstone.scorers.clinical.checks.patterns import PatternError, Test, read_pattern
from touchstone.scorers.clinical.formats.hl7v2.nist.paths import Path, Range, read_path
from touchstone.scorers.clinical.formats.hl7v2.nist.xml_files import local

if TYPE_CHECKING:
    from lxml.etree import _Element

#: Combinations → the least number of parts; the first four take two, or one.
COMBINATIONS: Final = {"AND": 2, "OR": 2, "XOR": 2, "IMPLY": 2, "NOT": 1, "FORALL": 1, "EXIST": 1}
#: Tests of the values at one path.
VALUES: Final = frozenset({"PlainText", "Format", "StringList", "NumberList", "SimpleValue", "StringFormat"})
OPERATORS: Final = frozenset({"EQ", "NE", "GT", "LT", "GE", "LE"})
DEPTH_MAX: Final = 60
#: What IGAMT writes for "not empty".
_NOT_EMPTY: Final = "^(?!\\s*$).+"
#: Formats by name, of StringFormat.
_NAMED_FORMATS: Final = {"LOINC": r"(?:LP|LA|MTHU)?\d{1,7}-\d", "SNOMED": r"\d{6,18}"}


@dataclass(frozen=True, slots=True)
class Expression:
    """One node of an assertion.

    `kind`: the XML element's name, or `unknown`, with its name in `text`. `absent`: what holds if a path finds nothing (PASS, FAIL, INCONCLUSIVE).
    `times`: how many of the values must hold; None for all, or at least one if `at_least_once`. `modes`: how many values at the two paths must
    compare (-1 all, -2 at least one, else that number). `matches`: the pattern of Format; None as its answer means that it was not decided.
    """

    kind: str
    parts: tuple[Expression, ...] = ()
    path: Path = ()
    second: Path = ()
    text: str = ""
    values: tuple[str, ...] = ()
    operator: str = "EQ"
    is_number: bool = False
    ignore_case: bool = False
    at_least_once: bool = False
    times: Range | None = None
    absent: str = "PASS"
    modes: tuple[int, int] = (-1, -1)
    is_strict: bool = True
    is_truncated: bool = False
    is_identical: bool = False
    matches: Test | None = None

    def walk(self) -> Iterator[Expression]:
        """This node and all below it."""
        yield self
        for part in self.parts:
            yield from part.walk()


def pattern_of(regex: str) -> Test:
    """A test for a whole text by a Java regular expression. Raises PatternError for one that cannot be read, or not in bounded time: no message is trusted."""
    return (lambda text: bool(text.strip())) if regex == _NOT_EMPTY else read_pattern(regex, ascii_only=True)


def _range(element: _Element, least: str, most: str) -> Range | None:
    if element.get(least) is None:
        return None
    top = element.get(most, "*")
    return Range(int(element.get(least, "0")), None if top == "*" else int(top))


def _mode(text: str | None) -> int:
    return {None: -1, "": -1, "All": -1, "AtLeastOne": -2}[text] if text in {None, "", "All", "AtLeastOne"} else int(text or "0")


def _flag(element: _Element, name: str, *, default: bool = False) -> bool:
    text = element.get(name, "")
    return default if not text else text.lower() in {"true", "1"}


class ExpressionReader:
    """Reads expressions, and counts what it does not know in `unknown`; such a part is never decided."""

    def __init__(self, unknown: Counter[str]) -> None:
        self.unknown = unknown

    def assertion(self, parent: _Element | None) -> Expression:
        """The one expression below an `Assertion` or `Condition`."""
        children = [] if parent is None else list(parent)
        return self.read(children[0]) if len(children) == 1 else self._unknown("an assertion without one expression")

    def _unknown(self, name: str) -> Expression:
        self.unknown[name] += 1
        return Expression("unknown", text=name)

    def read(self, element: _Element, depth: int = 0) -> Expression:
        """One expression with its parts. Never raises: what cannot be read is unknown."""
        name = local(element)
        if depth > DEPTH_MAX:
            return self._unknown("a nesting too deep")
        try:
            if name in COMBINATIONS:
                parts = tuple(self.read(child, depth + 1) for child in element)
                right = len(parts) == COMBINATIONS[name] if name in {"XOR", "IMPLY", "NOT"} else len(parts) >= COMBINATIONS[name]
                return Expression(name, parts) if right else self._unknown(f"{name} of {len(parts)} parts")
            return self._leaf(name, element, depth)
        except PatternError as error:
            return self._unknown(f"a pattern of {name} that is not tried ({error})")
        except (ValueError, KeyError):
            return self._unknown(f"a {name} that cannot be read")

    def _leaf(self, name: str, element: _Element, depth: int) -> Expression:
        """A test of one or two paths."""
        absent = element.get("NotPresentBehavior", "PASS").upper() or "PASS"
        if name in {"Presence", "SetID", "isNULL"}:
            return Expression(name, path=read_path(element.get("Path", "")))
        if name == "IZSetID":
            return Expression(name, path=read_path(element.get("Parent", "")), second=read_path(element.get("Element", "")))
        if name in {"PathValue", "ComplexPathValue"}:
            return Expression(
                name,
                path=read_path(element.get("Path1", "")),
                second=read_path(element.get("Path2", "")),
                operator=self._operator(element),
                absent=absent,
                modes=(_mode(element.get("Path1Mode")), _mode(element.get("Path2Mode"))),
                is_strict=_flag(element, "Strict", default=True),
                is_truncated=_flag(element, "Truncated"),
                is_identical=_flag(element, "IdenticalEquality"),
            )
        if name == "SubContext":
            parts = tuple(self.read(child, depth + 1) for child in element)
            if len(parts) != 1:
                return self._unknown("SubContext without one assertion")
            times = _range(element, "MinOccurrence", "MaxOccurrence")
            return Expression(name, parts, read_path(element.get("Path", "")), absent=absent, times=times, at_least_once=_flag(element, "AtLeastOnce"))
        if name == "ValueSet" and element.get("ValueSetID"):
            values = (element.get("ValueSetID", ""), element.get("BindingStrength", "R"), element.get("BindingLocation", "1"))
            return Expression(name, path=read_path(element.get("Path", "")), values=values, absent=absent)
        if name not in VALUES:
            return self._unknown(name)
        return self._values(name, element, absent)

    def _values(self, name: str, element: _Element, absent: str) -> Expression:
        """A test of the values at one path."""
        matches = None
        values = tuple(part.strip() for part in element.get("CSV", "").split(","))
        text = element.get("Text") or element.get("Value") or ""
        if name == "Format":
            matches = pattern_of(element.get("Regex", ""))
        elif name == "StringFormat":
            matches = pattern_of(_NAMED_FORMATS[element.get("Format", "").upper()])
        elif name == "NumberList":
            values = tuple(str(float(part)) for part in values)
        is_number = element.get("Type") == "Number"
        if is_number:
            float(text)
        return Expression(
            name,
            path=read_path(element.get("Path", "")),
            text=text,
            values=values,
            operator=self._operator(element) if name == "SimpleValue" else "EQ",
            is_number=is_number,
            ignore_case=_flag(element, "IgnoreCase"),
            at_least_once=_flag(element, "AtLeastOnce"),
            times=_range(element, "Min", "Max"),
            absent=absent,
            is_truncated=_flag(element, "Truncated"),
            matches=matches,
        )

    @staticmethod
    def _operator(element: _Element) -> str:
        operator = str(element.get("Operator", "EQ"))
        if operator not in OPERATORS:
            raise ValueError(operator)
        return operator
