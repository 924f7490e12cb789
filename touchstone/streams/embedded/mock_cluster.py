"""librdkafka's own broker, called through ctypes. The wheel of confluent-kafka bundles it; nothing else is installed.

The functions used are librdkafka's experimental mock-cluster API (`rdkafka_mock.h`), which may change with any release;
`pyproject.toml` therefore pins the wheel to one minor version. This module imports the standard library only, because
the child process that runs it has to start fast.
"""

import ctypes
import importlib.util
import os
import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

#: What librdkafka keeps per partition before it drops the oldest batch; compiled in, see `Retention`.
RETENTION_BYTES_BUILT_IN = 5 * 1024 * 1024
RETENTION_BATCHES_BUILT_IN = 100_000
#: Largest request the broker reads, in bytes: librdkafka's own upper bound of `receive.message.max.bytes`, rounded down.
REQUEST_BYTES_MAX = 1_000_000_000
TOPIC_ALREADY_EXISTS = 36

_PRODUCER = 0
_LOG_CRITICAL = b"2"
_SYMBOLS = ("rd_kafka_mock_cluster_new", "rd_kafka_mock_topic_create", "rd_kafka_mock_push_request_errors_array", "rd_kafka_mock_broker_set_down")


class Unsupported(Exception):
    """This platform, or this build of confluent-kafka, has no embedded broker."""


class CallFailed(Exception):
    """librdkafka refused a call. `code` is its error code."""

    def __init__(self, call: str, code: int) -> None:
        super().__init__(f"{call} failed with librdkafka error {code}")
        self.code = code


def library_path() -> Path:
    """Where the wheel keeps librdkafka. Raises `Unsupported`, whose message says how to fix it.

    The package itself is not imported: its own extension would load a second copy of everything it needs.
    """
    spec = importlib.util.find_spec("confluent_kafka")
    if spec is None or spec.origin is None:
        raise Unsupported("the embedded broker needs the package confluent-kafka, which is not installed")
    package = Path(spec.origin).parent
    places = ((package.parent / "confluent_kafka.libs", "librdkafka*.so*"), (package / ".dylibs", "librdkafka*.dylib"))
    for folder, pattern in places:
        for candidate in sorted(folder.glob(pattern)):
            return candidate
    raise Unsupported(
        "the embedded broker needs a confluent-kafka wheel that bundles librdkafka (Linux or macOS); this installation bundles none: "
        "reinstall confluent-kafka from a wheel, or use another broker through KAFKA_BOOTSTRAP_SERVERS"
    )


