"""How every Kafka client connects: one place turns the settings into aiokafka keyword arguments."""

import asyncio
import logging
import ssl
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.conn import collect_hosts, create_conn
from aiokafka.errors import (
    AuthenticationFailedError,
    AuthenticationMethodNotSupported,
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    UnsupportedSaslMechanismError,
)

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.scorers.base import ConfigError
from touchstone.streams.wire.group_offsets import heed_group_errors
from touchstone.streams.wire.record_batches import read_leniently

#: Answers that waiting does not change: the cluster is there and refuses this user, or its certificate is not trusted.
REFUSALS = (
    *(AuthenticationFailedError, AuthenticationMethodNotSupported, IllegalSaslStateError, SaslAuthenticationFailed, UnsupportedSaslMechanismError),
    *(ClusterAuthorizationFailedError, GroupAuthorizationFailedError, TopicAuthorizationFailedError, ssl.SSLCertVerificationError),
)


#: How long a look at what a port speaks may take.
MISMATCH_S = 5.0
_OTHER_PROTOCOL = {"PLAINTEXT": "SSL", "SSL": "PLAINTEXT", "SASL_PLAINTEXT": "SASL_SSL", "SASL_SSL": "SASL_PLAINTEXT"}


class Unreachable(ConfigError):
    """No broker answers. It may come back: a command reports it and ends, a worker or projector waits."""


def client_options(kafka: KafkaSettings) -> dict[str, Any]:
    """Keyword arguments valid for `AIOKafkaConsumer`, `AIOKafkaProducer` and `AIOKafkaAdminClient` alike.

    Raises `ConfigError` if a certificate or key file cannot be used.
    """
    read_leniently(kafka)
    heed_group_errors()
    options: dict[str, Any] = {
        "bootstrap_servers": kafka.bootstrap_servers,
        "client_id": kafka.client_id,
        "request_timeout_ms": int(kafka.request_timeout_s * 1000),
        "metadata_max_age_ms": int(kafka.metadata_max_age_s * 1000),
        "security_protocol": kafka.security_protocol,
    }
    context = ssl_context(kafka)
    if context is not None:
        options["ssl_context"] = context
    if kafka.security_protocol.startswith("SASL"):
        options["sasl_mechanism"] = kafka.sasl_mechanism
        options["sasl_plain_username"] = kafka.sasl_username
        options["sasl_plain_password"] = kafka.sasl_password.get_secret_value() if kafka.sasl_password else None
    return options


def ssl_context(kafka: KafkaSettings) -> ssl.SSLContext | None:
    """The TLS context of the settings; None if the protocol has no TLS."""
    if "SSL" not in kafka.security_protocol:
        return None
    try:
        context = ssl.create_default_context(cafile=kafka.ssl_cafile)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"kafka.ssl_cafile: {kafka.ssl_cafile} cannot be read as PEM ({type(error).__name__})") from None
    context.check_hostname = kafka.ssl_check_hostname
    if kafka.ssl_certfile is not None:
        password = kafka.ssl_keyfile_password.get_secret_value() if kafka.ssl_keyfile_password else None
        try:
            context.load_cert_chain(kafka.ssl_certfile, kafka.ssl_keyfile, password)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"kafka.ssl_certfile/ssl_keyfile: cannot be loaded ({type(error).__name__}); check paths and the key's password") from None
    return context


@contextmanager
def quiet_library() -> Iterator[None]:
    """Silence aiokafka's log lines about a broker that does not answer: the command's one line is clearer."""
    library = logging.getLogger("aiokafka")
    level, silent = library.level, logging.CRITICAL + 1
    if level == silent:  # silenced by another caller, which also restores it: restoring it here would leave it silent
        yield
        return
    library.setLevel(silent)
    try:
        yield
    finally:
        library.setLevel(level)


async def open_admin(kafka: KafkaSettings) -> AIOKafkaAdminClient:
    """A started admin client. Raises `ConfigError` if no broker answers within `connect_timeout_s`."""
    admin = AIOKafkaAdminClient(**client_options(kafka))
    try:
        with quiet_library():
            await asyncio.wait_for(admin.start(), kafka.connect_timeout_s)
    except (KafkaError, OSError, TimeoutError) as error:
        await admin.close()
        raise await refused_or_unreachable(kafka, error) from None
    except BaseException:
        await admin.close()
        raise
    return admin


