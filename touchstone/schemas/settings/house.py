"""Settings of Touchstone's processes: unit in the name, bound and default in the field."""

import re
from collections.abc import Mapping
from ipaddress import IPv6Address
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Port = Annotated[int, Field(ge=0, le=65_535)]
TopicName = Annotated[str, Field(min_length=1, max_length=249, pattern=r"^[a-zA-Z0-9._-]+$")]
#: A tag of reviewers: a word in lower case, so that it can be shown where texts of cases cannot.
ReviewTag = Annotated[str, Field(pattern=r"^[a-z0-9]+([_.:-][a-z0-9]+)*$", max_length=64)]
#: What topics are there for, inputs first; each is a field of `TopicSettings` that holds its name.
TOPIC_ROLES = ("generations", "traces", "judge", "conformance", "results", "reports", "dead")
#: What a token of the live service may allow: to see results, to see texts of cases, to annotate them, to send feedback and traces, to remove cases.
TOKEN_SCOPES = frozenset({"results", "text", "annotate", "feedback", "admin"})
#: Addresses that only this machine can reach.
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class Section(BaseModel):
    """A group of settings: an unknown key is a typing mistake, so it is refused; values are never quoted in errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def check_server(server: str, place: int) -> str:
    """One `host:port` without the blanks around it. Raises `ValueError` that names its place and never quotes it."""
    host, _, port = server.strip().rpartition(":")
    if not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65_535:
        raise ValueError(f"server {place}: write host:port, several separated by commas, with a port from 1 to 65535")
    if host.startswith("[") and host.endswith("]"):
        try:
            IPv6Address(host[1:-1])
        except ValueError:
            raise ValueError(f"server {place}: the text in brackets is not an IPv6 address") from None
    elif not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?", host) or any(not 0 < len(label) < 64 for label in host.rstrip(".").split(".")):
        raise ValueError(f"server {place}: write host:port with a plain host name (no scheme://) or address, IPv6 in brackets: [::1]:9092")
    return f"{host}:{port}"


class KafkaSettings(Section):
    """Connection settings of every Kafka client."""

    bootstrap_servers: str = Field("127.0.0.1:9092", min_length=1, description="host:port, several separated by commas")
    client_id: str = Field("touchstone", min_length=1, max_length=100)
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    ssl_cafile: Path | None = Field(None, description="PEM; default: the system's certificate authorities")
    ssl_certfile: Path | None = Field(None, description="PEM client certificate, for mutual TLS")
    ssl_keyfile: Path | None = None
    ssl_keyfile_password: SecretStr | None = None
    ssl_check_hostname: bool = True
    connect_timeout_s: Seconds = 10
    request_timeout_s: Seconds = 30
    metadata_max_age_s: Annotated[float, Field(ge=0.5, le=300)] = Field(
        5, description="how often each client asks for topics and partitions: new partitions are read after this time at the latest"
    )
    probe_interval_s: Annotated[float, Field(ge=0.05, le=60)] = Field(3, description="how often a worker or projector asks the cluster whether it answers")
    probe_timeout_s: Seconds = Field(5, description="after this time without an answer, /readyz reports the cluster as down")
    batch_bytes_max: Annotated[int, Field(ge=1_048_576, le=1_073_741_824)] = Field(
        67_108_864, description="a compressed record batch that unpacks to more becomes a dead letter, whole"
    )
    batch_ratio_max: Annotated[int, Field(ge=10, le=1_000_000)] = Field(
        200, description="the same for one that unpacks to more than so many times its size; up to 8 MiB are always unpacked"
    )
    start_wait_s: Annotated[float, Field(ge=0, le=604_800)] = Field(
        0, description="how long a worker or projector waits for a broker at its start before it exits with code 3; 0: no limit"
    )

    @field_validator("bootstrap_servers")
    @classmethod
    def _servers_can_be_read(cls, value: str) -> str:
        """Refuse addresses that client libraries cannot use."""
        return ",".join(check_server(server, place) for place, server in enumerate(value.split(","), 1))

    @model_validator(mode="after")
    def _credentials_fit_the_protocol(self) -> Self:
        """Refuse a combination that could only fail later, inside a client."""
        if self.security_protocol.startswith("SASL") and (self.sasl_username is None or self.sasl_password is None):
            raise ValueError(f"security_protocol {self.security_protocol} needs sasl_username and sasl_password")
        if (self.ssl_certfile is None) != (self.ssl_keyfile is None):
            raise ValueError("ssl_certfile and ssl_keyfile go together")
        return self


class TopicSettings(Section):
    """Topic names and how `touchstone topics create` makes them."""

    traces: TopicName = "touchstone.traces"
    generations: TopicName = "touchstone.generations"
    judge: TopicName = "touchstone.judge"
    conformance: TopicName = "touchstone.conformance"
    results: TopicName = "touchstone.results"
    reports: TopicName = "touchstone.reports"
    dead: TopicName = "touchstone.dead"
    partitions: Annotated[int, Field(ge=1, le=1000)] = 4
    replication_factor: Annotated[int, Field(ge=-1, le=9)] = Field(-1, description="-1: the broker's default")
    dead_message_bytes_max: Annotated[int, Field(ge=1_048_576, le=1_073_741_824)] = Field(
        33_554_432, description="largest dead letter: the original record plus its error headers"
    )

    def inputs(self, roles: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the topics that play the given roles."""
        return tuple(getattr(self, role) for role in roles)

    def all_names(self) -> tuple[str, ...]:
        """Every topic, inputs first."""
        return self.inputs(TOPIC_ROLES)


