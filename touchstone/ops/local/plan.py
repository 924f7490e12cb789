"""What `touchstone up` is asked to run, and whether its ports are free."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from touchstone.ops.local.broker import BrokerKind
from touchstone.ops.local.kafka.processes import port_is_free
from touchstone.scorers.base import ConfigError

PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run. `store`: URL; a temporary SQLite file where None. `port`: of the broker. `http_port`: of the first worker, the others follow.

    `page_port`: of the page, which everybody on this machine may open; None: no page. A port that is 0 is a free one.
    `env`: over the environment of every child.
    """

    suites: Sequence[str]
    workers: int = 1
    broker: BrokerKind = "embedded"
    runner: str = "faust"
    store: str | None = None
    port: int = 0
    http_port: int = 0
    page_port: int | None = 0
    config: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)


def check_ports(plan: Plan) -> None:
    """Refuse a port that is taken, or wanted twice, before anything is started. Raises `ConfigError`."""
    workers = len(plan.suites) * plan.workers if plan.http_port else 0
    wanted = [("--port", plan.port), ("--page-port", plan.page_port or 0), *(("--http-port", plan.http_port + number) for number in range(workers))]
    chosen: dict[int, str] = {}
    for option, port in wanted:
        if not port:
            continue
        if port in chosen:
            raise ConfigError(f"{option} {port}: the port of {chosen[port]}, too; choose another port")
        if port > PORT_MAX:
            raise ConfigError(f"{option}: {workers} workers count up to port {port}, and {PORT_MAX} is the highest; choose a lower one")
        if not port_is_free("127.0.0.1", port):
            raise ConfigError(f"{option} {port}: another program listens there; choose another port, or end that program")
        chosen[port] = option
