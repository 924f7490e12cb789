"""The API against its own OpenAPI document: whatever is asked, the response is one that the document names."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import one_of, sampled_from
from schemathesis.generation import GenerationMode

from tests.ops.web.history import history
from tests.ops.web.served import served
from touchstone.ops.web.api.addresses import ADDRESSES
from touchstone.ops.web.api.sources import Opened
from touchstone.ops.web.openapi import openapi

EXAMPLES = 5


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with history(tmp_path) as found:
        yield found


def tried(document: dict[str, Any], address: str, path: str, method: str) -> None:
    """Send requests that fit the document and some that do not, and compare every response with it."""
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=address)

    @seed(22)
    @settings(max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=one_of(*(schema[path][method].as_strategy(generation_mode=mode) for mode in GenerationMode)), known=sampled_from([None, "e-0", "trace/0"]))
    def ask(case: Any, known: str | None) -> None:
        if known is not None and "id" in (case.path_parameters or {}):
            case.path_parameters["id"] = quote(known, safe="")
        response = case.call(timeout=30)
        assert response.status_code < 500, (case.as_curl_command(), response.text)
        assert str(response.status_code) in document["paths"][path][method.lower()]["responses"], (case.as_curl_command(), response.text)
        case.validate_response(response, checks=[schemathesis.checks.response_schema_conformance, schemathesis.checks.content_type_conformance])

    ask()


@pytest.mark.parametrize("address", ADDRESSES, ids=lambda address: f"{address.method} {address.path}")
async def test_every_response_is_one_that_the_document_names(opened: Opened, address: Any) -> None:
    async with served(sources=opened) as web:
        await asyncio.to_thread(tried, openapi(), web.address, address.path, address.method.upper())
