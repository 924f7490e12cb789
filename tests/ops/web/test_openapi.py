import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import jsonschema
from openapi_spec_validator import validate

from tests.ops.web.history import history
from tests.ops.web.served import Served, served
from tests.ops.web.test_api import filled
from touchstone.ops.web.app import make_app
from touchstone.ops.web.openapi import ADDRESSES, openapi
from touchstone.ops.web.page import FOLDER, SCRIPTS, STYLES, load_page


def test_the_document_is_valid() -> None:
    validate(openapi())


async def test_every_address_of_the_application_is_in_the_document() -> None:
    async with served() as web:
        app = make_app(web.service)
        routes = {(route.path.replace(":whole", ""), method) for route in app._app.routes for method in getattr(route, "methods", None) or {"GET"}}  # type: ignore[attr-defined]
    assert {(path, method) for path, method in routes if method != "HEAD" and path != "/favicon.ico"} == {
        (address.path, address.method.upper()) for address in ADDRESSES
    }


async def test_the_answers_are_what_the_document_says(tmp_path: Path) -> None:
    document = openapi()
    with history(tmp_path) as sources:
        async with served(sources=sources) as web:
            await _compare_answers(web, document)


async def _compare_answers(web: Served, document: dict[str, Any]) -> None:
    filled(web)
    assert (await web.client.put("/api/guidelines/e-0", json={"text": "What passes."})).status_code == 200
    assert (await web.client.post("/api/queues", json={"name": "e-0", "guideline": "e-0"})).status_code == 201
    ids = {"/v1/results/{id}": "r-r0.1", "/v1/batches/{id}": "p-b"}
    for path, operations in document["paths"].items():
        content = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        if "$ref" in schema and path != "/api/compare":  # needs the names of two runs
            answer = await web.get(path.replace("{id}", ids.get(path, "e-0")))
            jsonschema.Draft202012Validator({**schema, "components": document["components"]}).validate(answer.json())


def test_the_policy_lets_the_scripts_and_styles_of_the_page_run_and_no_others() -> None:
    page, policy = load_page()
    assert all(FOLDER.joinpath(name).read_text(encoding="utf-8") in page for name in (*STYLES, *SCRIPTS))
    inline = re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", page, re.DOTALL)
    assert inline
    for text in inline:
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert not re.search(r"\son[a-z]+=|<script [^>]*src=|https?://", page.replace("http://www.w3.org/", ""))
