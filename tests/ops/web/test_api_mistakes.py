"""Every mistake of a client is one line that says how to mend it, with the right status."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ops.web.history import history
from tests.ops.web.served import served
from touchstone.ops.web.api import case
from touchstone.ops.web.api.sources import Opened

JSON = "application/json"
MISTAKES: list[tuple[str, str, bytes, int, str]] = [
    ("PATCH", "/api/cases/e-0", b"", 422, "the body is empty"),
    ("PATCH", "/api/cases/e-0", b"null", 422, "not a JSON object"),
    ("PATCH", "/api/cases/e-0", b'{"annotations": null}', 422, "annotations is not an array"),
    ("PATCH", "/api/cases/e-0", b'{"annotations": [5]}', 422, "annotations.0 is not an object"),
    ("PATCH", "/api/cases/e-0", b'{"annotations": [{"reviewer": "ann"}]}', 422, "annotations.0 says nothing"),
    ("PATCH", "/api/cases/e-0", b'{"colour": 1}', 422, "is not a field of this request"),
    ("PATCH", "/api/cases/e-0", b"[" * 100_000, 422, "nested deeper than 200 levels"),
    ("PATCH", "/api/cases/e-0", b'{"annotations":' + b"[" * 300 + b"]" * 300 + b"}", 422, "nested deeper than 200 levels"),
    ("PATCH", "/api/cases/e-0", b'{"a": tru}', 422, "(line 1, column "),
    ("PATCH", "/api/cases/none", b'{"feedback": "up"}', 404, "check its id"),
    ("POST", "/api/feedback", b'{"trace_id": "t", "rating": "up", "timestamp": "9999-12-31T23:59:59-14:00"}', 422, "timestamp is no date and time as in"),
    ("POST", "/api/feedback", b'{"trace_id": "t", "rating": "up", "timestamp": 5}', 422, "timestamp is no date and time as in"),
    ("POST", "/api/feedback", b'{"rating": "up"}', 422, "needs either trace_id or event_id"),
    ("POST", "/api/traces", b'{"outputs": {}}', 422, "traceId is missing"),
    ("PUT", "/api/views/x", b'{"query": "colour=red"}', 422, "query: "),
    ("POST", "/api/search", b'{"text": "x"}', 422, "fewer than 2 characters"),
    ("POST", "/api/search", b'{"text": "    "}', 422, "text is blank"),
    ("GET", "/api/traces/none", b"", 404, "check its id"),
    ("GET", "/api/traces/e-0", b"", 404, "/api/traces lists"),
    ("GET", "/api/cases/e-1/document", b"", 404, "archive.policy"),
    ("GET", "/api/cases/trace/0", b"", 404, "write / as %2F"),
    ("GET", "/api/nowhere", b"", 404, "/openapi.json lists"),
    ("GET", "/api/cases/%00", b"", 400, "no null character"),
    ("PUT", "/api/cases/e-0", b"{}", 405, "DELETE, GET, HEAD, PATCH"),
    ("OPTIONS", "/api/feedback", b"", 405, "POST"),
    ("BREW", "/api/traces", b"", 405, "GET, HEAD, POST"),
]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with history(tmp_path) as found:
        yield found


async def test_each_mistake_is_named_with_how_to_mend_it(opened: Opened) -> None:
    async with served(sources=opened) as web:
        for method, path, body, status, says in MISTAKES:
            answer = await web.client.request(method, path, content=body, headers={"Content-Type": JSON})
            text = answer.json()["error"]
            assert (answer.status_code, says in text, "\n" in text) == (status, True, False), (method, path, body[:80], text)
            assert status != 405 or answer.headers["allow"] == says


@pytest.mark.parametrize("headers", [{"Content-Type": "text/plain"}, {"Content-Type": "multipart/form-data; boundary=x"}, {"Content-Encoding": "gzip"}])
async def test_a_body_of_another_kind_is_refused(opened: Opened, headers: dict[str, str]) -> None:
    async with served(sources=opened) as web:
        answer = await web.client.post("/api/feedback", content=b"{}", headers={"Content-Type": JSON} | headers)
        assert (answer.status_code, answer.json()["error"].startswith("send ")) == (415, True)


async def test_a_defect_is_one_line_of_json_and_its_place_is_logged(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("quoted text")

    monkeypatch.setattr(case, "etag", broken)
    async with served(sources=opened) as web:
        answer = await web.get("/api/cases/e-0")
        assert (answer.status_code, answer.json()) == (500, {"error": "a defect of Touchstone; its log names the place"})