class WorkerSettings(Section):
    """One suite's worker process."""

    group_prefix: str = Field("touchstone", pattern=r"^[a-zA-Z0-9._-]+$", description="consumer group = prefix.suite")
    event_bytes_max: Annotated[int, Field(ge=1024, le=104_857_600)] = Field(1_048_576, description="a larger event becomes a dead letter")
    event_age_max_s: Annotated[float, Field(ge=0, le=31_536_000)] = Field(0, description="older events are shed; 0: never")
    window_records: Annotated[int, Field(ge=1, le=1_000_000)] = Field(4_096, description="records in flight, per process")
    window_bytes: Annotated[int, Field(ge=1_048_576, le=8_589_934_592)] = Field(67_108_864, description="payload bytes in flight, per process")
    slice_records: Annotated[int, Field(ge=1, le=10_000)] = Field(128, description="records of one partition scored and produced together")
    commit_interval_s: Annotated[float, Field(ge=0.05, le=60)] = 1.0
    commit_timeout_s: Seconds = 5
    produce_timeout_s: Seconds = Field(30, description="one produce attempt; the outbox then tries again")
    retry_backoff_min_s: Annotated[float, Field(ge=0.01, le=60)] = 0.1
    retry_backoff_max_s: Annotated[float, Field(ge=0.01, le=600)] = 5.0
    drain_timeout_s: Seconds = Field(25, description="SIGTERM: time to finish what is in flight")
    score_timeout_s: Seconds = Field(600, description="one case of a suite that is not inline; after this time the case fails with timeout")
    stall_timeout_s: Seconds = Field(300, description="watchdog: ends the process after this long without progress while work waits")
    session_timeout_s: Annotated[float, Field(ge=1, le=300)] = 10
    heartbeat_interval_s: Annotated[float, Field(ge=0.1, le=100)] = 3
    rebalance_timeout_s: Annotated[float, Field(ge=1, le=600)] = 20
    poll_interval_max_s: Seconds = Field(86_400, description="long, because back-pressure lasts as long as an outage; the watchdog notices a stuck worker")
    auto_offset_reset: Literal["earliest", "latest"] = Field(
        "earliest", description="where a group begins on a topic at its first start; a partition that appears later is read from its beginning"
    )
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = Field("none", description="of result events")
    faust_fetcher: Literal["batched", "stock"] = Field(
        "batched", description="runner faust: batched: records reach the agent in slices; stock: Faust's own fetcher, at a lower rate"
    )
    dead_limit: Literal["on", "off"] = Field("on", description="on: a flood of dead letters stops the worker; off: they are sent however many there are")
    dead_limit_share: Annotated[float, Field(gt=0, le=1)] = Field(0.5, description="a larger share of dead letters in the window is a flood …")
    dead_limit_records: Annotated[int, Field(ge=1, le=1_000_000)] = Field(1_000, description="… if there are at least this many")
    dead_window_records: Annotated[int, Field(ge=1, le=10_000_000)] = Field(10_000, description="size of the window: the latest records of the process")

    @property
    def rebalance_max_s(self) -> float:
        """Every member has the rebalance timeout to join anew, and a dead one is noticed after its session; twice, for a second round."""
        return 2 * (self.rebalance_timeout_s + self.session_timeout_s)

    @model_validator(mode="after")
    def _dead_limit_can_be_reached(self) -> Self:
        """Refuse a window that never holds enough records, because that would switch the limit off without a word."""
        if self.dead_limit_records > self.dead_window_records:
            raise ValueError(
                f"dead_limit_records ({self.dead_limit_records}) is larger than dead_window_records ({self.dead_window_records}), so the limit could "
                "never be reached: lower dead_limit_records or raise dead_window_records (dead_limit off switches the limit off)"
            )
        return self


