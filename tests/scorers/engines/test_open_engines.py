import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.lazily import lazily
from tests.scorers.engines.tiny import SENTENCES, encoder, saved
from touchstone.schemas.settings.engines import EngineSettings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.open_engines import open_engines
from touchstone.scorers.engines.weights import DEFAULT_ADAPTER, digest_of

with lazily():
    import torch

    from touchstone.scorers.engines.torch_device import device_of, is_out_of_memory

pytestmark = [pytest.mark.xdist_group("models"), pytest.mark.usefixtures("one_torch_thread")]

HERE = Path(__file__).parents[3]
PAIRS = list(itertools.product(SENTENCES[:5], SENTENCES[:5]))


@pytest.fixture
def settings(tmp_path: Path) -> EngineSettings:
    return EngineSettings(nli_model=str(saved(tmp_path / "nli")), embedder_model=str(encoder(tmp_path / "encoder")), dtype="float32", offline=True)


def changed(settings: EngineSettings, **new: Any) -> EngineSettings:
    return EngineSettings(**settings.model_dump() | new)


async def test_folders_are_opened_as_models(settings: EngineSettings) -> None:
    engines = open_engines(settings)
    assert (await engines.nli.entail(PAIRS)).shape == (25, 3)
    assert (await engines.embedder.embed(SENTENCES)).shape == (len(SENTENCES), 32)
    assert {dict(reading.labels)["engine"] for reading in engines.readings()} == {"nli", "embedder"}
    await engines.close()


async def test_opening_says_nothing(settings: EngineSettings, capfd: pytest.CaptureFixture[str]) -> None:
    engines = open_engines(settings)
    await engines.nli.entail(PAIRS)
    await engines.close()
    out, err = capfd.readouterr()
    assert out + err == ""


def test_a_name_carries_the_digest_of_the_content_and_no_path(settings: EngineSettings, tmp_path: Path) -> None:
    engines = open_engines(settings)
    name, _, digest = engines.nli.model.partition("@")
    assert name == "nli"
    assert len(digest) == 12
    assert str(tmp_path) not in engines.nli.model + engines.embedder.model
    moved = Path(settings.nli_model).rename(tmp_path / "elsewhere")
    assert digest_of(moved) == digest
    other = saved(tmp_path / "other", seed=2)
    assert digest_of(other) != digest


def test_a_label_order_changes_the_digest(tmp_path: Path) -> None:
    folder = saved(tmp_path / "nli")
    before = digest_of(folder)
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {"0": "neutral", "1": "entailment", "2": "contradiction"}
    (folder / "config.json").write_text(json.dumps(config))
    assert digest_of(folder) != before


async def test_an_adapter_folder_is_merged_into_its_base(settings: EngineSettings, tmp_path: Path) -> None:
    from peft import LoraConfig, TaskType, get_peft_model
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(3)
    base = Path(settings.embedder_model)
    model = AutoModelForSequenceClassification.from_pretrained(base, num_labels=3)
    lora = LoraConfig(r=2, target_modules=["query", "value"], modules_to_save=["pooler", "classifier"], task_type=TaskType.SEQ_CLS, init_lora_weights=False)
    adapted = get_peft_model(model, lora).eval()
    adapted.save_pretrained(tmp_path / "adapter")
    assert json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())["base_model_name_or_path"] == str(base)
    engines = open_engines(changed(settings, nli_model=str(tmp_path / "adapter")))
    rows = await engines.nli.entail(PAIRS[:6])
    tokenizer = AutoTokenizer.from_pretrained(base)
    for row, (premise, hypothesis) in zip(rows, PAIRS, strict=False):
        with torch.inference_mode():
            inputs = tokenizer(premise, hypothesis, return_tensors="pt", truncation=False, padding=False)
            np.testing.assert_allclose(row, adapted(**inputs).logits[0].softmax(-1).numpy(), atol=1e-4)
    await engines.close()


@pytest.mark.parametrize("setting", ["nli_model", "embedder_model"])
@pytest.mark.parametrize("model", ["/nowhere/at/all", "./nowhere", "nobody/nothing-of-this-name"])
def test_a_model_that_is_not_here_is_one_line(settings: EngineSettings, setting: str, model: str) -> None:
    with pytest.raises(ConfigError, match=setting) as caught:
        open_engines(changed(settings, **{setting: model}))
    assert model in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_no_model_is_one_line(settings: EngineSettings, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"nli_model: .* is not a readable model") as caught:
        open_engines(changed(settings, nli_model=str(tmp_path / "empty")))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("setting", ["nli_model", "embedder_model"])