async def refused_or_unreachable(kafka: KafkaSettings, error: BaseException) -> ConfigError:
    """What to raise after an error of a client: `Unreachable` if waiting may help, `ConfigError` where the user must fix something."""
    if not isinstance(error, REFUSALS):
        refusal = await _refusal(kafka)
        if refusal is None:
            mismatch = await _mismatch(kafka)
            return Unreachable(unreachable(kafka, error)) if mismatch is None else ConfigError(mismatch)
        error = refusal
    return ConfigError(unreachable(kafka, error))


async def _refusal(kafka: KafkaSettings) -> BaseException | None:
    """Why a broker that answers refuses the connection; None if none answers, or where it accepts.

    Trap: a client that bootstraps takes a refused password for a broker that does not answer. So the first connection is made here.
    """
    options = client_options(kafka)
    hosts = collect_hosts(options.pop("bootstrap_servers"), randomize=False)
    del options["metadata_max_age_ms"]
    try:
        async with asyncio.timeout(kafka.connect_timeout_s):
            for host, port, _ in hosts:
                try:
                    with quiet_library():
                        connection = await create_conn(host, port, **options)
                except REFUSALS as error:
                    return error
                except (KafkaError, OSError, TimeoutError):
                    continue
                connection.close()
                return None
    except TimeoutError:
        pass
    return None


async def _mismatch(kafka: KafkaSettings) -> str | None:
    """One line for a port that speaks TLS where the settings do not, or the reverse; None where that is not the cause.

    Trap: each side takes the other's first bytes for a message of absurd length and hangs up, which looks like a broker that is away.
    """
    wants_tls = "SSL" in kafka.security_protocol
    for host, port, _ in collect_hosts(kafka.bootstrap_servers, randomize=False):
        if await (_speaks_plainly(host, port) if wants_tls else _speaks_tls(host, port)):
            found = "plaintext" if wants_tls else "TLS"
            protocol, other = kafka.security_protocol, _OTHER_PROTOCOL[kafka.security_protocol]
            return f"Kafka at {host}:{port}: the port speaks {found}, and kafka.security_protocol is {protocol}; set {other}, or name another port"
    return None


async def _speaks_tls(host: str, port: int) -> bool:
    """True if a handshake begins, whatever certificate the server then shows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(MISMATCH_S):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def _speaks_plainly(host: str, port: int) -> bool:
    """True if the port answers Kafka's first request (ApiVersions, version 0) without TLS."""
    try:
        async with asyncio.timeout(MISMATCH_S):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(struct.pack(">ihhih", 10, 18, 0, 7, -1))
            answer = await reader.readexactly(8)
    except (OSError, TimeoutError, EOFError):
        return False
    writer.close()
    return bool(struct.unpack(">ii", answer)[1] == 7)


def unreachable(kafka: KafkaSettings, error: BaseException) -> str:
    """One line for a broker that does not accept the connection."""
    where = f"Kafka at {kafka.bootstrap_servers} ({kafka.security_protocol})"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{where}: its certificate is not trusted; check kafka.ssl_cafile, and ssl_check_hostname where the name in it is another"
    if isinstance(error, (KafkaConnectionError, KafkaTimeoutError, OSError, TimeoutError)):
        return f"{where} does not answer; check kafka.bootstrap_servers (KAFKA_BOOTSTRAP_SERVERS), the security protocol and credentials, and that it runs"
    asked = "kafka.sasl_username, sasl_password, sasl_mechanism and " if kafka.security_protocol.startswith("SASL") else "kafka."
    return f"{where} refused the connection: {type(error).__name__}; check {asked}security_protocol"


async def check_topics(kafka: KafkaSettings, names: Iterable[str]) -> dict[str, int]:
    """Name → partition count. Raises `Unreachable` if no broker answers, `ConfigError` for a missing topic."""
    admin = await open_admin(kafka)
    wanted = sorted(set(names))
    try:
        existing = await existing_topics(admin)
    except (KafkaError, OSError, TimeoutError) as error:
        raise await refused_or_unreachable(kafka, error) from None
    finally:
        await admin.close()
    found = {name: len(existing[name]) for name in wanted if existing.get(name)}
    missing = [name for name in wanted if name not in found]
    if missing:
        raise ConfigError(f"missing topic{'s' if len(missing) > 1 else ''} {', '.join(missing)} on {kafka.bootstrap_servers}; run `touchstone topics create`")
    return found


async def existing_topics(admin: AIOKafkaAdminClient) -> dict[str, list[dict[str, Any]]]:
    """Topic → partitions, of all topics: asking for a topic by name would create it on a broker that creates on demand."""
    described = await admin.describe_topics()
    return {entry["topic"]: entry["partitions"] for entry in described if entry["error_code"] == 0}
