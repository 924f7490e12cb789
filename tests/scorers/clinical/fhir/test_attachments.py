from __future__ import annotations

from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import codes, found

#: SHA-1 of ABC (FIPS 180-4, by any implementation).
HASH = "PAG9uybzWLqyfyZ5JKosmgP8/bg="


def media(**content: Any) -> dict[str, Any]:
    return {"resourceType": "Media", "status": "completed", "content": {"contentType": "text/plain", "data": "QUJD"} | content}


def test_the_stated_size_and_hash_are_those_of_the_data() -> None:
    assert codes(media(size=3, hash=HASH)) == set()
    assert codes(media(size=4)) == {"fhir.structure.attachment-size"}
    assert codes(media(data="QUJE", hash=HASH)) == {"fhir.structure.attachment-hash"}


def test_a_hash_of_another_length_is_minor() -> None:
    assert found(media(hash="AAAA"), "fhir.structure.attachment-hash").severity == "minor"


@pytest.mark.parametrize("content", [{"data": "Q", "size": 1}, {"size": "3"}, {"data": None, "size": 9}])
def test_what_is_malformed_is_left_to_the_rules_of_form(content: dict[str, Any]) -> None:
    assert "fhir.structure.attachment-size" not in codes(media(**content))
