import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.ops.local.fhir_validator.fake_validator import DOES_NOT_START
from tests.ops.local.fhir_validator.served import FAKE, JSON, fake, is_refused, served
from touchstone.ops.local.fhir_validator import application
from touchstone.ops.local.kafka.processes import is_running
from touchstone.ops.web import server
from touchstone.schemas.settings.house import FhirValidatorSettings
from touchstone.scorers.base import ConfigError


async def test_a_document_and_its_parameters_reach_a_validator_and_its_answer_comes_back() -> None:
    async with served() as service:
        answer = await service.post("{}", "/validateResource?profile=http://a.test/P%7C1&profile=http://a.test/Q&level=error")
        assert (answer.status_code, answer.headers["content-type"]) == (200, JSON)
        told = answer.json()
        assert told["path"] == "/validateResource?profile=http%3A%2F%2Fa.test%2FP%7C1&profile=http%3A%2F%2Fa.test%2FQ&level=error"
        assert told["body"] == "{}"


@pytest.mark.parametrize(("sent", "taken"), [("application/json; charset=utf-8", JSON), ("text/xml", "application/fhir+xml")])
async def test_json_and_xml_are_told_apart(sent: str, taken: str) -> None:
    async with served() as service:
        assert (await service.post("x", Content_Type=sent)).json()["type"] == taken
        assert is_refused(await service.post("secret", Content_Type="text/plain"), 415, "content_type")


@pytest.mark.parametrize(
    "query", ["htmlOutput=/tmp/file", "secret=1", "profile=http://a.test/%26htmlOutput=/tmp/file", "profile=a%2526htmlOutput=b", "profile=", "level=a%20b"]
)
async def test_parameters_that_write_files_or_pass_for_several_are_refused(query: str) -> None:
    async with served() as service:
        assert is_refused(await service.post("secret", f"/validateResource?{query}"), 400, "parameters")
        assert service.pool.seats[0].served == 0


async def test_a_document_that_hangs_ends_its_validator_and_the_next_one_is_answered() -> None:
    async with served(document_timeout_s=1) as service:
        first = (await service.post("{}")).json()["pid"]
        assert is_refused(await service.post("hang secret"), 504, "timed_out")
        await service.until(lambda: not is_running(first, FAKE.name))
        await service.until_ready()
        assert (await service.post("{}")).json()["pid"] != first
        seat = service.pool.seats[0]
        assert (seat.timed_out, seat.restarts, seat.served) == (1, 1, 2)


@pytest.mark.parametrize(("word", "code"), [("die", "died"), ("memory", "out_of_memory")])
async def test_a_document_that_ends_its_validator_is_told_and_the_next_one_is_answered(word: str, code: str) -> None:
    async with served() as service:
        assert is_refused(await service.post(f"{word} secret"), 502, code)
        await service.until_ready()
        assert (await service.post("{}")).status_code == 200
        seat = service.pool.seats[0]
        assert (seat.died, seat.out_of_memory, seat.restarts) == (1, int(word == "memory"), 1)


@pytest.mark.parametrize(("word", "status", "code"), [("throw", 502, "no_verdict"), ("parameter", 400, "parameters")])
async def test_a_validator_that_fails_on_a_document_alone_is_kept_and_its_text_is_not_shown(word: str, status: int, code: str) -> None:
    async with served() as service:
        assert is_refused(await service.post(f"{word} secret"), status, code)
        assert service.pool.seats[0].restarts == 0


async def test_a_profile_that_the_validator_does_not_know_is_named() -> None:
    async with served() as service:
        answer = await service.post("throw Unable to resolve profile http://a.test/P secret", "/validateResource?profile=http://a.test/P")
        assert is_refused(answer, 400, "profile")
        assert "does not know the profile http://a.test/P: install its implementation guide" in answer.json()["message"]


async def test_one_that_is_killed_while_idle_is_replaced() -> None:
    async with served() as service:
        process = service.pool.seats[0].process
        assert process is not None
        process.kill()
        await service.until(lambda: service.pool.seats[0].restarts == 1)
        await service.until_ready()
        assert (await service.post("{}")).status_code == 200


async def test_a_full_queue_refuses_at_once_and_those_that_wait_are_answered(tmp_path: Path) -> None:
    async with served(queue=1) as service:
        release = tmp_path / "go"
        held = asyncio.create_task(service.post(f"wait {release}"))
        await service.until(lambda: service.pool.seats[0].state == "busy")
        waiting = asyncio.create_task(service.post("{}"))
        await service.until(lambda: service.pool.waiting == 1)
        refused = await service.post("secret")
        assert is_refused(refused, 503, "queue_full")
        assert refused.headers["retry-after"] == "1"
        release.touch()
        assert [answer.status_code for answer in await asyncio.gather(held, waiting)] == [200, 200]
        assert service.pool.as_json()["queue"] == {"waiting": 0, "max": 1, "refused": 1}


async def test_one_that_waits_too_long_is_refused(tmp_path: Path) -> None:
    async with served(queue_timeout_s=0.2) as service:
        held = asyncio.create_task(service.post(f"wait {tmp_path / 'go'}"))
        await service.until(lambda: service.pool.seats[0].state == "busy")
        assert is_refused(await service.post("secret"), 503, "waited")
        (tmp_path / "go").touch()
        assert (await held).status_code == 200


