"""What a node needs from the machine: Java, and Kafka's jars, fetched once through Maven into the user's cache."""

import os
from dataclasses import dataclass
from pathlib import Path

from touchstone.ops.local import java, maven
from touchstone.ops.local.java import JAVA_VERSION_MIN
from touchstone.scorers.base import ConfigError

KAFKA_VERSION = "4.3.1"
POM = Path(__file__).with_name("pom.xml")
LOG_CONFIG = Path(__file__).with_name("log4j2.xml")
_WHAT = f"Kafka {KAFKA_VERSION}"
_OTHER_WAYS = "or use another broker: `touchstone up` (embedded), docker compose, or KAFKA_BOOTSTRAP_SERVERS"


@dataclass(frozen=True)
class Distribution:
    """A Java that can run Kafka, and the folder of Kafka's jars."""

    java: str
    libs: Path

    def command(self, main_class: str, *arguments: str, jvm: tuple[str, ...] = ()) -> list[str]:
        """The command line that runs a class of Kafka."""
        return [self.java, *jvm, f"-Dlog4j2.configurationFile={LOG_CONFIG}", "-cp", f"{self.libs}{os.sep}*", main_class, *arguments]


def missing() -> str | None:
    """Why Kafka cannot run here, in one line with how to fix it; None where it can."""
    try:
        find_java()
        if not libs_folder().is_dir():
            find_maven()
    except ConfigError as error:
        return str(error)
    return None


def distribution() -> Distribution:
    """Java and jars, fetching the jars the first time (44 MB, some seconds). Raises `ConfigError`."""
    found = find_java()
    libs = libs_folder()
    if not libs.is_dir():
        fetch(libs)
    return Distribution(found, libs)


def find_java() -> str:
    """Path of a new enough Java. Raises `ConfigError`."""
    return java.find_java(
        f"install Java {JAVA_VERSION_MIN} or newer (Debian: openjdk-17-jre-headless), {_OTHER_WAYS}",
        f"Kafka needs {JAVA_VERSION_MIN} or newer; set JAVA_HOME to one, {_OTHER_WAYS}",
    )


def find_maven() -> str:
    """Path of Maven. Raises `ConfigError`."""
    return maven.find_maven(_WHAT, f", {_OTHER_WAYS}")


def libs_folder() -> Path:
    """Where the jars of exactly this pom are, or would be, kept."""
    return maven.jars_folder(f"kafka-{KAFKA_VERSION}", POM)


def fetch(libs: Path) -> None:
    """Copy the jars to `libs`, all or nothing; of several processes one fetches and the others wait. Raises `ConfigError`."""
    maven.fetch_jars(find_maven(), POM, libs, "kafka_*.jar", _WHAT)
