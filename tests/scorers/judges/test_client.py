import pytest

from tests.doubles.judges.server import JudgeServer
from tests.scorers.http.scripted import Scripted
from tests.scorers.judges.helpers import settings_for
from touchstone.scorers.judges.serve.client import Client
from touchstone.scorers.judges.serve.faults import Fault

BODY = b'{"model": "m", "messages": [{"role": "user", "content": "a question"}]}'
TOO_LONG = b'{"error": {"code": "context_length_exceeded", "message": "too long"}}'
REFUSED = b"HTTP/1.1 400 Bad Request\r\nretry-after: 7\r\ncontent-length: %d\r\n\r\n%b" % (len(TOO_LONG), TOO_LONG)
BUSY = b"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\ncontent-length: 4\r\n\r\nbusy"
MOVED = b"HTTP/1.1 302 Found\r\nlocation: http://elsewhere/\r\ncontent-length: 0\r\n\r\n"


@pytest.mark.parametrize("proxied", [False, True])
async def test_a_request_is_the_same_with_and_without_a_proxy(proxied: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy is the server itself, which is sent the whole URL."""
    async with JudgeServer(lambda _: "said", keep_bodies=True) as server:
        url = server.base_url
        if proxied:
            monkeypatch.setenv("HTTP_PROXY", url.removesuffix("/v1"))
            url = "http://judge.example/v1"
        client = Client(settings_for(url, api_key="key-of-a-test", insecure_http=True))
        answer = await client.send(BODY)
        await client.close()
        assert not isinstance(answer, Fault)
        assert answer["choices"][0]["message"]["content"] == "said"
        (arrival,) = server.seen.arrivals
        assert (arrival.key, arrival.body and arrival.body["model"]) == ("key-of-a-test", "m")


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (REFUSED, Fault("case", "too_long")),
        (BUSY, Fault("again", "judge_429", retry_after_s=7.0)),
        (MOVED, Fault("settings", "judge_redirected")),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nno JSON..", Fault("again", "judge_connection", billed=True)),
    ],
    ids=["refused", "busy", "moved", "no JSON"],
)
async def test_an_error_of_the_server_is_a_fault(reply: bytes, fault: Fault) -> None:
    server = Scripted([[reply]])
    async with server.serving() as address:
        client = Client(settings_for(address))
        assert await client.send(BODY) == fault
        await client.close()