async def test_two_processes_answer_two_documents_at_a_time(tmp_path: Path) -> None:
    async with served(processes=2) as service:
        await service.until_ready()
        held = [asyncio.create_task(service.post(f"wait {tmp_path / 'go'}")) for _ in range(2)]
        await service.until(lambda: all(seat.state == "busy" for seat in service.pool.seats))
        (tmp_path / "go").touch()
        assert len({(await answer).json()["pid"] for answer in held}) == 2


async def test_a_client_that_has_gone_costs_no_validator(tmp_path: Path) -> None:
    async with served() as service:
        held = asyncio.create_task(service.post(f"wait {tmp_path / 'go'}"))
        await service.until(lambda: service.pool.seats[0].state == "busy")
        gone = asyncio.create_task(service.post("{}"))
        await service.until(lambda: service.pool.waiting == 1)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        (tmp_path / "go").touch()
        await held
        await service.until(lambda: service.pool.waiting == 0 and service.pool.seats[0].state == "ready")
        assert service.pool.seats[0].served == 1


async def test_before_a_validator_is_up_documents_are_put_off_and_the_service_is_alive_and_not_ready() -> None:
    async with served(start=False) as service:
        refused = await service.post("secret")
        assert is_refused(refused, 503, "not_up")
        assert refused.headers["retry-after"] == "5"
        assert (await service.client.get("/healthz")).status_code == 200
        assert (await service.client.get("/readyz")).status_code == 503
        assert (await service.client.get("/status")).json()["processes"][0]["state"] == "starting"
        await service.pool.start()
        assert (await service.client.get("/readyz")).status_code == 200


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_document_over_the_bound_is_refused_however_it_is_sent(chunked: bool) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(50):
            yield b"secret" * 10_000

    async with served(document_bytes_max=1_024) as service:
        content: Any = pieces() if chunked else b"secret" * 500_000
        assert is_refused(await service.client.post("/validateResource", content=content, headers={"Content-Type": JSON}), 413, "too_large")
        assert (await service.post("x" * 1_024)).status_code == 200


async def test_a_token_is_asked_for_except_by_probes() -> None:
    async with served(token="one-two-three", start=False) as service:
        assert is_refused(await service.post("secret"), 401, "token", "three")
        assert is_refused(await service.post("secret", Authorization="Bearer other"), 401, "token")
        assert (await service.client.get("/status")).status_code == 401
        assert (await service.client.get("/healthz")).status_code == 200
        assert (await service.client.get("/status", headers={"Authorization": "Bearer one-two-three"})).status_code == 200


async def test_another_name_of_this_machine_is_refused() -> None:
    async with served(start=False) as service:
        assert is_refused(await service.post("secret", Host="evil.test"), 403, "host")


async def test_a_wrong_address_says_the_right_ones() -> None:
    async with served(start=False) as service:
        assert is_refused(await service.client.get("/loadIG"), 404, "address")
        assert is_refused(await service.client.get("/validateResource"), 405, "address")


async def test_a_validator_that_does_not_start_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ended at once: Error: no memory for the heap"):
        async with served(lambda: fake(DOES_NOT_START, folder=tmp_path)):
            pass
    assert not os.listdir(tmp_path)  # noqa: PTH208


async def test_one_that_does_not_start_again_is_tried_again_and_its_reason_told() -> None:
    modes = iter(["", DOES_NOT_START, DOES_NOT_START])
    async with served(lambda: fake(next(modes, ""))) as service:
        reasons: list[str | None] = []
        assert (await service.post("die")).status_code == 502
        await service.until(lambda: bool(reasons.append(service.pool.seats[0].reason) or service.pool.seats[0].restarts == 3))
        await service.until_ready()
        assert any("no memory for the heap" in reason for reason in reasons if reason)
        assert service.pool.seats[0].reason is None


async def test_what_a_validator_writes_holds_it_up_never() -> None:
    async with served() as service:
        assert (await service.post("noise")).status_code == 200


def test_beyond_loopback_a_token_is_needed() -> None:
    with pytest.raises(ValueError, match=r"fhir_validator\.host is not loopback: set fhir_validator\.token to expose the service"):
        FhirValidatorSettings(host="0.0.0.0")


@pytest.mark.parametrize("url", ["ftp://a", "http://a.test", "http://user:x@127.0.0.1", "https://a/?q=1", "http://127.0.0.1:x"])
def test_an_address_that_cannot_be_asked_safely_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"write the service's address|travel unencrypted"):
        FhirValidatorSettings(url=url)


async def test_a_client_that_sends_for_ever_gives_its_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "SENDING_S", 0.2)
    monkeypatch.setattr(server, "REQUEST_S", 0.5)
    began = time.monotonic()

    async def drops() -> AsyncIterator[bytes]:
        for _ in range(10_000):
            yield b" "
            await asyncio.sleep(0.02)

    async with served(queue=1) as service:
        with suppress(httpx.HTTPError):  # it is still sending when it is answered
            answer = await service.client.post("/validateResource", content=drops(), headers={"Content-Type": JSON})
            assert is_refused(answer, 408, "slow")
        assert time.monotonic() - began < 100, "its connection is ended, though it goes on for 200 s"
        await service.until(lambda: service.pool._admitted == 0)
        assert (await service.post("{}")).status_code == 200
