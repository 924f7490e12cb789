import asyncio
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trustme

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.scorers.base import ConfigError
from touchstone.streams.wire.clients import Unreachable, check_topics


@asynccontextmanager
async def listening(tls: ssl.SSLContext | None, answers: bool = True) -> AsyncIterator[str]:
    """A port that speaks TLS and hangs up, or that answers Kafka's first request as a plain broker does."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size, key, _, correlation = struct.unpack(">ihhi", await reader.readexactly(12))
        if answers and tls is None and size < 1_000 and key == 18:
            writer.write(struct.pack(">iih", 6, correlation, 35))
            await asyncio.sleep(0.1)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


def settings(servers: str, protocol: str) -> KafkaSettings:
    sasl = {"sasl_username": "u", "sasl_password": "p"} if protocol.startswith("SASL") else {}
    return KafkaSettings.model_validate({"bootstrap_servers": servers, "security_protocol": protocol, "connect_timeout_s": 2, "request_timeout_s": 2, **sasl})


@pytest.mark.parametrize(("protocol", "other"), [("PLAINTEXT", "SSL"), ("SASL_PLAINTEXT", "SASL_SSL")])
async def test_plain_text_to_a_port_that_speaks_tls_is_said(protocol: str, other: str) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("localhost").configure_cert(tls)
    async with listening(tls) as servers:
        with pytest.raises(ConfigError, match=rf"the port speaks TLS, and kafka.security_protocol is {protocol}; set {other}, or") as raised:
            await check_topics(settings(servers, protocol), ["a"])
    assert not isinstance(raised.value, Unreachable)  # a worker ends, instead of waiting


@pytest.mark.parametrize(("protocol", "other"), [("SSL", "PLAINTEXT"), ("SASL_SSL", "SASL_PLAINTEXT")])
async def test_tls_to_a_port_that_speaks_plain_text_is_said(protocol: str, other: str) -> None:
    async with listening(None) as servers:
        with pytest.raises(ConfigError, match=rf"the port speaks plaintext, and kafka.security_protocol is {protocol}; set {other}, or"):
            await check_topics(settings(servers, protocol), ["a"])


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
async def test_a_port_that_only_hangs_up_is_waited_for(protocol: str) -> None:
    async with listening(None, answers=False) as servers:
        with pytest.raises(Unreachable, match="does not answer"):
            await check_topics(settings(servers, protocol), ["a"])
