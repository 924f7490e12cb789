"""Where real data lies, if it does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def clinical_data() -> Path:
    """The folder clinical-dev below TOUCHSTONE_DATA; the test is skipped where it is absent."""
    root = os.environ.get("TOUCHSTONE_DATA")
    folder = Path(root) / "clinical-dev" if root else None
    if folder is None or not (folder / "fhir").is_dir():
        pytest.skip("TOUCHSTONE_DATA names no folder that holds clinical-dev/fhir")
    return folder
