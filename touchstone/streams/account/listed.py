"""The part of a result that lists of cases show and search: no text of the case, everything bounded."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from touchstone.schemas.result import ScoreResult
from touchstone.scorers.suite import Suite

#: Distinct codes of a result that are kept; the most serious ones come first.
CODES_MAX: Final = 64
CODE_CHARS_MAX: Final = 128
NAME_CHARS_MAX: Final = 512
_SEVERITIES: Final = ("critical", "major", "minor", "info")


class Listed(NamedTuple):
    """What a list shows of a result beside its label and values.

    `model`: the model that wrote the case, if the result names it, else the first model that scored it. `severity`: the highest of its findings.
    `overall`: how good the result is as a whole, from 0 to 1, as its suite says; None if nothing says it. `codes`: distinct codes of failures and findings.
    """

    kind: str = ""
    case_id: str = ""
    model: str = ""
    severity: str = ""
    findings_total: int = 0
    failures_total: int = 0
    overall: float | None = None
    codes: tuple[str, ...] = ()


NOT_LISTED: Final = Listed()


def listed_of(result: ScoreResult, suite: Suite | None) -> Listed:
    """What lists show of a result; `suite`: None if it is not installed here. Names that no column can hold are left empty."""
    named = result.attributes.get("model") or result.correlation.get("model") or next(iter(result.models.values()), "")
    by_severity = sorted(result.findings, key=lambda finding: _SEVERITIES.index(finding.severity))
    codes = dict.fromkeys([*(failure.code for failure in result.failures), *(finding.code for finding in by_severity)])
    usable = [code for code in codes if code and len(code) <= CODE_CHARS_MAX and "\0" not in code and _is_storable(code)]
    return Listed(
        kind=_name(result.kind),
        case_id=_name(result.case_id or ""),
        model=_name(named if isinstance(named, str) else ""),
        severity=by_severity[0].severity if by_severity else "",
        findings_total=len(result.findings),
        failures_total=len(result.failures),
        overall=overall_of(result.values, suite),
        codes=tuple(usable[:CODES_MAX]),
    )


def overall_of(values: Mapping[str, float], suite: Suite | None) -> float | None:
    """How good values are as a whole. A suite that fails at it is one that does not say."""
    if suite is None:
        return None
    try:
        return suite.overall_of(values)
    except (ArithmeticError, TypeError, ValueError):
        return None


def _name(text: str) -> str:
    return text if len(text) <= NAME_CHARS_MAX and "\0" not in text and _is_storable(text) else ""


def _is_storable(text: str) -> bool:
    """False for lone surrogates, which UTF-8 cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
