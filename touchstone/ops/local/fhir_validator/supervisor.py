"""The service's own process: it listens, keeps the validators, and ends with them."""

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

from touchstone.ops.local.fhir_validator.application import make_app
from touchstone.ops.local.fhir_validator.pool import Pool
from touchstone.ops.local.fhir_validator.process import ValidatorProcess
from touchstone.ops.web.server import REQUESTS_MAX, WebServer
from touchstone.schemas.settings.house import FhirValidatorSettings
from touchstone.scorers.base import ConfigError

log = structlog.get_logger("touchstone.fhir_validator")

STATE_FILE = "service.json"
HOMES = "homes"


async def serve(settings: FhirValidatorSettings, state_dir: Path, make: Callable[[], ValidatorProcess]) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP. Its address is written into `state_dir`. Raises `ConfigError` if the first validator does not start."""
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    with alone(state_dir):
        pool = Pool(settings, make)
        server = WebServer(settings.host, settings.port, settings.queue + settings.processes + REQUESTS_MAX, "fhir_validator")
        address = server.listen()
        await server.start(make_app(settings, pool))
        write_state(state_dir, address)
        starting = asyncio.create_task(pool.start())
        stopping = asyncio.create_task(stop.wait())
        try:
            log.info("fhir_validator_starting", address=address, pid=os.getpid())
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
                log.info("fhir_validator_started", address=address, pid=os.getpid())
                await stopping
        finally:
            stopping.cancel()
            await server.stop()
            await pool.close()
            await asyncio.gather(starting, stopping, return_exceptions=True)
            (state_dir / STATE_FILE).unlink(missing_ok=True)
            log.info("fhir_validator_stopped")


def homes(state_dir: Path) -> Path:
    """The folder for the validators' homes."""
    return state_dir / HOMES


def write_state(state_dir: Path, address: str) -> None:
    """Write the service's process id and address, in one step."""
    scratch = state_dir / f".{STATE_FILE}"
    scratch.write_text(json.dumps({"pid": os.getpid(), "address": address}) + "\n", encoding="utf-8")
    scratch.replace(state_dir / STATE_FILE)


@contextmanager
def alone(state_dir: Path) -> Iterator[None]:
    """Hold the folder of this service, and remove the files of one that was killed. Raises `ConfigError`."""
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
        with (state_dir / "lock").open("w") as lock:
            _hold(lock.fileno(), state_dir)
            (state_dir / STATE_FILE).unlink(missing_ok=True)  # of one that was killed
            shutil.rmtree(homes(state_dir), ignore_errors=True)
            homes(state_dir).mkdir()
            yield
    except OSError as error:
        raise ConfigError(f"{state_dir}: cannot be written ({error.strerror}); give another --state-dir") from None


def is_held(state_dir: Path) -> bool:
    """True if a service holds the folder, and on platforms without such locks."""
    with suppress(ImportError):  # Windows
        import fcntl

        try:
            with (state_dir / "lock").open() as lock:
                fcntl.flock(lock.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False
    return True


def _hold(descriptor: int, state_dir: Path) -> None:
    """Hold a lock that the system releases when the process ends."""
    with suppress(ImportError):  # Windows
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"a FHIR validator service runs with {state_dir} already: stop it, or give another --state-dir") from None
