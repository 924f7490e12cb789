import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scorers.summary.fakes import gold
from touchstone.scorers.base import ConfigError
from touchstone.scorers.identity import config_digest
from touchstone.scorers.summary import SUITE, build
from touchstone.scorers.summary.components.support import Calibration, load_calibration
from touchstone.scorers.summary.golds import load_golds
from touchstone.scorers.summary.settings import ENV_PREFIX, SummarySettings, fingerprint, resolve


def test_defaults_are_the_specifications() -> None:
    settings = resolve({}, None)
    weights = settings.weights
    assert (weights.facts, weights.entities, weights.flow, weights.semantic, weights.length) == (0.40, 0.20, 0.20, 0.15, 0.05)
    assert (settings.thresholds.fuzzy, settings.thresholds.context, settings.thresholds.coverage) == (0.9, 0.35, 0.5)
    assert (settings.windows, settings.beta, settings.context_words, settings.precision) == ((1, 2), 1.0, 12, "nearest")


def test_the_command_line_wins_over_the_environment_and_that_over_the_document() -> None:
    document = {"beta": 2, "weights": {"facts": 0.5, "flow": 0.1}, "windows": [1]}
    env = {"SUMMARY_LOSS_WEIGHTS_FACTS": "0.6", "SUMMARY_LOSS_WINDOWS": "1, 3", "SUMMARY_LOSS_PRECISION": " ", "PATH": "/bin"}
    settings = resolve(env, document, {"windows": [4]})
    assert (settings.beta, settings.weights.facts, settings.weights.flow, settings.weights.length) == (2.0, 0.6, 0.1, 0.05)
    assert settings.windows == (4,)
    assert resolve(env, document).windows == (1, 3)


@pytest.mark.parametrize(
    ("env", "document", "named"),
    [
        ({"SUMMARY_LOSS_BETA": "0"}, {}, ["SUMMARY_LOSS_BETA", "beta"]),
        ({"SUMMARY_LOSS_BETTA": "1"}, {}, ["SUMMARY_LOSS_BETTA", "did you mean SUMMARY_LOSS_BETA"]),
        ({"SUMMARY_LOSS_PRECISION": "e+c"}, {}, ["SUMMARY_LOSS_PRECISION", "'nearest', 'ratio', 'e' or 'summac'"]),
        ({"SUMMARY_LOSS_WINDOWS": "1,x"}, {}, ["SUMMARY_LOSS_WINDOWS", "windows.1"]),
        ({"SUMMARY_LOSS_ENGINES_DEVICE": "gpu"}, {}, ["SUMMARY_LOSS_ENGINES_DEVICE", "engines.device"]),
        ({"SUMMARY_LOSS_LABELS_PASS_LOSS_MAX": "0.9"}, {}, ["SUMMARY_LOSS_LABELS_PASS_LOSS_MAX", "lower the first"]),
        ({"SUMMARY_LOSS_COMPRESSION_SCHEDULE": "1"}, {}, ["SUMMARY_LOSS_COMPRESSION_SCHEDULE", "unknown variable"]),
        ({}, {"weights": {"fact": 1}}, ["summary.config.json", "weights.fact", "did you mean facts"]),
        ({}, {"weights": {"facts": float("nan")}}, ["summary.config.json", "weights.facts"]),
        ({}, {"weights": {"facts": 0, "semantic": 0, "length": 0}}, ["summary.config.json", "weights"]),
        ({}, {"compression": {"schedule": [{"max_input": 5, "ratio": 0.1, "min_tokens": 2, "max_tokens": 1}]}}, ["summary.config.json", "min_tokens"]),
        ({}, {"limits": []}, ["summary.config.json", "limits"]),
    ],
)
def test_a_bad_setting_names_who_set_it(env: dict[str, str], document: dict[str, object], named: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        resolve(env, document)
    assert all(part in str(raised.value) for part in named), str(raised.value)
    assert "\n" not in str(raised.value)


def test_only_what_changes_scores_is_in_the_fingerprint(tmp_path: Path) -> None:
    plain = config_digest(fingerprint(SummarySettings()))
    same = [{"evidence": "ids"}, {"quote": True}, {"engines": {"device": "cpu", "batch_tokens": 100, "dtype": "float32"}}]
    assert {config_digest(fingerprint(resolve({}, document))) for document in same} == {plain}
    golds = tmp_path / "golds.json"
    golds.write_text(gold().model_dump_json())
    other = [{"beta": 2}, {"engines": {"nli_model": "a/b"}}, {"engines": {"embedder_model": "a/b"}}, {"gold": str(golds)}, {"limits": {"pairs_max": 1}}]
    assert len({config_digest(fingerprint(resolve({}, document))) for document in other} | {plain}) == len(other) + 1
    before = fingerprint(resolve({}, {"gold": str(golds)}))["gold"]
    golds.write_text(gold(category="Other").model_dump_json())
    assert fingerprint(resolve({}, {"gold": str(golds)}))["gold"] != before
    assert str(tmp_path) not in json.dumps(fingerprint(resolve({}, {"gold": str(golds), "engines": {"nli_model": str(tmp_path)}})))


def test_importing_the_suite_loads_no_heavy_library() -> None:
    heavy = ["numpy", "torch", "transformers", "sentence_transformers", "rapidfuzz", "pysbd"]
    code = (
        "import sys; from touchstone.scorers.summary import SUITE, lexical, sentences; from touchstone.scorers.summary.components import support; "
        f"s = SUITE.resolve({{}}, None); SUITE.fingerprint(s); print([m for m in {heavy} if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_suite_knows_its_names() -> None:
    assert (SUITE.document_name, SUITE.env_prefix) == ("summary.config.json", ENV_PREFIX)


def test_a_missing_library_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.scorers.summary.find_spec", lambda name: None if name == "pysbd" else object())
    with pytest.raises(ConfigError, match=r"install the extras nli-onnx and summary: "):
        build(SummarySettings())


def test_calibrated_support_is_of_touchstones_own_models_only() -> None:
    with pytest.raises(ConfigError, match="Touchstone's own models only"):
        build(resolve({}, {"support": "calibrated", "engines": {"nli_model": "a/b"}}))


def _lines(*documents: object) -> str:
    return "\n".join(json.dumps(document) for document in documents)


DATUM = gold().model_dump(mode="json")
OTHER = {**DATUM, "entry": {**DATUM["entry"], "source_id": "source-2"}}


@pytest.mark.parametrize(
    "text", [_lines(DATUM, OTHER), _lines(DATUM) + "\n\n" + _lines(OTHER) + "\n", json.dumps([DATUM, OTHER], indent=1), "\ufeff" + _lines(DATUM, OTHER)]
)
def test_golds_are_read_from_json_and_json_lines(tmp_path: Path, text: str) -> None:
    path = tmp_path / "golds"
    path.write_text(text, encoding="utf-8")
    assert set(load_golds(path)) == {"source-1", "source-2"}


def test_one_gold_alone_is_a_gold_file(tmp_path: Path) -> None:
    path = tmp_path / "gold.json"
    path.write_text(json.dumps(DATUM, indent=2))
    assert set(load_golds(path)) == {"source-1"}


SHORT = {**DATUM, "summary": {**DATUM["summary"], "key_facts": ["canary fact"]}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_lines(DATUM, SHORT), ":2: summary.key_facts holds too few items"),
        (_lines(DATUM) + '\n{"canary', ":2, column 2: is not JSON"),
        (_lines(DATUM, DATUM), ":2: has the source_id of"),
        (json.dumps([DATUM, {"entry": 1}]), "[1]: entry "),
        (_lines(DATUM, OTHER).replace('"key_facts"', '"key_facts": ["canary"], "key_facts"'), ":1: has an object with a key twice"),
        (json.dumps([DATUM]).replace('"key_facts"', '"key_facts": ["canary"], "key_facts"'), ": has an object with a key twice"),
        ("", "holds no gold"),
        ("[]", "holds no gold"),
        ("[" * 100_000, "is not JSON"),
        ("7", "it "),
    ],
)
def test_a_fault_in_a_gold_file_is_told_by_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "golds.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        load_golds(path)
    assert said in str(raised.value), str(raised.value)
    assert "canary" not in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_gold_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_golds(tmp_path / "none.jsonl")
    (tmp_path / "latin").write_bytes(b'"\xe9"')
    with pytest.raises(ConfigError, match="UTF-8"):
        load_golds(tmp_path / "latin")