def load_library() -> ctypes.CDLL:
    """Load librdkafka and declare the functions used. Raises `Unsupported`."""
    path = library_path()
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as error:
        raise Unsupported(f"{path.name} cannot be loaded: {error}") from None
    missing = [name for name in _SYMBOLS if not hasattr(lib, name)]
    if missing:
        raise Unsupported(f"{path.name} has no {missing[0]}: use the confluent-kafka version that pyproject.toml names")
    pointer, text, integer = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    signatures: dict[str, tuple[object, list[object]]] = {
        "rd_kafka_version_str": (text, []),
        "rd_kafka_conf_new": (pointer, []),
        "rd_kafka_conf_set": (integer, [pointer, text, text, text, ctypes.c_size_t]),
        "rd_kafka_new": (pointer, [integer, pointer, text, ctypes.c_size_t]),
        "rd_kafka_mock_cluster_new": (pointer, [pointer, integer]),
        "rd_kafka_mock_cluster_bootstraps": (text, [pointer]),
        "rd_kafka_mock_topic_create": (integer, [pointer, text, integer, integer]),
        "rd_kafka_mock_push_request_errors_array": (None, [pointer, ctypes.c_int16, ctypes.c_size_t, ctypes.POINTER(integer)]),
        "rd_kafka_mock_clear_request_errors": (None, [pointer, ctypes.c_int16]),
        "rd_kafka_mock_broker_set_down": (integer, [pointer, ctypes.c_int32]),
        "rd_kafka_mock_broker_set_up": (integer, [pointer, ctypes.c_int32]),
        "rd_kafka_mock_broker_set_rtt": (integer, [pointer, ctypes.c_int32, integer]),
        "rd_kafka_mock_partition_set_leader": (integer, [pointer, text, ctypes.c_int32, ctypes.c_int32]),
        "rd_kafka_mock_group_initial_rebalance_delay_ms": (None, [pointer, ctypes.c_int32]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


class MockCluster:
    """A cluster of librdkafka brokers on loopback, alive as long as this process."""

    def __init__(self, brokers: int, *, retention_bytes: int, rebalance_delay_ms: int = 0) -> None:
        """Listen at once. `retention_bytes`: per partition, applied where `Retention` can (else the built-in 5 MiB)."""
        self._lib = load_library()
        self._brokers = brokers
        reason = ctypes.create_string_buffer(512)
        conf = self._lib.rd_kafka_conf_new()
        for key, value in ((b"receive.message.max.bytes", str(REQUEST_BYTES_MAX).encode()), (b"log_level", _LOG_CRITICAL)):
            if self._lib.rd_kafka_conf_set(conf, key, value, reason, len(reason)) != 0:
                raise Unsupported(f"librdkafka refuses {key.decode()}: {reason.value.decode(errors='replace')}")
        client = self._lib.rd_kafka_new(_PRODUCER, conf, reason, len(reason))
        if not client:
            raise Unsupported(f"librdkafka does not start: {reason.value.decode(errors='replace')}")
        self._cluster = self._lib.rd_kafka_mock_cluster_new(client, brokers)
        if not self._cluster:
            raise Unsupported("librdkafka's broker does not start: no loopback port could be bound")
        self._lib.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, rebalance_delay_ms)
        self._retention = Retention(self._cluster, retention_bytes)

    @property
    def version(self) -> str:
        """Version of librdkafka."""
        return str(self._lib.rd_kafka_version_str().decode())

    @property
    def bootstrap_servers(self) -> str:
        """host:port of every broker, separated by commas."""
        return str(self._lib.rd_kafka_mock_cluster_bootstraps(self._cluster).decode())

    def create_topic(self, name: str, partitions: int) -> int | None:
        """Create a topic on every broker; its retention in bytes per partition, or None if it existed already."""
        try:
            self._check("rd_kafka_mock_topic_create", name.encode(), partitions, self._brokers)
        except CallFailed as error:
            if error.code == TOPIC_ALREADY_EXISTS:
                return None
            raise
        return self._retention.raise_for(name, partitions)

    def inject_errors(self, api_key: int, codes: Sequence[int]) -> None:
        """Answer the next `len(codes)` requests of that kind with these error codes, in order, without doing the work."""
        array = (ctypes.c_int * len(codes))(*codes)
        self._lib.rd_kafka_mock_push_request_errors_array(self._cluster, api_key, len(codes), array)

    def clear_errors(self, api_key: int) -> None:
        """Forget the injected errors of that kind that have not been met yet."""
        self._lib.rd_kafka_mock_clear_request_errors(self._cluster, api_key)

    def set_down(self, broker_id: int) -> None:
        """Drop a broker's connections and refuse new ones (-1: every broker); no partition changes its leader."""
        self._check("rd_kafka_mock_broker_set_down", broker_id)

    def set_up(self, broker_id: int) -> None:
        """Accept connections again; what was stored is still there."""
        self._check("rd_kafka_mock_broker_set_up", broker_id)

    def set_rtt(self, broker_id: int, rtt_ms: int) -> None:
        """Delay every response."""
        self._check("rd_kafka_mock_broker_set_rtt", broker_id, rtt_ms)

    def set_leader(self, topic: str, partition: int, broker_id: int) -> None:
        """Move a partition's leadership (-1: no leader)."""
        self._check("rd_kafka_mock_partition_set_leader", topic.encode(), partition, broker_id)

    def _check(self, name: str, *arguments: object) -> None:
        code = getattr(self._lib, name)(self._cluster, *arguments)
        if code != 0:
            raise CallFailed(name.removeprefix("rd_kafka_mock_"), code)


class Retention:
    """Raises what a partition keeps, which librdkafka compiles in as 5 MiB and offers no call to change.

    Why: a partition that holds more drops its oldest batches *unread*, so one 5 MB record would silently take its
    neighbours with it. The limit is in the partition's own structure, whose layout is private. It is therefore
    found by content, never by a remembered position: the topic by its name, its partitions by the exact built-in
    limits, repeated at one distance as many times as there are partitions, each beside a pointer back to the topic: a
    topic that clients made on sight keeps its built-in limits, and may lie in the memory behind any pointer. Reading
    goes through /proc/self/mem, which answers an error where a stray pointer would end the process. Where anything
    differs (another platform, another layout) nothing is written, and the built-in limit is what the broker then reports.
    """

    _LIMITS = struct.pack("<Qi", RETENTION_BYTES_BUILT_IN, RETENTION_BATCHES_BUILT_IN)
    _HEAD_BYTES = 2048
    _STRIDE_BYTES_MAX = 1024

    def __init__(self, cluster: int, retention_bytes: int) -> None:
        self._cluster = cluster
        self._retention_bytes = retention_bytes

    def raise_for(self, topic: str, partitions: int) -> int:
        """Retention of the new topic's partitions, in bytes."""
        if self._retention_bytes == RETENTION_BYTES_BUILT_IN or struct.calcsize("P") != 8:
            return RETENTION_BYTES_BUILT_IN
        try:
            memory = os.open("/proc/self/mem", os.O_RDONLY)
        except OSError:
            return RETENTION_BYTES_BUILT_IN
        try:
            addresses = self._find(memory, topic.encode() + b"\0", partitions)
        finally:
            os.close(memory)
        for address in addresses:
            ctypes.c_size_t.from_address(address).value = self._retention_bytes
        return self._retention_bytes if addresses else RETENTION_BYTES_BUILT_IN

    def _find(self, memory: int, name: bytes, partitions: int) -> list[int]:
        """Addresses of the partitions' limits, one per partition, or none."""
        for topic in _pointers(_read(memory, self._cluster, self._HEAD_BYTES)):
            fields = list(_pointers(_read(memory, topic, 128)))
            if not any(_read(memory, field, len(name)) == name for field in fields):
                continue
            for field in fields:
                found = self._limits_in(_read(memory, field, self._STRIDE_BYTES_MAX * partitions), topic, partitions)
                if found:
                    return [field + offset for offset in found]
        return []

    def _limits_in(self, block: bytes, topic: int, partitions: int) -> list[int]:
        """Offsets of the built-in limits of the topic's own partitions in a block that holds them, evenly spaced, or none."""
        owner = struct.pack("<Q", topic)
        owners = [at for at in range(0, len(block) - 8, 8) if block.startswith(owner, at)]
        limits = {at for at in range(0, len(block) - len(self._LIMITS), 8) if block.startswith(self._LIMITS, at)}
        # The pointer to the topic follows the limits, at one place of each partition; other topics point to it as well.
        for begin in range(len(owners) - partitions + 1):
            own = owners[begin : begin + partitions]
            strides = {after - before for before, after in pairwise(own)} or {self._STRIDE_BYTES_MAX}
            if len(strides) == 1:
                for shift in range(-8, -strides.pop(), -8):
                    if all(at + shift in limits for at in own):
                        return [at + shift for at in own]
        return []


def _read(memory: int, address: int, length: int) -> bytes:
    """Bytes of this process at an address; fewer, or none, if nothing is mapped."""
    try:
        return os.pread(memory, length, address)
    except (OSError, OverflowError):
        return b""


def _pointers(block: bytes) -> Iterator[int]:
    """Words of a block that could be addresses."""
    for (word,) in struct.iter_unpack("<Q", block[: len(block) // 8 * 8]):
        if 0x1000 < word < 1 << 47 and word % 8 == 0:
            yield word
