"""No parameter is accepted and ignored: over every address of the OpenAPI document."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ops.web.history import history
from tests.ops.web.served import served
from touchstone.ops.web.api.addresses import ADDRESSES as OF_API
from touchstone.ops.web.api.api import endpoints
from touchstone.ops.web.api.sources import Opened, Sources
from touchstone.ops.web.openapi import ADDRESSES
from touchstone.ops.web.query import FILTERS
from touchstone.schemas.settings.house import Settings

#: Probes and scrapes: the document says that their parameters are not looked at. The page's parameters are its script's.
UNCHECKED = {address.path for address in ADDRESSES if "not looked at" in address.what or address.answer == "text/html"}
CHECKED = [address for address in ADDRESSES if address.path not in UNCHECKED and address.path != "/v1/ws"]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with history(tmp_path) as found:
        yield found


def test_the_document_names_exactly_the_parameters_that_are_read(opened: Opened) -> None:
    read = {(one.path, one.method.lower()): one.parameters for one in endpoints(Sources(lambda: opened, {}), Settings())}
    assert read == {(one.path, one.method): frozenset(parameter.name for parameter in one.parameters) for one in OF_API}


async def test_a_parameter_that_an_address_does_not_have_is_refused_by_name(opened: Opened) -> None:
    async with served(sources=opened) as web:
        for address in CHECKED:
            answer = await web.client.request(address.method, address.path.replace("{id}", "e-0"), params={"colour": "red"}, json={})
            assert (answer.status_code, "'colour'" in answer.text) == (400, True), (address.method, address.path)
        assert {(await web.get(path)).status_code for path in ("/healthz?colour=red", "/metrics?colour=red")} == {200}


async def test_a_parameter_with_one_value_is_refused_if_it_has_two(opened: Opened) -> None:
    async with served(sources=opened) as web:
        for address in CHECKED:
            for one in address.parameters:
                if "repeated" in one.what or "of several" in one.what or one.name in {"ticket", *FILTERS}:
                    continue
                value = one.values[0] if one.values else str(one.least) if one.least is not None else "2026-01-31T12:00:00Z"
                path = address.path.replace("{id}", "e-0")
                answer = await web.client.request(address.method, path, params={one.name: [value, value]})
                assert (answer.status_code, answer.json()["error"].startswith(f"{one.name}:")) == (400, True), (address.path, one.name, answer.text)


@pytest.mark.parametrize(
    ("method", "path", "says"),
    [("GET", "/api/compare?a=one:1:d&b=one:2:d&suite=one", "'suite'"), ("GET", "/api/cases/e-0?result=r-1", "'result'"),
     ("GET", "/api/compare?a=one:1:d&b=one:2:d&from=Fail&to=Fail", "from, to"), ("GET", "/api/compare?a=one:1:d&b=one:2:d&from=Bad&to=Good", "from, to"),
     ("DELETE", "/api/cases/e-0?dry_run=false", "dry_run")],
)  # fmt: skip
async def test_a_value_that_would_change_nothing_is_refused(opened: Opened, method: str, path: str, says: str) -> None:
    async with served(sources=opened) as web:
        answer = await web.client.request(method, path)
        assert (answer.status_code, says in answer.json()["error"]) == (400, True)


async def test_a_search_for_cases_without_their_texts_is_refused(opened: Opened) -> None:
    async with served(sources=opened) as web:
        answer: Any = await web.client.post("/api/search", json={"text": "abc", "filter": {"kept": "no"}})
        assert (answer.status_code, "filter.kept" in answer.json()["error"]) == (422, True)
