"""The parts of the service: `install` puts them on this machine and records them; `start` only reads the record."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from touchstone.ops.local.fhir_validator.artifacts import VALIDATOR_VERSION, Distribution, distribution, find_java, libs_folder
from touchstone.ops.local.fhir_validator.packages import CORE, CROSS_VERSION, found_packages, guide
from touchstone.scorers.base import ConfigError
from touchstone.scorers.cache import cache_folder

INSTALL: str = "run `touchstone fhir-validator install`"


@dataclass(frozen=True, slots=True)
class Installation:
    """Packages and implementation guides: `id#version` → folder."""

    packages: dict[str, Path]
    guides: dict[str, Path]


def record() -> Path:
    """The file that records the installation; it is in the cache."""
    return cache_folder() / "fhir-validator.json"


def installed() -> Installation | None:
    """The recorded installation, or None. Raises `ConfigError` for a file that cannot be read."""
    try:
        stored = json.loads(record().read_text(encoding="utf-8"))
        packages, guides = ({str(name): Path(folder) for name, folder in stored[part].items()} for part in ("packages", "guides"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{record()}: cannot be read ({type(error).__name__}); remove it and {INSTALL}") from None
    return Installation(packages, guides)


def install(folders: Sequence[Path], guides: Sequence[str], say: Callable[[str], None]) -> Installation:
    """Fetch or find everything, and remember it, all or nothing; guides join those of earlier calls. Raises `ConfigError`."""
    before = installed()
    say("Java and the validator's jars")
    distribution()
    say(f"FHIR packages {CORE} and {CROSS_VERSION}")
    packages = found_packages(folders)
    known = {name: folder for name, folder in (before.guides if before else {}).items() if _is_package(folder)}
    for named in guides:
        say(f"implementation guide {named}")
        name, folder = guide(named, folders)
        known[name] = folder
    made = Installation(packages, known)
    stored = {part: {name: str(folder.absolute()) for name, folder in getattr(made, part).items()} for part in ("packages", "guides")}
    scratch = record().with_suffix(".new")
    try:
        scratch.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")
        scratch.replace(record())
    except OSError as error:
        raise ConfigError(f"{record().parent}: the cache cannot be written ({error.strerror}); set XDG_CACHE_HOME to a writable folder") from None
    return made


def missing_parts(guides: Sequence[str] = ()) -> list[str]:
    """A line for each missing part that the service needs, and how to get it. Fetches nothing."""
    lines = []
    try:
        find_java()
    except ConfigError as error:
        lines.append(str(error))
    if not libs_folder().is_dir():
        lines.append(f"the validator's jars ({VALIDATOR_VERSION}) are not installed: {INSTALL}")
    try:
        there = installed()
    except ConfigError as error:
        return [*lines, str(error)]
    if there is None:
        return [*lines, f"FHIR's packages are not installed: {INSTALL}"]
    lines += [f"{name} was installed at {folder} and has gone: {INSTALL}" for name, folder in there.packages.items() if not _is_package(folder)]
    for name in guides or there.guides:
        if name not in there.guides or not _is_package(there.guides[name]):
            lines.append(f"the implementation guide {name} is not installed: {INSTALL[:-1]} --guide {name}`")
    return lines


def chosen(guides: Sequence[str] = ()) -> tuple[Distribution, Installation]:
    """The parts to start with, and the guides named, or all. Raises `ConfigError` with the first missing part; fetches nothing."""
    lines = missing_parts(guides)
    there = installed()
    if lines or there is None:
        raise ConfigError(lines[0] if lines else INSTALL)
    known = {name: there.guides[name] for name in guides} if guides else there.guides
    return Distribution(find_java(), libs_folder()), Installation(there.packages, known)


def _is_package(folder: Path) -> bool:
    return (folder / "package" / "package.json").is_file()
