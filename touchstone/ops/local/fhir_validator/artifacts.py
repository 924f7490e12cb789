"""What the official validator needs from the machine: a JDK, and its jars, fetched once through Maven into the user's cache."""

import os
from dataclasses import dataclass
from pathlib import Path

from touchstone.ops.local import java, maven
from touchstone.ops.local.java import JAVA_VERSION_MIN
from touchstone.scorers.base import ConfigError

VALIDATOR_VERSION = "6.10.4"
POM = Path(__file__).with_name("pom.xml")
LAUNCHER = Path(__file__).with_name("Serve.java")
LOG_CONFIG = Path(__file__).with_name("logback.xml")
_WHAT = f"the FHIR validator {VALIDATOR_VERSION}"


@dataclass(frozen=True)
class Distribution:
    """A JDK that can run the validator, and the folder of its jars."""

    java: str
    libs: Path

    def command(self, home: Path, *arguments: str, memory_mb: int) -> list[str]:
        """The command line that serves. `home` becomes the JVM's user.home: the validator keeps, and wipes, a package cache below it."""
        jvm = [
            f"-Xmx{memory_mb}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",  # the optimising compiler costs more processor time than it saves over a start and hundreds of documents
            "-XX:+ExitOnOutOfMemoryError",  # a JVM that ran out of memory may answer anything or nothing
            f"-Duser.home={home}",
            "-Djava.awt.headless=true",
            f"-Dlogback.configurationFile={LOG_CONFIG}",
        ]
        return [self.java, *jvm, "-cp", f"{self.libs}{os.sep}*", str(LAUNCHER), *arguments]


def missing() -> str | None:
    """Why the validator cannot run here, in one line with how to fix it; None if it can (its packages aside)."""
    try:
        find_java()
        if not libs_folder().is_dir():
            find_maven()
    except ConfigError as error:
        return str(error)
    return None


def distribution() -> Distribution:
    """JDK and jars, fetching the jars the first time (155 MB). Raises `ConfigError`."""
    found = find_java()
    libs = libs_folder()
    if not libs.is_dir():
        fetch(libs)
    return Distribution(found, libs)


def find_java() -> str:
    """Path of a new enough Java with a compiler, for the launcher is a source file. Raises `ConfigError`."""
    advice = f"the official FHIR validator needs a JDK {JAVA_VERSION_MIN} or newer (Debian: openjdk-17-jdk-headless)"
    found = java.find_java(advice, f"{advice}; set JAVA_HOME to one")
    if "jdk.compiler" not in java.answer_of(found, "--list-modules", advice).stdout:
        raise ConfigError(f"{found} has no compiler, it is a runtime only: {advice}")
    return found


def find_maven() -> str:
    """Path of Maven. Raises `ConfigError`."""
    return maven.find_maven(_WHAT)


def libs_folder() -> Path:
    """Where the jars of exactly this pom are, or would be, kept."""
    return maven.jars_folder(f"fhir-validator-{VALIDATOR_VERSION}", POM)


def fetch(libs: Path) -> None:
    """Copy the jars to `libs`, all or nothing. Raises `ConfigError`."""
    maven.fetch_jars(find_maven(), POM, libs, "org.hl7.fhir.validation-*.jar", _WHAT)
