"""`touchstone show ID`: a result from the store, its event from the archive or from its topic, or the reason why there is none."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.integration.test_archive import CANARY, event, kept, send
from tests.ops.commands import Commands
from touchstone.ops.local.up import Live, Plan
from touchstone.ops.store.archive.encryption import Cipher
from touchstone.schemas.settings.house import Settings

MISSING = "○ signal 1"


@pytest.fixture
def commands(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Commands:
    for name in [name for name in os.environ if name.startswith(("KAFKA_", "TOUCHSTONE_"))]:
        monkeypatch.delenv(name)
    return Commands(capfdbinary, monkeypatch)


async def test_an_event_is_shown_from_the_archive_or_its_topic_and_what_is_gone_is_said(tmp_path: Path, commands: Commands) -> None:
    plan = Plan(["safe_v0"], runner="direct", page_port=None)
    async with Live(Settings(), plan, lambda _: None) as live:
        await send(live, range(2))
        rows = await kept(live, 2)
        brokers, nowhere = live.settings.kafka.bootstrap_servers, f"file://{tmp_path / 'nowhere'}"

        async def show(identifier: str, *, archive: str = live.archive_url, brokers: str = "") -> tuple[int, str, str]:
            env = {"TOUCHSTONE_STORE_URL": live.store_url, "TOUCHSTONE_ARCHIVE_URL": archive} | ({"KAFKA_BOOTSTRAP_SERVERS": brokers} if brokers else {})
            ran = await asyncio.to_thread(commands, "show", identifier, env=env)
            return ran.code, ran.out, ran.err

        async with asyncio.timeout(60):
            # The archiver may be before the projector.
            while (shown := await show("e-0"))[0] != 0:  # noqa: ASYNC110 -- another process writes the result
                await asyncio.sleep(0.1)
        code, out, err = shown
        assert (code, err) == (0, ""), err
        assert f"{MISSING} a signal" in out
        assert CANARY in out

        code, out, err = await show("nobody")
        assert (code, out) == (3, "")
        assert "no such event, trace or result in the store" in err

        # Objects that no key here opens: without a broker the result alone is read, with one the record.
        for number in range(2):
            path = rows[f"e-{number}"].path
            (Path(live.archive_url.removeprefix("file://")) / path).write_bytes(Cipher([b"k" * 32]).encrypt(event(number), path))
        code, out, err = await show("e-0")
        assert code == 0
        assert f"{MISSING}  [missing; cr_missing]" in out
        assert CANARY not in out + err
        assert "the archive cannot give the event: no key is set; name the brokers with --bootstrap" in err
        code, out, err = await show("e-1", brokers=brokers)
        assert (code, err) == (0, ""), err
        assert CANARY in out

        # There is no archive: the record is read; and where no broker is named, what the result says.
        code, out, err = await show("e-0", archive=nowhere, brokers=brokers)
        assert (code, CANARY in out) == (0, True), err
        code, out, err = await show("e-0", archive=nowhere)
        assert (code, MISSING in out, CANARY in out + err) == (0, True, False)
        assert "there is no archive" in err
        assert "name the brokers with --bootstrap" in err
