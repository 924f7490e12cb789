import os
from pathlib import Path

import pytest

from tests.ops.lab.laboratory import Laboratory
from tests.ops.local.fhir_validator.stand_in import official, patient, stand_in

__all__ = ["official", "patient", "stand_in"]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Laboratory:
    return Laboratory(capfdbinary)


@pytest.fixture
def clinical_data() -> Path:
    folder = Path(os.environ.get("TOUCHSTONE_DATA", "")) / "clinical-dev"
    if not os.environ.get("TOUCHSTONE_DATA") or not folder.is_dir():
        pytest.skip("TOUCHSTONE_DATA names no folder that holds clinical-dev/")
    return folder
