"""Brokers for integration tests: shared ones for tests that only use them, own ones for tests that break them."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from tests.integration.brokers import Broker, Namespace, SecuredBroker, start_apache, start_container
from tests.integration.workers import Start, Worker
from tests.postgres import postgres_socket_dir, postgres_url
from touchstone.ops.local.kafka.cluster import KafkaCluster
from touchstone.ops.local.kafka.properties import Security
from touchstone.streams.embedded.broker import EmbeddedBroker

# aiokafka writes one line per attempt while a broker is down, and builds debug records that nobody reads.
logging.getLogger("aiokafka").setLevel(logging.WARNING)

__all__ = ["postgres_socket_dir", "postgres_url"]

BROKERS = ("embedded", "apache", "container")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything below this folder; the hook sees the whole session's items."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)


#: Clusters that are started again for each test that asks for them.
RESTARTED = ("one_node", "three_nodes")
_clusters: dict[str, KafkaCluster] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Stop a cluster that the next test does not use: idle nodes take some percent of a processor each, for the rest of the session."""
    yield
    for name in RESTARTED:
        if name in getattr(item, "fixturenames", ()) and name not in getattr(nextitem, "fixturenames", ()) and name in _clusters:
            _clusters[name].stop()


@pytest.fixture(scope="session", params=BROKERS)
def broker(request: pytest.FixtureRequest) -> Broker:
    """Each kind of broker in turn, one of each per session. Use it, do not break it: others use it too."""
    shared: Broker = request.getfixturevalue(f"shared_{request.param}")
    return shared


@pytest.fixture
def namespace() -> Namespace:
    return Namespace()


@pytest.fixture(scope="session")
def shared_embedded() -> Iterator[Broker]:
    with EmbeddedBroker() as embedded:
        yield Broker("embedded", embedded.bootstrap_servers, embedded=embedded)


@pytest.fixture(scope="session")
def shared_apache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    cluster = start_apache(tmp_path_factory.mktemp("kafka"))
    yield Broker("apache", cluster.bootstrap_servers, cluster=cluster)
    cluster.stop()


@pytest.fixture(scope="session")
def shared_container() -> Iterator[Broker]:
    container, bootstrap_servers = start_container()
    yield Broker("container", bootstrap_servers)
    container.stop()


@pytest.fixture
def embedded() -> Iterator[Broker]:
    """An embedded broker of the test's own, to inject faults into (starts in 0.1 s)."""
    with EmbeddedBroker() as own:
        yield Broker("embedded", own.bootstrap_servers, embedded=own)


@pytest.fixture(scope="session")
def _one_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    cluster = start_apache(tmp_path_factory.mktemp("kafka1"))
    yield Broker("apache", cluster.bootstrap_servers, cluster=cluster)
    cluster.stop()


@pytest.fixture
def one_node(_one_node: Broker) -> Broker:
    """An Apache Kafka node, running when the test begins; it may be killed and restarted."""
    assert _one_node.cluster is not None
    _clusters["one_node"] = _one_node.cluster
    _one_node.cluster.start()
    return _one_node


@pytest.fixture(scope="session")
def _three_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    cluster = start_apache(tmp_path_factory.mktemp("kafka3"), nodes=3)
    yield Broker("apache", cluster.bootstrap_servers, cluster=cluster)
    cluster.stop()


@pytest.fixture
def three_nodes(_three_nodes: Broker) -> Broker:
    """Three Apache Kafka nodes, replication 3, all running when the test begins; it may kill any of them."""
    assert _three_nodes.cluster is not None
    _clusters["three_nodes"] = _three_nodes.cluster
    _three_nodes.cluster.start()
    return _three_nodes


@pytest.fixture(scope="session")
def apache_sasl_tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """Apache Kafka that asks for passwords (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512) and speaks TLS."""
    folder = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    server, client = authority.issue_cert("127.0.0.1", "localhost"), authority.issue_cert("client@touchstone.test")
    files = {name: folder / f"{name}.pem" for name in ("authority", "server", "client", "client-key")}
    authority.cert_pem.write_to_path(str(files["authority"]))
    # Kafka reads PKCS#8 keys only, trustme writes the older format.
    key = serialization.load_pem_private_key(server.private_key_pem.bytes(), password=None)
    pkcs8 = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    files["server"].write_bytes(pkcs8 + b"".join(blob.bytes() for blob in server.cert_chain_pems))
    files["client"].write_bytes(b"".join(blob.bytes() for blob in client.cert_chain_pems))
    client.private_key_pem.write_to_path(str(files["client-key"]))
    security = Security("alice", "correct-horse", keystore=files["server"], truststore=files["authority"])
    cluster = start_apache(tmp_path_factory.mktemp("kafka-secured"), security=security)
    yield SecuredBroker(
        "apache",
        cluster.bootstrap_servers,
        cluster=cluster,
        username=security.username,
        password=security.password,
        cafile=files["authority"],
        certfile=files["client"],
        keyfile=files["client-key"],
    )
    cluster.stop()


@pytest.fixture(params=["direct", "faust"])
def runner(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def start() -> Iterator[Start]:
    workers: list[Worker] = []

    def begin(runner: str, env: dict[str, str], **options: Any) -> Worker:
        workers.append(Worker(runner, env, **options))
        return workers[-1]

    yield begin
    for worker in workers:
        worker.close()