def test_broken_weights_are_one_line(settings: EngineSettings, setting: str) -> None:
    (Path(getattr(settings, setting)) / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(ConfigError, match=f"{setting}: .* is not a readable model") as caught:
        open_engines(settings)
    assert "\n" not in str(caught.value)


def test_a_first_run_that_fails_is_one_line(settings: EngineSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("words of a library")

    monkeypatch.setattr("touchstone.scorers.engines.embedder.EmbedderEngine.warm_up", fail)
    with pytest.raises(ConfigError, match=r"^embedder_model: the model was read, but its first run failed \(RuntimeError\)") as told:
        open_engines(settings)
    assert "words" not in str(told.value)


def test_labels_that_are_not_understood_are_one_line(settings: EngineSettings, tmp_path: Path) -> None:
    saved(tmp_path / "unnamed", labels=("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(ConfigError, match="LABEL_0"):
        open_engines(changed(settings, nli_model=str(tmp_path / "unnamed")))


def test_a_gpu_that_is_not_here_is_an_error_not_a_silent_cpu(settings: EngineSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="'cuda:3' is not available"):
        open_engines(changed(settings, device="cuda:3"))
    assert device_of("auto").type == "cpu"


def test_without_the_extra_one_line_says_what_to_install(settings: EngineSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name
        for name in sys.modules
        if name.startswith(("touchstone.scorers.engines.torch_device", "touchstone.scorers.engines.nli", "touchstone.scorers.engines.embedder"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"install the extra nli"):
        open_engines(settings)


def test_out_of_memory_is_known_by_each_of_its_names() -> None:
    for error in (MemoryError(), torch.OutOfMemoryError("CUDA"), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")):
        assert is_out_of_memory(error)
    assert is_out_of_memory(RuntimeError("CUDA error: out of memory"))
    assert not is_out_of_memory(RuntimeError("shapes do not match"))


def test_the_thread_count_is_set(settings: EngineSettings) -> None:
    open_engines(changed(settings, threads=2, warm_up=False))
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    "code",
    [
        "from touchstone.scorers.engines import base, batcher, open_engines, weights",
        "from touchstone.scorers.registry import known_kinds; known_kinds()",
        "from touchstone.ops.cli import main\nimport sys\nsys.argv = ['touchstone', '--help']\ntry:\n    main()\nexcept SystemExit:\n    pass",
    ],
)
def test_what_needs_no_model_imports_no_torch(code: str) -> None:
    check = "\nimport sys\nheavy = {'torch', 'transformers', 'sentence_transformers', 'peft'} & set(sys.modules)\nassert not heavy, heavy"
    done = subprocess.run([sys.executable, "-c", code + check], cwd=HERE, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr


needs_default = pytest.mark.skipif(not (DEFAULT_ADAPTER / "adapter_model.safetensors").is_file(), reason="the default adapter has not been trained here")

CLEAR = [
    ("The patient was discharged home on warfarin.", "The patient was discharged."),
    ("The patient was discharged home on warfarin.", "The patient was not discharged."),
    ("A man is playing a guitar on stage.", "A man is playing an instrument."),
    ("A man is playing a guitar on stage.", "Nobody is playing a guitar."),
    ("The company was founded in 1998 in Oslo.", "The company was founded in 1998."),
    ("The company was founded in 1998 in Oslo.", "The company has 40 employees."),
]


@needs_default
@pytest.mark.slow
async def test_the_default_model_answers_the_same_in_any_batch_and_labels_do_not_change_in_bfloat16() -> None:
    engines = open_engines(EngineSettings(dtype="float32"))
    assert engines.nli.model.startswith("touchstone-nli-minilm-l6@")
    others = [(f"{premise} {number}", hypothesis) for number in range(60) for premise, hypothesis in CLEAR]
    alone = np.concatenate([await engines.nli.entail([pair]) for pair in CLEAR])
    many = (await engines.nli.entail([*others, *CLEAR]))[-len(CLEAR) :]
    np.testing.assert_allclose(alone, many, atol=1e-3)
    await engines.close()
    half = open_engines(EngineSettings(dtype="bfloat16"))
    rows = await half.nli.entail(CLEAR)
    assert (rows.argmax(1) == alone.argmax(1)).all()
    assert np.abs(rows - alone).max() < 0.05
    await half.close()
