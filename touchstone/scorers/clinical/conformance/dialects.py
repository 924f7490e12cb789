"""The protocols of the two services: HL7's FHIR validator, and ONC's Reference C-CDA Validator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import urlencode

from touchstone.scorers.clinical.conformance.not_known import separated
from touchstone.scorers.clinical.conformance.onc_reports import form, read_report
from touchstone.scorers.clinical.conformance.settings import CcdaServiceSettings, FhirServiceSettings
from touchstone.scorers.operation_outcome import Outcome, read_operation_outcome

#: Parameters that make the validator as strict as Touchstone is by default: example addresses and unknown extensions are allowed.
_STRICTNESS: Final = (("allowExampleUrls", "true"), ("extension", "any"))
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Request:
    """The request for one document."""

    body: bytes
    headers: Mapping[str, str]
    path: str


class Dialect(Protocol):
    """The protocol of one kind of service. `name`: short, for codes; `url`: the base of its paths; `probe_path`: answers while the service works."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def url(self) -> str: ...  # noqa: D102
    @property
    def probe_path(self) -> str: ...  # noqa: D102

    def request(self, document: bytes) -> Request:
        """The request for a document."""
        ...

    def read(self, body: bytes) -> Outcome:
        """The verdict in a response. Raises `NotUnderstoodError`."""
        ...

    def is_well(self, status: int) -> bool:
        """True if the status of the probe's response says that the service works."""
        ...

    def blames_settings(self, status: int, body: bytes) -> bool:
        """True if a refusal is due to the settings, such as an unknown profile, and not to the document."""
        ...

    def broke_down(self, status: int, body: bytes) -> bool:
        """True if a response says, in the service's own words, that one of its processes ended on this document."""
        ...


def code_of_refusal(body: bytes) -> str | None:
    """The code of a refusal in the service's own JSON; None for any other body, such as a gateway's."""
    try:
        refusal = json.loads(body)
    except (ValueError, RecursionError):
        return None
    code = refusal.get("code") if isinstance(refusal, dict) else None
    return code if isinstance(code, str) else None


class FhirDialect:
    """`POST /validateResource` with the resource, which returns an OperationOutcome."""

    name = "fhir"

    def __init__(self, settings: FhirServiceSettings, url: str) -> None:
        self.url = url.rstrip("/").removesuffix("/validateResource")
        self._path = f"/validateResource?{urlencode([*_STRICTNESS, *(('profile', profile) for profile in settings.profiles)])}"
        self.probe_path = "/readyz"

    def request(self, document: bytes) -> Request:
        """The resource, as JSON or XML."""
        is_xml = document.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"<")
        return Request(document, {"Content-Type": f"application/fhir+{'xml' if is_xml else 'json'}"}, self._path)

    def read(self, body: bytes) -> Outcome:
        """An OperationOutcome; what the validator could not look up is apart from what it found."""
        return separated(read_operation_outcome(body))

    def is_well(self, status: int) -> bool:
        """200, or 404 of HL7's validator without our service around it, which has no such page."""
        return status in {200, 404}

    def blames_settings(self, status: int, body: bytes) -> bool:
        """A profile whose guide is not loaded, or an unknown parameter."""
        return status == 400 and code_of_refusal(body) in {"profile", "parameters"}

    def broke_down(self, status: int, body: bytes) -> bool:
        """502 and 504 of the service itself, which are JSON, unlike those of a gateway."""
        if status == 500:
            return b'"exception"' in body  # the validator failed on this resource, and continues
        return status in {502, 504} and code_of_refusal(body) is not None


class CcdaDialect:
    """A form with `ccdaFile` to the service's root, which returns a report."""

    name = "ccda"

    def __init__(self, settings: CcdaServiceSettings, url: str) -> None:
        # Without the slash its container redirects, and a redirect loses the document.
        self.url, self.probe_path = url, "/"
        self._fields = {
            "validationObjective": settings.objective,
            "referenceFileName": settings.reference_file,
            **({} if settings.vocabulary_config is None else {"vocabularyConfig": settings.vocabulary_config}),
            "severityLevel": settings.severity,
        }

    def request(self, document: bytes) -> Request:
        """A form."""
        body, content_type = form(document, self._fields)
        return Request(body, {"Content-Type": content_type}, self.probe_path)

    def read(self, body: bytes) -> Outcome:
        """A report."""
        return read_report(body)

    def is_well(self, status: int) -> bool:
        """Any status below 500: it has no GET there, but answers."""
        return status < 500

    def blames_settings(self, status: int, body: bytes) -> bool:
        """Never: its responses do not say so."""
        return False

    def broke_down(self, status: int, body: bytes) -> bool:
        """Never: its responses do not say so."""
        return False
