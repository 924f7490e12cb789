import subprocess
import sys

import pytest

from tests.ops.lab.laboratory import Laboratory
from touchstone.ops.lab.__main__ import EXPERIMENTS


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Laboratory:
    return Laboratory(capfdbinary)


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_it_lists_every_experiment_on_a_line(run: Laboratory, arguments: tuple[str, ...]) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.err) == (0, "")
    assert [line.split("  ")[1] for line in ran.out.splitlines() if line.startswith("  ")] == list(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_shows_its_help(run: Laboratory, name: str) -> None:
    ran = run(*name.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"usage: python -m touchstone.ops.lab {name} ")


@pytest.mark.parametrize(
    ("arguments", "named"), [(("alchemy",), "agreement, "), (("models",), "choose from models evaluate"), (("models", "guess"), "'models guess'")]
)
def test_an_unknown_name_is_one_line_with_the_names_there_are(run: Laboratory, arguments: tuple[str, ...], named: str) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert named in ran.one_line


def test_an_unknown_option_is_one_line_and_exit_2(run: Laboratory) -> None:
    ran = run("consistency", "--salt")
    assert (ran.code, ran.out) == (2, "")
    assert ran.one_line == "touchstone: unrecognized arguments: --salt; see python -m touchstone.ops.lab consistency --help"


def test_the_list_loads_no_library_of_models_and_no_client_of_kafka() -> None:
    heavy = ["torch", "transformers", "onnxruntime", "numpy", "aiokafka", "confluent_kafka", "openai", "lxml", "hl7apy"]
    script = f"import sys; from touchstone.ops.lab.__main__ import main; main([]); sys.exit(' '.join(sys.modules.keys() & set({heavy!r})) or 0)"
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
