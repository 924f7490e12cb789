"""The form of signatures."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import bundle, codes, patient, report


def compact(header: str, payload: str = "", signature: str = "c2ln") -> str:
    return f"{base64.urlsafe_b64encode(header.encode()).decode().rstrip('=')}.{payload}.{signature}"


def signed(data: str | None, form: str = "application/jose") -> dict[str, Any]:
    kind = {"system": "urn:iso-astm:E1762-95:2013", "code": "1.2.840.10065.1.12.1.5"}
    made: dict[str, Any] = {"type": [kind], "when": "2020-01-01T10:00:00Z", "who": {"reference": "Practitioner/1"}, "sigFormat": form}
    return bundle(patient()) | {"signature": made | ({"data": base64.b64encode(data.encode()).decode()} if data is not None else {})}


@pytest.mark.parametrize(
    ("data", "breach"),
    [
        (compact('{"alg":"RS256"}'), False),
        (compact('{"alg":"RS256","kid":"1"}', "eyJhIjoxfQ"), False),
        (None, False),
        ("{}", True),
        (compact("{}"), True),
        (compact("not json"), True),
        (compact('{"alg":"RS256"}', signature=""), True),
        ("a.b", True),
    ],
)
def test_a_json_web_signature_has_three_parts_and_a_header(data: str | None, breach: bool) -> None:
    assert ("fhir.structure.signature" in codes(signed(data))) is breach


def test_other_formats_are_open_and_no_signing_is_checked() -> None:
    made = report(signed("{}", "image/png"))
    assert not any(one.code == "fhir.structure.signature" for one in made.findings)
    assert any(one.check == "signatures" for one in made.not_checked)
