"""The official FHIR validator for tests, one per session: a fixture that a conftest or a test module imports."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from touchstone.ops.local.fhir_validator.artifacts import missing
from touchstone.ops.local.fhir_validator.client import ValidatorClient
from touchstone.ops.local.fhir_validator.server import FhirValidator
from touchstone.scorers.base import ConfigError


def packages() -> list[Path]:
    """The development data's folder of packages, where it is at hand; else they are made from npm's."""
    folder = Path(os.environ.get("TOUCHSTONE_DATA", "")) / "clinical-dev" / "packages"
    return [folder] if os.environ.get("TOUCHSTONE_DATA") and folder.is_dir() else []


def start_official() -> FhirValidator:
    """Start one, or skip with the reason. In CI, where Java and Maven are there, one that does not start is a failure."""
    if (reason := missing()) is not None:
        pytest.skip(reason)
    server = FhirValidator(packages=packages())
    try:
        server.start()
    except ConfigError as error:
        if os.environ.get("CI", "").lower() in {"true", "1"}:
            pytest.fail(f"CI must be able to start the official validator: {error}", pytrace=False)
        pytest.skip(str(error))
    return server


@pytest.fixture(scope="session")
def official_validator() -> Iterator[ValidatorClient]:
    """A client of the official validator, which takes 5 to 10 s to start."""
    server = start_official()
    yield server.client
    server.stop()
