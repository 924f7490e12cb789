from pathlib import Path
from typing import Any

import pytest

from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.checks.code_tables import CodeTables, FirstAnswer
from touchstone.scorers.clinical.checks.terminology_server import TerminologyServer
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.settings import ClinicalSettings, TerminologySettings, fingerprint, resolve
from touchstone.scorers.clinical.validator_options import membership_source


def test_the_command_line_lies_over_the_environment_and_that_over_the_document() -> None:
    settings = resolve({"CLINICAL_FORMATS": "fhir,hl7v2", "CLINICAL_FHIR_SECURITY": "true"}, {"formats": ["ccda"], "quote": True}, {"formats": ("hl7v2",)})
    assert (settings.formats, settings.quote, settings.fhir.security) == (("hl7v2",), True, True)


def test_the_specification_s_name_of_the_umls_key_is_read() -> None:
    settings = resolve({"UMLS_API_KEY": "sesame"}, None)
    assert settings.terminology.umls_api_key is not None
    assert "sesame" not in repr(settings)
    assert isinstance(membership_source(settings.terminology), TerminologyServer)


def test_the_umls_key_may_stand_in_a_file_and_the_suite_s_own_name_wins(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sesame\n")
    in_file = {"UMLS_API_KEY_FILE": str(tmp_path / "key")}
    for env, expected in ((in_file, "sesame"), (in_file | {"CLINICAL_TERMINOLOGY_UMLS_API_KEY": "own"}, "own"), (in_file | {"UMLS_API_KEY": " "}, "sesame")):
        key = resolve(env, None).terminology.umls_api_key
        assert key is not None
        assert key.get_secret_value() == expected
    assert resolve({"UMLS_API_KEY": "", "UMLS_API_KEY_FILE": ""}, None).terminology.umls_api_key is None


@pytest.mark.parametrize(
    ("env", "document", "told"),
    [
        ({"CLINICAL_FORMAT": "fhir"}, None, "CLINICAL_FORMATS"),
        ({}, {"formats": "fhir"}, "formats: write a list"),
        ({}, {"fhir": {"packages": "x"}}, "fhir.packages: write a list"),
        ({"CLINICAL_FORMATS": "fhir,pdf"}, None, "CLINICAL_FORMATS: formats"),
        ({}, {"fhir": {"profile": []}}, "profiles"),
        ({"CLINICAL_TERMINOLOGY_TOKEN": "t"}, None, "token is set without url"),
        ({}, {"terminology": {"url": "http://h/f", "token": "a", "token_file": "b"}}, "keep one"),
    ],
)
def test_what_is_wrong_is_named(env: dict[str, str], document: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        resolve(env, document)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"fhir": {"packages": ("/nonexistent/us-core.tgz",)}}, "does not exist"),
        ({"fhir": {"packages": ("/dev/null",)}}, "no FHIR definitions"),
        ({"fhir": {"profiles": ("http://hl7.org/fhir/us/core/StructureDefinition/no-such-one",)}}, "no package here has"),
        ({"terminology": {"url": "ftp://x"}}, "base URL"),
        ({"terminology": {"url": "http://example.org/fhir", "token": "t"}}, "unencrypted"),
        ({"terminology": {"rxnorm": "/nonexistent/RXNCONSO.RRF"}}, "terminology.rxnorm: .* cannot be read"),
        ({"terminology": {"url": "ftp://a.example"}}, "terminology.url: "),
        ({"terminology": {"url": "https://example.org/fhir", "token_file": "/nonexistent/token"}}, "token_file"),
    ],
)
def test_settings_that_cannot_be_used_are_told_when_the_validator_is_made(settings: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        DocumentValidator(ClinicalSettings(**settings))


def test_tables_are_asked_before_servers(tmp_path: Path) -> None:
    codes = tmp_path / "cvx.txt"
    codes.write_text("08 |Hep B|\n")
    assert isinstance(membership_source(TerminologySettings(cvx=codes)), CodeTables)
    assert isinstance(membership_source(TerminologySettings(cvx=codes, url="http://127.0.0.1:9/fhir")), FirstAnswer)
    assert membership_source(TerminologySettings()) is None


def test_a_new_release_of_a_table_is_a_new_configuration(tmp_path: Path) -> None:
    codes = tmp_path / "cvx.txt"
    codes.write_text("08 |Hep B|\n")
    before = fingerprint(ClinicalSettings(terminology={"cvx": codes}))
    codes.write_text("08 |Hep B|\n10 |IPV|\n")
    assert fingerprint(ClinicalSettings(terminology={"cvx": codes})) != before
    assert str(tmp_path) not in repr(before)


def test_a_token_from_a_file_is_used_and_not_shown(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("sesame\n")
    source = membership_source(TerminologySettings(url="https://terminology.example.org/fhir", token_file=token))
    assert "sesame" not in repr(source)
