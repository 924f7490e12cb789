"""The service on a free port, over a pool of stand-ins for the validator or of real ones."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from touchstone.ops.local.fhir_validator.application import make_app
from touchstone.ops.local.fhir_validator.pool import Pool
from touchstone.ops.local.fhir_validator.process import ValidatorProcess
from touchstone.ops.web.server import WebServer
from touchstone.schemas.settings.house import FhirValidatorSettings

FAKE = Path(__file__).with_name("fake_validator.py")
JSON = "application/fhir+json"
#: A bound for what takes seconds on an idle machine.
WAIT_S = 300.0


def fake(mode: str = "", **more: Any) -> ValidatorProcess:
    return ValidatorProcess(lambda _, port: [sys.executable, str(FAKE), str(port), *([mode] if mode else [])], start_timeout_s=WAIT_S, **more)


@dataclass
class Served:
    pool: Pool
    client: httpx.AsyncClient

    async def post(self, text: str | bytes, path: str = "/validateResource", **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(path, content=text, headers={"Content-Type": JSON} | named)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not condition():  # noqa: ASYNC110  # what a pool holds has no event
                await asyncio.sleep(0.02)

    async def until_ready(self) -> None:
        await self.until(lambda: all(seat.state == "ready" for seat in self.pool.seats))


@asynccontextmanager
async def served(make: Callable[[], ValidatorProcess] = fake, *, start: bool = True, **given: Any) -> AsyncIterator[Served]:
    settings = FhirValidatorSettings(**({"port": 0} | given))
    pool = Pool(settings, make, restart_min_s=0.01, restart_max_s=0.1)
    server = WebServer(settings.host, settings.port, 100, "fhir_validator")
    address = server.listen()
    await server.start(make_app(settings, pool))
    async with httpx.AsyncClient(base_url=address, timeout=WAIT_S, trust_env=False) as client:
        try:
            if start:
                await pool.start()
            yield Served(pool, client)
        finally:
            await server.stop()
            await pool.close()


def is_refused(answer: httpx.Response, status: int, code: str, withheld: str = "secret") -> bool:
    return answer.status_code == status and answer.json()["code"] == code and withheld not in answer.text
