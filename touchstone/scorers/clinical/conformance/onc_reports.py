"""The protocol of ONC's Reference C-CDA Validator: a form with the document in, a JSON report out.

Names are those of `onc-healthit/reference-ccda-validator`: the controller's parameters, and the members of `ValidationResultsDto`. Descriptions and
XPaths may quote the document; of an XPath only elements and positions are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from secrets import token_hex
from typing import Any, Final

from touchstone.scorers.operation_outcome import Issue, NotUnderstoodError, Outcome

#: The last word of a type of results → its severity.
_SEVERITIES: Final = {"error": "error", "warning": "warning", "warn": "warning", "info": "information"}
#: The type of a result without that word → its code, if it has no conformance statement's number.
_SOURCES: Final = {
    "c-cda mdht conformance": "mdht",
    "onc 2015 s&cc vocabulary validation conformance": "vocabulary",
    "onc 2015 s&cc reference c-cda validation": "reference",
}
#: The number of the guide's conformance statement, at the end of the description.
_STATEMENT: Final = re.compile(r"\(CONF:\s?(\d{1,6}(?:-\d{1,6})?)\b")
#: What it says, with no id, of codes whose value set is not loaded into it (`valuesetNotLoadedResult` of its vocabulary module).
_NOT_LOADED: Final = re.compile(r"Value set code validation attempt for value set\(s\) \('[\d., ]*\) that do not exist in service for code system ")
_STEP: Final = re.compile(r"/{1,2}(@?[A-Za-z_][\w.-]{0,63}(?::[A-Za-z_][\w.-]{0,63})?)(\[\d{1,6}\])?")
_STEPS_MAX: Final = 64


def form(document: bytes, fields: Mapping[str, str]) -> tuple[bytes, str]:
    """The body of a request and its content type. The document goes as `ccdaFile`, under a file name that says nothing."""
    boundary = f"touchstone{token_hex(24)}"  # nothing that a document holds
    head = b'--%b\r\nContent-Disposition: form-data; name="%b"'
    parts = [head % (boundary.encode(), name.encode()) + b"\r\n\r\n" + value.encode() + b"\r\n" for name, value in fields.items()]
    parts.append(head % (boundary.encode(), b"ccdaFile") + b'; filename="document.xml"\r\nContent-Type: text/xml\r\n\r\n' + document + b"\r\n")
    return b"".join(parts) + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def read_report(text: bytes) -> Outcome:
    """The verdict in a report. Raises `NotUnderstoodError` for anything else, and for a report that the service failed."""
    try:
        report = json.loads(text)
        metadata, results = report["resultsMetaData"], report["ccdaValidationResults"]
        if not isinstance(metadata, dict):
            raise TypeError
        if metadata.get("serviceError"):
            raise NotUnderstoodError("it says that it failed on this document")
        said = [_issue(one) for one in results]
        counted = sum(_errors(metadata["resultMetaData"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotUnderstoodError("it answered what is no report of a C-CDA validator") from None
    issues = tuple(issue for issue in said if not _NOT_LOADED.match(issue.text))
    not_known = tuple(issue for issue in said if _NOT_LOADED.match(issue.text))
    return Outcome(issues, uncounted=max(0, counted - sum(issue.breaks for issue in said)), not_known=not_known)


def _errors(counts: list[Any]) -> Iterator[int]:
    """The numbers of errors that the report counts itself."""
    for one in counts:
        if type(one["count"]) is not int or one["count"] < 0:
            raise TypeError
        if _type(one["type"])[1] == "error":
            yield one["count"]


def _type(name: str) -> tuple[str, str]:
    """Source and severity of a type of results. Raises `KeyError` for an unknown severity: a report that is not understood is no verdict."""
    source, _, word = name.strip().lower().rpartition(" ")
    return _SOURCES.get(source, "other"), _SEVERITIES[word]


def _issue(one: dict[str, Any]) -> Issue:
    source, severity = _type(one["type"])
    description = one.get("description")
    text = description if isinstance(description, str) else ""
    statement = _STATEMENT.search(text)
    code = statement[1] if statement is not None else "schema" if one.get("schemaError") is True else source
    return Issue(severity, code, _place(one.get("xPath"), one.get("documentLineNumber")), text)


def _place(xpath: Any, line: Any) -> str:
    """The elements and positions of an XPath up to anything else; without any, the line."""
    path = ""
    if isinstance(xpath, str):
        at = 0
        for _ in range(_STEPS_MAX):
            step = _STEP.match(xpath, at)
            if step is None:
                break
            path, at = f"{path}/{step[1]}{step[2] or ''}", step.end()
    if path or not str(line).strip().isdecimal():
        return path
    return f"line {int(str(line).strip())}" if len(str(line)) < 12 else ""
