import pytest

from touchstone.scorers.base import ConfigError
from touchstone.scorers.identity import config_digest
from touchstone.scorers.safe.fingerprint import fingerprint
from touchstone.scorers.safe.settings import SafeSettings, resolve


def test_defaults_are_those_of_the_specification() -> None:
    settings = resolve({}, None)
    assert settings.thresholds.model_dump() == {
        "CR": {"pass": 0.8, "review": 0.5},
        "AH": {"pass": 1.0, "review": 0.5},
        "AC": {"pass": 0.8, "review": 0.5},
    }
    assert (settings.weights.CR, settings.weights.AH, settings.weights.AC) == (1, 1, 1)
    assert settings.strict_ah is False
    assert settings.quote is False


def test_the_sample_document_of_the_specification_is_read() -> None:
    settings = resolve({}, {"weights": {"CR": 1.0, "AH": 1.5, "AC": 1.0}, "strictAH": True, "reportFormats": ["json", "console", "markdown"]})
    assert settings.weights.AH == 1.5
    assert settings.strict_ah
    assert settings.report_formats == ("json", "console", "markdown")


def test_command_line_over_environment_over_document_over_default() -> None:
    document = {"thresholds": {"CR": {"pass": 0.7}, "AC": {"pass": 0.7}}, "strictAH": True, "quote": True}
    env = {"SAFE_V0_CR_PASS": "0.6", "SAFE_V0_AH_STRICT": "false"}
    settings = resolve(env, document, {"strictAH": True})
    assert settings.thresholds.CR.pass_ == 0.6
    assert settings.thresholds.AC.pass_ == 0.7
    assert settings.thresholds.AH.pass_ == 1.0
    assert settings.strict_ah
    assert settings.quote


def test_every_variable_of_the_specification_is_known() -> None:
    names = [f"SAFE_V0_{metric}_{bound}" for metric in ("CR", "AH", "AC") for bound in ("PASS", "REVIEW")]
    settings = resolve(dict.fromkeys(names, "0.5") | {"SAFE_V0_AH_STRICT": "true", "SAFE_V0_REPORT_DIR": "./r"}, None)
    assert settings.thresholds.AH.pass_ == 0.5
    assert str(settings.report_dir) == "r"


def test_a_variable_set_to_nothing_counts_as_not_set() -> None:
    assert resolve({"SAFE_V0_AH_STRICT": ""}, None) == SafeSettings()


def test_variables_of_others_are_left_alone() -> None:
    assert resolve({"HOME": "/root", "SAFE": "x"}, None) == SafeSettings()


def test_an_archetype_inherits_what_it_leaves_out() -> None:
    document = {"weights": {"AH": 1.5}, "archetypes": {"X": {"thresholds": {"CR": {"pass": 0.9}}}}}
    rules = resolve({"SAFE_V0_CR_REVIEW": "0.4"}, document).rules_of("X")
    assert (rules.thresholds.CR.pass_, rules.thresholds.CR.review, rules.weights.AH) == (0.9, 0.4, 1.5)


def test_an_archetype_inherits_however_the_settings_are_made() -> None:
    settings = SafeSettings.model_validate({"weights": {"AH": 1.5}, "thresholds": {"CR": {"pass": 0.7}}, "archetypes": {"X": {"weights": {"CR": 2}}}})
    rules = settings.rules_of("X")
    assert (rules.weights.CR, rules.weights.AH, rules.thresholds.CR.pass_, rules.thresholds.CR.review) == (2, 1.5, 0.7, 0.5)


def test_every_fault_of_the_thresholds_is_told_with_who_made_it() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve({"SAFE_V0_CR_REVIEW": "0.9"}, {"thresholds": {"AC": {"pass": 0.4}}})
    assert "SAFE_V0_CR_REVIEW: thresholds.CR: review 0.9 is above pass 0.8" in str(caught.value)
    assert "safe.config.json: thresholds.AC: review 0.5 is above pass 0.4" in str(caught.value)


@pytest.mark.parametrize(
    ("env", "document", "told"),
    [
        ({"SAFE_V0_CR_PAS": "0.8"}, None, ["SAFE_V0_CR_PAS: unknown variable", "did you mean SAFE_V0_CR_PASS?"]),
        ({"SAFE_V0_ZZZZ": "1"}, None, ["SAFE_V0_ZZZZ: unknown variable; known: SAFE_V0_JUDGE_…, ", "SAFE_V0_AH_STRICT, SAFE_V0_AH_JUDGE, "]),
        ({"SAFE_V0_CR_PASS": "high"}, None, ["SAFE_V0_CR_PASS: thresholds.CR.pass:", "valid number"]),
        ({"SAFE_V0_CR_PASS": "1.5"}, None, ["SAFE_V0_CR_PASS", "less than or equal to 1"]),
        ({"SAFE_V0_CR_PASS": "nan"}, None, ["SAFE_V0_CR_PASS", "finite"]),
        ({"SAFE_V0_CR_REVIEW": "0.9"}, None, ["SAFE_V0_CR_REVIEW", "review 0.9 is above pass 0.8", "lower review or raise pass"]),
        ({}, {"strictAh": True}, ["safe.config.json: strictAh: unknown key", "did you mean strictAH?"]),
        ({}, {"thresholds": {"CR": {"pas": 0.5}}}, ["thresholds.CR.pas: unknown key", "pass"]),
        ({}, {"thresholds": {"XX": {}}}, ["thresholds.XX: unknown key", "known: CR, AH, AC"]),
        ({}, {"thresholds": 5}, ["safe.config.json: thresholds"]),
        ({}, {"archetypes": {"X": {"weight": {}}}}, ["archetypes.X.weight: unknown key", "did you mean weights?"]),
        ({}, {"archetypes": {"X": {"thresholds": {"AC": {"pass": 0.4}}}}}, ["archetypes.X.thresholds.AC", "review 0.5 is above pass 0.4"]),
        ({}, {"archetypes": {"X": 1}}, ["archetypes.X"]),
        ({}, {"weights": {"CR": 0, "AH": 0, "AC": 0}}, ["weights: all are 0"]),
        ({}, {"weights": {"CR": -1}}, ["weights.CR", "greater than or equal to 0"]),
        ({"SAFE_V0_REPORT_FORMATS": "json,pdf"}, None, ["SAFE_V0_REPORT_FORMATS", "reportFormats.1"]),
        ({}, {"reportFormats": []}, ["reportFormats"]),
    ],
)
def test_bad_settings_are_refused_with_what_where_and_how(env: dict[str, str], document: dict[str, object] | None, told: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(env, document)
    message = str(caught.value)
    assert all(part in message for part in told), message
    assert "\n" not in message


def test_the_fingerprint_changes_with_what_changes_scores() -> None:
    base = config_digest(fingerprint(SafeSettings()))
    for document in ({"strictAH": True}, {"weights": {"AH": 2}}, {"thresholds": {"CR": {"pass": 0.9}}}, {"archetypes": {"X": {"weights": {"AH": 2}}}}):
        assert config_digest(fingerprint(resolve({}, document))) != base


def test_the_fingerprint_ignores_reports_and_quoting() -> None:
    document = {"quote": True, "reportDir": "x", "dataDir": "y", "reportFormats": ["json"]}
    assert fingerprint(resolve({}, document)) == fingerprint(SafeSettings())
