import ssl
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from tests.integration.brokers import Broker, Namespace, SecuredBroker


async def round_trip(topic: str, values: list[bytes], **connection: Any) -> list[bytes]:
    """Produce idempotently to partition 0, read back from the beginning."""
    async with AIOKafkaProducer(acks="all", enable_idempotence=True, max_request_size=16_000_000, **connection) as producer:
        for value in values:
            await producer.send_and_wait(topic, value, partition=0)
    async with AIOKafkaConsumer(topic, auto_offset_reset="earliest", fetch_max_wait_ms=100, **connection) as consumer:
        return [(await consumer.getone()).value for _ in values]


async def test_records_arrive_in_order(broker: Broker, namespace: Namespace) -> None:
    broker.create_topics(namespace.topics(partitions=2))
    values = [b"%d" % number for number in range(20)]
    assert await round_trip(namespace.topic("generations"), values, bootstrap_servers=broker.bootstrap_servers) == values


async def test_committed_offsets_are_kept(broker: Broker, namespace: Namespace) -> None:
    topic = namespace.topic("generations")
    broker.create_topics({topic: 1})
    partition = TopicPartition(topic, 0)
    await round_trip(topic, [b"0", b"1"], bootstrap_servers=broker.bootstrap_servers)
    for expected in (None, 1):
        consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=namespace.group(), enable_auto_commit=False)
        async with consumer:
            consumer.assign([partition])
            assert await consumer.committed(partition) == expected
            await consumer.commit({partition: 1})


async def test_a_record_of_eight_mebibytes_arrives(broker: Broker, namespace: Namespace) -> None:
    broker.create_topics({namespace.topic("dead"): 1})
    values = [b"before", bytes(8 * 1024 * 1024), b"after"]
    assert await round_trip(namespace.topic("dead"), values, bootstrap_servers=broker.bootstrap_servers) == values


@pytest.mark.apache
@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [("SASL_PLAINTEXT", "PLAIN"), ("SASL_PLAINTEXT", "SCRAM-SHA-256"), ("SASL_SSL", "PLAIN"), ("SASL_SSL", "SCRAM-SHA-512"), ("SSL", "PLAIN")],
)
async def test_the_secured_broker_lets_the_right_client_in(apache_sasl_tls: SecuredBroker, namespace: Namespace, protocol: str, mechanism: str) -> None:
    topic = namespace.topic("generations")
    apache_sasl_tls.create_topics({topic: 1})
    fields = apache_sasl_tls.connection(protocol, mechanism)
    assert await round_trip(topic, [b"one"], **aiokafka_options(fields)) == [b"one"]


@pytest.mark.apache
@pytest.mark.slow
async def test_the_secured_broker_refuses_a_wrong_password_and_a_missing_certificate(apache_sasl_tls: SecuredBroker) -> None:
    wrong = aiokafka_options(apache_sasl_tls.connection("SASL_SSL", "SCRAM-SHA-256") | {"sasl_password": "wrong"})
    nameless = aiokafka_options({key: value for key, value in apache_sasl_tls.connection("SSL").items() if key not in {"ssl_certfile", "ssl_keyfile"}})
    for options in (wrong, nameless):
        producer = AIOKafkaProducer(**options)
        with pytest.raises(KafkaError):
            await producer.start()
        await producer.stop()


@pytest.mark.apache
@pytest.mark.slow
async def test_three_nodes_carry_on_without_one(three_nodes: Broker, namespace: Namespace) -> None:
    assert three_nodes.cluster is not None
    topic = namespace.topic("generations")
    three_nodes.create_topics({topic: 3})
    async with AIOKafkaProducer(bootstrap_servers=three_nodes.bootstrap_servers, acks="all", enable_idempotence=True) as producer:
        for partition in range(3):
            await producer.send_and_wait(topic, b"before", partition=partition)
        three_nodes.cluster.kill(2)
        offsets = [(await producer.send_and_wait(topic, b"after", partition=partition)).offset for partition in range(3)]
    assert offsets == [1, 1, 1]
    assert three_nodes.cluster.alive() == {1: True, 2: False, 3: True}


def aiokafka_options(fields: dict[str, str]) -> dict[str, Any]:
    options: dict[str, Any] = {"bootstrap_servers": fields["bootstrap_servers"], "security_protocol": fields["security_protocol"]}
    if "sasl_username" in fields:
        options |= {"sasl_mechanism": fields["sasl_mechanism"]}
        options |= {"sasl_plain_username": fields["sasl_username"], "sasl_plain_password": fields["sasl_password"]}
    if "ssl_cafile" in fields:
        context = ssl.create_default_context(cafile=fields["ssl_cafile"])
        if "ssl_certfile" in fields:
            context.load_cert_chain(fields["ssl_certfile"], fields["ssl_keyfile"])
        options["ssl_context"] = context
    return options
