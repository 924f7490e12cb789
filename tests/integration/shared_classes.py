"""Kafka's classes as Java keeps them once they are read and verified: a node that starts with them takes half the processor time."""

import fcntl
import hashlib
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

from touchstone.ops.local.kafka import artifacts
from touchstone.ops.local.kafka.cluster import KafkaCluster
from touchstone.ops.local.kafka.processes import wait_until
from touchstone.scorers.base import ConfigError

#: A JVM writes the archive when it ends: seconds, and on a busy machine half a minute.
WRITTEN_S = 180.0


def options(jvm: tuple[str, ...]) -> tuple[str, ...]:
    """Java's options for a node that is started with `jvm`; none if no archive can be made here. The first process makes it, the others wait.

    Java itself does not take an archive of other jars or of another Java: then a start is slow, but right.
    """
    try:
        kafka = artifacts.distribution()
    except ConfigError:
        return ()  # whoever starts the node says why it cannot be
    java = Path(kafka.java).resolve()
    made_with = hashlib.sha256(f"{java} {java.stat().st_mtime_ns} {kafka.libs} {jvm}".encode()).hexdigest()[:12]
    archive = kafka.libs.parent / f"classes-for-tests-{made_with}.jsa"
    try:
        turn = archive.with_suffix(".lock").open("w")
    except OSError:  # jars of somebody else's, which this user cannot write beside
        return ()
    with turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not archive.is_file():
            _make(archive, jvm)
    return (f"-XX:SharedArchiveFile={archive}",) if archive.is_file() else ()


def _make(archive: Path, jvm: tuple[str, ...]) -> None:
    """Let one node start and end in peace; what a killed one has written is not used."""
    unfinished = archive.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    with TemporaryDirectory() as folder:
        cluster = KafkaCluster(Path(folder), port=0, tied=True, jvm=(*jvm, f"-XX:ArchiveClassesAtExit={unfinished}"))
        try:
            cluster.start()
            [node] = cluster.nodes
            node.signal(signal.SIGTERM)
            if wait_until(lambda: not node.is_alive(), WRITTEN_S) and unfinished.is_file():
                unfinished.replace(archive)
        except ConfigError:
            return  # whoever starts a node after this says why it cannot be
        finally:
            cluster.stop()
