import sys
from pathlib import Path
from typing import Any

import pytest

from touchstone.schemas.settings.engines import EngineSettings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines import runtime_plan
from touchstone.scorers.engines.runtime_plan import Plan, number_types, plan


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Decide what this machine has: `here(torch=True, onnx=True, gpu=False, bfloat16=True)`."""

    def decide(*, torch: bool = True, onnx: bool = True, gpu: bool = False, bfloat16: bool = True, vnni: bool = True) -> None:
        there = {runtime_plan.TORCH_LIBRARIES: torch, runtime_plan.ONNX_LIBRARIES: onnx}
        monkeypatch.setattr(runtime_plan, "_installed", there.__getitem__)
        monkeypatch.setattr(runtime_plan, "gpu_here", lambda settings: gpu and settings.runtime != "onnx" and settings.device != "cpu")
        monkeypatch.setattr(runtime_plan, "adds_bytes_in_32_bits", lambda: vnni)
        monkeypatch.setattr(runtime_plan, "_computes_bfloat16", lambda *, gpu: gpu or bfloat16)

    decide()
    return decide


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, Plan("onnx", "int8")),
        ({"dtype": "float32"}, Plan("onnx", "float32")),
        ({"dtype": "int8"}, Plan("onnx", "int8")),
        ({"runtime": "onnx"}, Plan("onnx", "int8")),
        ({"runtime": "torch"}, Plan("torch", "bfloat16")),
        ({"dtype": "bfloat16"}, Plan("torch", "bfloat16")),
        ({"dtype": "float16"}, Plan("torch", "float16")),
        ({"runtime": "torch", "dtype": "float32"}, Plan("torch", "float32")),
        ({"nli_model": "somebody/some-model"}, Plan("torch", "bfloat16")),
    ],
)
def test_on_a_cpu_onnx_runs_what_has_a_graph_and_torch_the_rest(here: Any, settings: dict[str, Any], wanted: Plan) -> None:
    assert plan(EngineSettings(**settings), "nli") == wanted


def test_on_a_gpu_torch_runs_unless_the_settings_name_the_cpu(here: Any) -> None:
    here(gpu=True)
    assert plan(EngineSettings(), "nli") == Plan("torch", "bfloat16")
    assert plan(EngineSettings(device="cpu"), "nli") == Plan("onnx", "int8")


def test_a_cpu_without_bfloat16_computes_in_float32_on_torch(here: Any) -> None:
    here(bfloat16=False)
    assert plan(EngineSettings(runtime="torch"), "nli") == Plan("torch", "float32")


@pytest.mark.parametrize(("vnni", "why"), [(True, "at full speed (VNNI or ARM)"), (False, "a slower product of bytes gives the same answers")])
@pytest.mark.parametrize(("dtype", "chosen"), [("auto", "the default on a CPU"), ("int8", "dtype is set to int8")])
def test_every_processor_computes_in_int8_and_the_plan_says_why(here: Any, vnni: bool, why: str, dtype: Any, chosen: str) -> None:
    here(vnni=vnni)
    planned = plan(EngineSettings(dtype=dtype), "nli")
    assert planned == Plan("onnx", "int8")
    assert planned.why.startswith(f"{chosen}; ")
    assert planned.why.endswith(why)


def test_where_one_of_the_two_is_missing_the_other_runs(here: Any) -> None:
    here(onnx=False)
    assert plan(EngineSettings(), "nli") == Plan("torch", "bfloat16")
    here(torch=False)
    assert plan(EngineSettings(), "nli") == Plan("onnx", "int8")


@pytest.mark.parametrize(
    ("there", "settings", "said"),
    [
        ({"torch": False}, {"runtime": "torch"}, r"needs torch.*install the extra nli:"),
        ({"torch": False}, {"nli_model": "somebody/some-model"}, r"install the extra nli:.*some-model has no graph"),
        ({"torch": False}, {"dtype": "bfloat16"}, r"install the extra nli:"),
        ({"torch": False, "onnx": False}, {}, r"install the extra nli:"),
        ({"onnx": False}, {"runtime": "onnx"}, r"install the extra nli-onnx:"),
        ({"onnx": False}, {"dtype": "int8"}, r"install the extra nli-onnx:"),
        ({}, {"runtime": "onnx", "nli_model": "somebody/some-model"}, "some-model has no graph"),
        ({}, {"runtime": "onnx", "dtype": "bfloat16"}, "int8 or float32"),
        ({}, {"runtime": "onnx", "device": "cuda"}, "runs on CPUs"),
        ({}, {"runtime": "torch", "dtype": "int8"}, "ONNX Runtime's"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(here: Any, there: dict[str, bool], settings: dict[str, Any], said: str) -> None:
    here(**there)
    with pytest.raises(ConfigError, match=said) as caught:
        plan(EngineSettings(**settings), "nli")
    assert "\n" not in str(caught.value)
    assert number_types(EngineSettings(**settings)) == "unknown"


def test_the_number_types_do_not_name_the_runtime(here: Any) -> None:
    assert number_types(EngineSettings()) == "int8"
    assert number_types(EngineSettings(runtime="onnx", dtype="float32")) == number_types(EngineSettings(runtime="torch", dtype="float32")) == "float32"
    assert number_types(EngineSettings(embedder_model="somebody/encoder")) == "int8, embedder bfloat16"


def test_a_folder_is_planned_without_loading_it(here: Any, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "deberta-v2"}')
    loaded = set(sys.modules)
    assert plan(EngineSettings(nli_model=str(tmp_path)), "nli").runtime == "torch"
    assert not {"torch", "onnxruntime", "transformers"} & (set(sys.modules) - loaded)


@pytest.mark.parametrize(
    "files",
    [
        {"config.json": '{"model_type": "bert", "architectures": ["BertForSequenceClassification"], "id2label": null}'},
        {"adapter_config.json": '{"peft_type": "LORA", "base_model_name_or_path": "all-MiniLM-L6-v2"}', "recipe.json": '{"labels": 3}'},
        {"adapter_config.json": '{"peft_type": "LORA"}', "recipe.json": "[]"},
        {"config.json": "[]"},
    ],
)
def test_a_folder_whose_files_say_nonsense_has_no_graph(here: Any, tmp_path: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    assert plan(EngineSettings(nli_model=str(tmp_path)), "nli").runtime == "torch"


@pytest.mark.parametrize("name", ["~nobody-of-this-name/model", "x" * 400])
def test_what_can_be_no_folder_has_no_graph(here: Any, name: str) -> None:
    assert [plan(EngineSettings(nli_model=name, embedder_model=name), task).runtime for task in ("nli", "embedding")] == ["torch", "torch"]


def test_only_results_that_round_carry_a_mark() -> None:
    assert Plan("onnx", "float32").mark == ""
    assert Plan("torch", "bfloat16").mark == "+bfloat16"
