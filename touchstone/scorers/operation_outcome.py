"""A validator's verdict on one document, and HL7's form of it: a FHIR OperationOutcome."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from touchstone.scorers.base import ConfigError

#: The extension in which HL7's validator puts its message ids.
_MESSAGE_ID: Final = "operationoutcome-message-id"
_BROKEN: Final = frozenset({"error", "fatal"})
#: Types of issues about the processing, not the document: `transient` and its children, and `security` with its own (FHIR R4, value set issue-type).
_OF_PROCESSING: Final = frozenset({
    "transient", "lock-error", "no-store", "exception", "timeout", "incomplete", "throttled",
    "security", "login", "unknown", "expired", "forbidden", "suppressed",
})  # fmt: skip
#: The most severe first.
SEVERITIES: Final = ("fatal", "error", "warning", "information")


class NotUnderstoodError(Exception):
    """An answer that is no verdict; `args[0]` is a fixed text that quotes nothing."""


class NoVerdict(ConfigError):
    """The official validator failed on this one resource (some nulls and missing names make it throw); it goes on answering."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue: severity (fatal, error, warning, information), the validator's own message id (or the issue's code), location, and text.

    The text may quote the document. `has_id`: False if `code` is only the issue's type, because it has no message id.
    """

    severity: str
    code: str
    location: str
    text: str
    has_id: bool = True

    @property
    def breaks(self) -> bool:
        """True if it makes the document invalid."""
        return self.severity in _BROKEN


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict on one document.

    `uncounted`: errors that the validator counts and does not list. `not_known`: issues that say only that the validator could not look something up.
    """

    issues: tuple[Issue, ...]
    uncounted: int = 0
    not_known: tuple[Issue, ...] = ()

    @property
    def valid(self) -> bool:
        """True if no issue is an error."""
        return not self.uncounted and not any(issue.breaks for issue in self.issues)

    @property
    def errors(self) -> tuple[Issue, ...]:
        """The issues that make it invalid."""
        return tuple(issue for issue in self.issues if issue.breaks)

    def counts(self) -> dict[str, int]:
        """Number of errors, warnings and informations."""
        return {
            "error": len(self.errors) + self.uncounted,
            "warning": sum(issue.severity == "warning" for issue in self.issues),
            "information": sum(issue.severity == "information" for issue in self.issues),
        }


def read_operation_outcome(text: bytes) -> Outcome:
    """Read an OperationOutcome. Raises `NotUnderstoodError` for anything else: an answer that is not understood is never a verdict.

    Neither is one without an issue (R4 requires one, and the validator says "All OK"), nor one whose only errors are about the processing.
    """
    try:
        answer = json.loads(text)
        if answer["resourceType"] != "OperationOutcome":
            raise KeyError
        issues = tuple(_issue(one) for one in answer["issue"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotUnderstoodError("it answered what is no OperationOutcome") from None
    if any(issue.severity == "error" and issue.text.startswith("Operation failed") for issue in issues):
        raise NotUnderstoodError("it could not carry out the request")
    if not issues:
        raise NotUnderstoodError("it answered without any issue")
    errors = [issue for issue in issues if issue.breaks]
    if errors and all(not issue.has_id and issue.code in _OF_PROCESSING for issue in errors):
        raise NotUnderstoodError("it could not finish the validation")
    return Outcome(issues)


def _issue(one: dict[str, Any]) -> Issue:
    """One issue of an OperationOutcome; an unknown severity is an error in reading, not a pass."""
    severity = one["severity"]
    if severity not in {*SEVERITIES, "success"}:
        raise ValueError
    ids = [str(each["valueCode"]) for each in one.get("extension", []) if str(each.get("url", "")).endswith(_MESSAGE_ID) and "valueCode" in each]
    location = next(iter(one.get("expression") or one.get("location") or []), "")
    text = str((one.get("details") or {}).get("text", ""))
    return Issue(severity, ids[0] if ids else str(one.get("code", "")), str(location), text, has_id=bool(ids))
