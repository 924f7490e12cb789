import httpx2
import pytest

from tests.scorers.http.scripted import BOUND, PLAIN, Scripted
from touchstone.scorers.http.client import HttpClient
from touchstone.scorers.judges.serve.transport import JudgeTransport, LeanClient, transport_to


async def test_the_lean_client_sends_what_the_library_s_own_would() -> None:
    headers = [("content-type", "application/json"), ("authorization", "Bearer key"), ("x-count", "0")]
    server = Scripted([[PLAIN]] * 4)
    async with server.serving() as address:
        transport = JudgeTransport(HttpClient(address, bytes_max=BOUND))
        for client in (LeanClient(transport), httpx2.AsyncClient(transport=transport, headers={"user-agent": "", "accept": ""})):
            for content in (b'{"a":1}', b'{"bb":2}'):
                response = await client.send(client.build_request("POST", address, headers=headers, content=content))
                assert response.json() == {}
        await transport.aclose()
    lean, own = server.requests[:2], server.requests[2:]
    for mine, theirs in zip(lean, own, strict=True):
        assert {line.lower() for line in mine.split(b"\r\n")} == {line.lower() for line in theirs.split(b"\r\n") if line[-2:] != b": "}


def test_where_a_proxy_stands_between_the_client_s_own_transport_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    assert transport_to("https://judge.example/v1", is_loopback=False, connect_s=1) is None
    assert transport_to("http://127.0.0.1:8000/v1", is_loopback=True, connect_s=1) is not None
    monkeypatch.delenv("HTTPS_PROXY")
    assert transport_to("https://judge.example/v1", is_loopback=False, connect_s=1) is not None