def test_a_calibration_is_read_and_used(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    features = ["entailment_logit", "contradiction", "containment", "cosine"]
    path.write_text(json.dumps({"features": features, "weights": [1, -2, 3, 0.5], "bias": -1, "fitted_on": "ours"}))
    calibration = load_calibration(path)
    assert calibration == Calibration(tuple(features), (1.0, -2.0, 3.0, 0.5), -1.0, "logistic", "ours")
    assert calibration.needs_vectors
    # logit(.5) = 0: z = −2·.25 + 3·.5 + .5·1 − 1 = .5
    assert float(calibration.support(0.5, 0.25, 0.5, 1.0)) == pytest.approx(1 / (1 + 2.718281828**-0.5))
    assert 0 <= float(calibration.support(0.0, 0, 0, 0)) < float(calibration.support(1.0, 0, 0, 0)) <= 1


def test_a_plain_mean_is_a_calibration_too(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps({"features": ["entailment", "containment"], "weights": [0.5, 0.5], "bias": 0, "link": "identity"}))
    calibration = load_calibration(path)
    assert float(calibration.support(0.9, 0.0, 0.5)) == pytest.approx(0.7)
    assert not calibration.needs_vectors


def test_the_calibration_is_the_default_for_touchstones_own_models_only() -> None:
    assert resolve({}, {}).supported_by == "calibrated"
    assert resolve({}, {"engines": {"nli_model": "a/b"}}).supported_by == "nli"
    assert resolve({}, {"support": "nli"}).supported_by == "nli"


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        {"features": ["cosine", "cosine"], "weights": [1, 1], "bias": 0},
        {"features": ["cosine"], "weights": [1, 2], "bias": 0},
        {"features": ["cosine"], "weights": [1], "bias": 0, "link": "cubic"},
        {"features": ["mood"], "weights": [1], "bias": 0},
        {"features": ["cosine"], "weights": ["x"], "bias": 0},
    ],
)
def test_a_calibration_that_cannot_be_used_is_refused(tmp_path: Path, document: object) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ConfigError, match=r"calibration\.json"):
        load_calibration(path)
