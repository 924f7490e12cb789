"""A generator that is served while a test runs."""

from collections.abc import Iterator

import pytest

from tests.ops.evaluation.generator import Generator, generator


@pytest.fixture
def system() -> Iterator[Generator]:
    with generator() as served:
        yield served
