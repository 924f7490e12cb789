"""Documents whose reader needs an extra that is not installed."""

from pathlib import Path

import pytest

from touchstone.scorers.clinical import validate_document
from touchstone.scorers.installing import extra_named


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("touchstone.scorers.clinical.formats.ccda.xml_reader", '<ClinicalDocument xmlns="urn:hl7-org:v3"/>'),
        ("touchstone.scorers.clinical.formats.fhir.xml", '<Patient xmlns="http://hl7.org/fhir"/>'),
    ],
)
def test_without_the_xml_library_a_document_is_not_validated_and_the_command_that_installs_it_is_named(
    module: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{module}.find_spec", lambda _: None)
    validated = validate_document(text.encode())
    assert (validated.valid, validated.scores.label) == (None, "unscored")
    (reason,) = {one.reason for one in validated.report.not_checked if "lxml" in one.reason}
    assert reason.endswith(extra_named("clinical"))
    assert "pip install 'touchstone-stream[clinical]'" in reason
    assert str(Path.cwd()) not in reason  # results leave this machine
