"""The bill of materials of a release lists what is installed for users, each package once, and names no host."""

import json
from pathlib import Path
from typing import Any

import pytest

from touchstone.ops.lab.build.bill import bill
from touchstone.scorers.base import ConfigError

LOCK = (Path(__file__).parents[2] / "requirements.lock").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return bill(LOCK)


def test_it_is_a_cyclonedx_document_of_this_version(document: dict[str, Any]) -> None:
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["purl"].startswith("pkg:pypi/touchstone-stream@")


def test_it_lists_base_and_extras_and_no_test_tool(document: dict[str, Any]) -> None:
    names = [part["name"] for part in document["components"]]
    assert {"pydantic", "aiokafka", "lxml", "openai", "onnxruntime", "torch", "psycopg", "rapidfuzz"} <= set(names)
    assert not {"pytest", "mypy", "ruff", "hypothesis", "touchstone-stream"} & set(names)
    assert len(names) == len(set(names))
    assert all(part["purl"] == f"pkg:pypi/{part['name']}@{part['version']}" for part in document["components"])


def test_every_dependency_is_a_listed_part(document: dict[str, Any]) -> None:
    listed = {part["bom-ref"] for part in [document["metadata"]["component"], *document["components"]]}
    assert {entry["ref"] for entry in document["dependencies"]} == listed
    assert {one for entry in document["dependencies"] for one in entry["dependsOn"]} <= listed
    assert "://" not in json.dumps(document)


def test_an_environment_that_is_not_the_lock_s_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^pydantic \S+ is installed, and the lock has 1\.0; run make setup$"):
        bill(LOCK.replace("\npydantic==", "\npydantic==1.0 \\\n# "))