class ProjectorSettings(Section):
    """Results → store → reports."""

    batch_records_max: Annotated[int, Field(ge=1, le=100_000)] = Field(2_000, description="records per store transaction")
    report_interval_s: Annotated[float, Field(ge=0.1, le=3_600)] = Field(1.0, description="shortest time between two reports of a changed batch")
    quiet_s: Annotated[float, Field(gt=0, le=604_800)] = Field(300, description="a batch of undeclared size is final after this long without a case")


class StoreSettings(Section):
    """The result store."""

    url: SecretStr = Field(SecretStr("sqlite:///touchstone.db"), description="SQLAlchemy URL: sqlite:///FILE or postgresql+psycopg://…")


#: One entry of `archive.policy`: a policy, or `suite=policy`.
_POLICY = re.compile(r"(?:[A-Za-z0-9_.-]+=)?(all|none|failed|[01](?:\.[0-9]{1,9})?|\.[0-9]{1,9})")


class ArchiveSettings(Section):
    """The archive: which cases are kept, and where."""

    url: str = Field("", max_length=2_000, description="file:///FOLDER, s3://BUCKET/PREFIX, gs://… or az://…; empty: ./touchstone-archive")
    key_file: Path | None = Field(None, description="keys of 32 bytes, base64 or hex, one a line; the first encrypts; without it objects are not encrypted")
    policy: tuple[str, ...] = Field(
        ("0.05",),
        description="which cases are kept: all, none, failed (every Fail and unscored), or a share of the rest, too: 0.05; also suite=policy",
    )
    case_bytes_max: Annotated[int, Field(ge=1_024, le=1_073_741_824)] = Field(104_857_600, description="a larger case is not kept")
    depth_max: Annotated[int, Field(ge=8, le=1_000)] = Field(200, description="a case that is nested deeper is not kept")
    batch_records_max: Annotated[int, Field(ge=1, le=10_000)] = Field(500, description="results that are read, kept and committed together")
    in_flight_bytes: Annotated[int, Field(ge=1_048_576, le=8_589_934_592)] = Field(33_554_432, description="cases in memory on their way to the archive")
    writers: Annotated[int, Field(ge=1, le=64)] = Field(8, description="objects that are written at the same time")
    search_bytes_max: Annotated[int, Field(ge=1_048_576, le=8_589_934_592)] = Field(268_435_456, description="cases that one step of a text search reads")

    @field_validator("key_file", mode="before")
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:
        """Read an empty text as no file: it is what a deployment's variable holds if nobody has set it, and it would be the working directory."""
        return value or None

    @field_validator("policy")
    @classmethod
    def _policies_can_be_read(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse what is neither a policy nor a suite's policy, and two for the same."""
        names = [entry.rpartition("=")[0] for entry in value]
        for place, entry in enumerate(value, 1):
            found = _POLICY.fullmatch(entry)
            if found is None or (found[1] not in {"all", "none", "failed"} and float(found[1]) > 1):
                raise ValueError(f"entry {place}: write all, none, failed or a share from 0 to 1; for one suite suite=policy; several separated by commas")
            if entry.rpartition("=")[0] in names[: place - 1]:
                raise ValueError(f"entry {place}: the same suite has a policy already")
        return value


class HttpSettings(Section):
    """The worker's own pages: /metrics, /healthz, /readyz."""

    section: ClassVar[str] = "http"
    what: ClassVar[str] = "the pages"

    host: str = "127.0.0.1"
    port: Port = Field(0, description="0: a free port, printed at start")
    token: SecretStr | None = Field(None, description="bearer token; required to bind anything but loopback")
    allowed_hosts: tuple[str, ...] = Field(
        (), description="names that requests may be addressed to, besides addresses; without them loopback takes its own names, others any"
    )

    @field_validator("token")
    @classmethod
    def _token_can_be_sent(cls, value: SecretStr | None) -> SecretStr | None:
        """Refuse an empty token, or one that a header cannot carry."""
        if value is not None and not re.fullmatch(r"[!-~]+", value.get_secret_value()):
            raise ValueError("a token is one or more ASCII characters without blanks")
        return value

    @model_validator(mode="after")
    def _exposed_needs_token(self) -> Self:
        """Refuse to expose it without a token."""
        if self.host not in LOOPBACK and self.token is None:
            raise ValueError(f"{self.section}.host is not loopback: set {self.section}.token to expose {self.what}")
        return self


class TokenGrant(NamedTuple):
    """What one token allows. `suites`: those that it may see; None: all. `name`: whose token it is; empty if the settings do not say."""

    token: str
    suites: frozenset[str] | None
    scopes: frozenset[str]
    name: str = ""


class ReviewSettings(Section):
    """How people review cases on the page."""

    reserve_s: Annotated[float, Field(ge=10, le=86_400)] = Field(600, description="a case of a queue is kept this long for the reviewer who has it")
    tags: Annotated[tuple[ReviewTag, ...], Field(max_length=9)] = Field(
        ("missing_meds", "irrelevant_labs", "terminology_error", "temporal_inconsistency", "missing_facts", "wrong_facts", "wrong_tone"),
        description="common issues that the keys 1 to 9 tick",
    )
    severity_tags: Annotated[tuple[ReviewTag, ...], Field(min_length=1, max_length=9)] = Field(
        ("clinician_would_notice", "subtle_issue", "cosmetic"), description="how severe a failure is; the first is the worst"
    )


class ServeSettings(Section):
    """The live service: events, summaries and the Mission Control page over HTTP."""

    host: str = Field("127.0.0.1", description="any other address than loopback needs serve.tokens")
    port: Port = Field(8321, description="0: a free port, printed at start")
    tokens: tuple[SecretStr, ...] = Field(
        (),
        description="who may do what, each `all:TOKEN`, `suite+suite:TOKEN` or `NAME=all/text+annotate:TOKEN`; "
        "in a file also as tables with `token`, `suites` and perhaps `scopes` and `name`",
    )
    allowed_hosts: tuple[str, ...] = Field((), description="names that requests may be addressed to; without them loopback takes its own names, others any")
    cors_origins: tuple[str, ...] = Field((), description="origins of other pages that may read, such as https://watch.example.org")
    clients_max: Annotated[int, Field(ge=1, le=100_000)] = Field(1_000, description="open streams; one more is answered with 503")
    queue_events: Annotated[int, Field(ge=1, le=1_000_000)] = Field(5_000, description="events that wait for one client; what comes then is a gap")
    queue_bytes: Annotated[int, Field(ge=65_536, le=1_073_741_824)] = Field(16_777_216, description="the same in bytes")
    window_events: Annotated[int, Field(ge=1, le=1_000_000)] = Field(20_000, description="latest events in memory, for summaries and those who come back")
    window_bytes: Annotated[int, Field(ge=65_536, le=8_589_934_592)] = Field(67_108_864, description="the same in bytes")
    heartbeat_s: Annotated[float, Field(ge=0.1, le=3_600)] = Field(15, description="a quiet stream carries a sign of life this often")
    send_timeout_s: Seconds = Field(20, description="a client that takes nothing for this long is disconnected")
    retry_ms: Annotated[int, Field(ge=100, le=600_000)] = Field(2_000, description="after this time a browser reconnects")
    ticket_s: Annotated[float, Field(ge=1, le=60)] = Field(30, description="how long a one-use ticket can be used")
    catch_ups_max: Annotated[int, Field(ge=1, le=1_000)] = Field(8, description="clients that read older events from Kafka at the same time; others wait")
    lag_interval_s: Annotated[float, Field(ge=0.5, le=3_600)] = Field(5, description="how often the suites' lag is asked for")
    review: ReviewSettings = ReviewSettings()

    @field_validator("tokens", mode="before")
    @classmethod
    def _tables_are_tokens(cls, value: Any) -> Any:
        """Read tables of a settings file as the same text that a variable holds."""
        if not isinstance(value, list | tuple):
            return value
        return [_token_of_table(place, part) if isinstance(part, Mapping) else part for place, part in enumerate(value, 1)]

    @field_validator("tokens")
    @classmethod
    def _tokens_can_be_sent(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        """Refuse a token that a header cannot carry, or that can be guessed."""
        for place, secret in enumerate(value, 1):
            if not re.fullmatch(r"([A-Za-z0-9_.@-]{1,64}=)?[A-Za-z0-9_.-]+(\+[A-Za-z0-9_.-]+)*(/[a-z+]*)?:[!-~]{16,256}", secret.get_secret_value()):
                raise ValueError(
                    f"token {place}: write all:TOKEN, suite+suite:TOKEN or NAME=all/annotate:TOKEN, several separated by commas, "
                    "each token of 16 to 256 ASCII characters without blanks, a name of up to 64 letters, digits and _ . @ -"
                )
            if not _scopes_of(secret.get_secret_value().partition(":")[0]) <= TOKEN_SCOPES:
                raise ValueError(f"token {place}: scopes are {', '.join(sorted(TOKEN_SCOPES))}; write suites/scope+scope:TOKEN")
        tokens = [secret.get_secret_value().partition(":")[2] for secret in value]
        if len(set(tokens)) < len(tokens):
            raise ValueError("two entries have the same token; give each its own")
        return value

    @model_validator(mode="after")
    def _exposed_needs_tokens(self) -> Self:
        """Refuse to expose events without a token."""
        if not self.is_loopback and not self.tokens:
            raise ValueError("serve.host is not loopback: set serve.tokens to expose the service")
        return self

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return self.host in LOOPBACK

    def grants(self) -> tuple[TokenGrant, ...]:
        """What each entry says."""
        pairs = [secret.get_secret_value().partition(":") for secret in self.tokens]
        found = []
        for who, _, token in pairs:
            name, _, rest = who.rpartition("=")
            suites = rest.partition("/")[0].split("+")
            found.append(TokenGrant(token, None if "all" in suites else frozenset(suites), _scopes_of(who), name))
        return tuple(found)


def _scopes_of(who: str) -> frozenset[str]:
    """The scopes in the part of an entry before its token, and those that come with them.

    Every token has `results`, except one for `feedback` alone, which an application holds that need not see anything. Who annotates may send feedback, too.
    """
    named = frozenset(scope for scope in who.partition("/")[2].split("+") if scope)
    return named if named == {"feedback"} else named | {"results"} | ({"feedback"} if "annotate" in named else set())


def _token_of_table(place: int, table: Mapping[str, Any]) -> SecretStr:
    """One entry of `serve.tokens` given as a table: `token`, `suites` and perhaps `scopes` (each a list of names, or one name) and `name`."""
    token, name = table.get("token"), table.get("name", "")
    suites, scopes = (([given] if isinstance(given, str) else given) for given in (table.get("suites"), table.get("scopes", [])))
    # A mark of the one-line form inside of a name would make another entry of it.
    has_names = all(isinstance(names, list) and all(isinstance(one, str) and not set(one) & set(":=/+") for one in names) for names in (suites, scopes, [name]))
    if table.keys() - {"scopes", "name"} != {"token", "suites"} or not isinstance(token, str) or not isinstance(name, str) or not has_names:
        raise ValueError(f'token {place}: a table has `token`, `suites` (a list of names or "all") and perhaps `scopes` and `name`')
    return SecretStr(f"{f'{name}=' if name else ''}{'+'.join(suites or ())}{'/' if scopes else ''}{'+'.join(scopes or ())}:{token}")


class FhirValidatorSettings(HttpSettings):
    """HL7's FHIR validator as a service of this machine, and where those who ask it find it."""

    section: ClassVar[str] = "fhir_validator"
    what: ClassVar[str] = "the service"

    port: Port = Field(8322, description="0: a free port, printed at start")
    url: str | None = Field(None, max_length=2_000, description="a running service to ask: http://127.0.0.1:8322; without it one is started where needed")
    processes: Annotated[int, Field(ge=1, le=16)] = Field(1, description="validators; each answers one request at a time")
    memory_mb: Annotated[int, Field(ge=512, le=65_536)] = Field(3_072, description="heap of one validator at most; out of memory, it is replaced")
    queue: Annotated[int, Field(ge=0, le=1_000)] = Field(32, description="requests that wait; one more is answered with 503")
    queue_timeout_s: Seconds = Field(60, description="one that waits longer is answered with 503")
    document_timeout_s: Seconds = Field(60, description="one document; after this time it is answered with 504 and the validator is replaced")
    document_bytes_max: Annotated[int, Field(ge=1_024, le=268_435_456)] = Field(20_971_520, description="a larger document is answered with 413")
    start_timeout_s: Seconds = Field(180, description="start of one validator; each guide adds 60 s")
    guides: tuple[str, ...] = Field((), description="id#version of the implementation guides to know; default: those that were installed")

    @field_validator("url")
    @classmethod
    def _url_is_a_server(cls, value: str | None) -> str | None:
        """Refuse what is not the address of a server, without quoting it."""
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            valid = False
        if not valid or parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("write the service's address: http://127.0.0.1:8322 or https://host")
        if parts.scheme != "https" and parts.hostname not in LOOPBACK:
            raise ValueError("documents would travel unencrypted to another machine: use an https:// url")
        return value.rstrip("/")


class FilesSettings(Section):
    """Bounds on one file of cases, however it is packed: a few kilobytes of gzip may hold millions of lines."""

    records_max: Annotated[int, Field(ge=1, le=1_000_000_000)] = Field(1_000_000, description="records of one file, or lines; the rest is not read")
    read_timeout_s: Seconds = Field(600, description="time to read one file, without the time in which its cases are scored; the rest is not read")


class JudgesSettings(Section):
    """Judges that are measured against people, and what a judge must reach to decide labels."""

    folder: Path = Field(Path("judges"), description="a folder for each judge: prompt, examples, measurement and history")
    floor: Annotated[float, Field(ge=0.5, le=1, allow_inf_nan=False)] = Field(0.8, description="both recalls must reach it before a judge is promoted")
    least: Annotated[int, Field(ge=1, le=100_000)] = Field(30, description="failed and passed cases, each, that the test set must have for that")
    window_s: Annotated[float, Field(ge=60, le=2_678_400)] = Field(86_400, description="results of this time make the live failure rate")
    interval_s: Annotated[float, Field(ge=0.1, le=86_400)] = Field(60, description="how often the projector looks at rates, calibrations and labels")


class LogSettings(Section):
    """Logging to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["console", "json"] = "console"


class Settings(Section):
    """All settings of one process."""

    kafka: KafkaSettings = KafkaSettings()
    topics: TopicSettings = TopicSettings()
    worker: WorkerSettings = WorkerSettings()
    projector: ProjectorSettings = ProjectorSettings()
    store: StoreSettings = StoreSettings()
    archive: ArchiveSettings = ArchiveSettings()
    files: FilesSettings = FilesSettings()
    http: HttpSettings = HttpSettings()
    serve: ServeSettings = ServeSettings()
    fhir_validator: FhirValidatorSettings = FhirValidatorSettings()
    judges: JudgesSettings = JudgesSettings()
    log: LogSettings = LogSettings()
