"""The set of mutations: which documents, which operator, at which place, drawn from a seed; and the same documents made anew from the record of verdicts.

The documents are HL7's and Synthea's examples below `fhir/` and `packages/` of the data folder; the record has their names only.
"""

import hashlib
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Final

from touchstone.ops.lab.agreement.written import operators_of_content  # noqa: F401  (registers its operators)
from touchstone.ops.lab.agreement.written.operators import OPERATORS, applicable, changed

SEED: Final = 2025
NUMBER: Final = 300
BYTES_MAX: Final = 30_000
RECORD: Final = Path(__file__).with_name("mutations.json")
#: Where documents come from → the guide beside which they are judged. R4's examples claim no profile of it.
SOURCES: Final = {
    "r4": "hl7.fhir.us.core-6.1.0",
    "us-core-3.1.1": "hl7.fhir.us.core-3.1.1",
    "us-core-4.0.0": "hl7.fhir.us.core-4.0.0",
    "us-core-6.1.0": "hl7.fhir.us.core-6.1.0",
    "synthea": "hl7.fhir.us.core-3.1.1",
}
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change: `document` is `source/name`, `where` a place in it."""

    document: str
    operator: str
    where: str

    @property
    def name(self) -> str:
        """What its half is told by."""
        return f"{self.document} {self.operator} {self.where}"


def archive_of(data: Path, guide: str) -> Path | None:
    """The archive of a guide `id-version` among the packages: by that name, or as US Core's site names its own (us_core_610.tgz)."""
    short = "us_core_" + guide.rpartition("-")[2].replace(".", "") + ".tgz"
    return next((path for name in (f"{guide}.tgz", short) if (path := data / "packages" / name).is_file()), None)


@lru_cache(maxsize=8)
def documents(data: Path, source: str) -> dict[str, Document]:
    """The documents of a source by `source/name`; none where it is absent."""
    found: dict[str, Document] = {}
    for name, content in sorted(_read(data, source)):
        if len(content) <= BYTES_MAX and isinstance(one := json.loads(content), dict) and "resourceType" in one:
            found[f"{source}/{name}"] = one
    return found


def _read(data: Path, source: str) -> Iterator[tuple[str, bytes]]:
    """Names and bytes."""
    if source == "r4":
        yield from ((path.stem, path.read_bytes()) for path in (data / "fhir" / "r4-examples").glob("*.json"))
    elif source == "synthea":
        for path in sorted((data / "fhir" / "synthea").glob("*.json")):
            yield from _entries(path)
    elif (archive := archive_of(data, SOURCES[source])) is not None:
        with tarfile.open(archive) as opened:
            for member in opened.getmembers():
                if re.fullmatch(r"package/example/[^/.][^/]*\.json", member.name) and (file := opened.extractfile(member)) is not None:
                    yield member.name.rpartition("/")[2].removesuffix(".json"), file.read()


def _entries(path: Path) -> Iterator[tuple[str, bytes]]:
    """The entries of a Bundle as documents of their own: the first three of each type, because there are thousands of some."""
    seen: dict[str, int] = {}
    for number, entry in enumerate(json.loads(path.read_bytes()).get("entry", [])):
        kind = entry["resource"]["resourceType"]
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= 3:
            yield f"{path.stem[:8]}-{number}", json.dumps(entry["resource"], ensure_ascii=False).encode()


def drawn(data: Path, usable: Callable[[str, Document], bool], seed: int = SEED, number: int = NUMBER) -> list[Mutation]:
    """A set of mutations: operators in turn, sources in turn, one document of those where the operator has a place, one place.

    `usable`: whether the official validator calls the document valid unchanged. Raises `ValueError` where a source is absent.
    """
    draw = Random(seed)
    chosen: list[Mutation] = []
    names, sources = sorted(OPERATORS), list(SOURCES)
    pools = {source: documents(data, source) for source in sources}
    if not all(pools.values()):
        raise ValueError(", ".join(source for source in sources if not pools[source]))
    tries = 0
    while len(chosen) < number and tries < 20 * number:
        operator = names[tries % len(names)]
        pool = pools[sources[(tries + tries // len(names)) % len(sources)]]
        tries += 1
        name = draw.choice(sorted(pool))
        places = applicable(pool[name], operator)
        if places and usable(name, pool[name]):
            one = Mutation(name, operator, draw.choice(places))
            if one not in chosen:
                chosen.append(one)
    return chosen


def made(data: Path, one: Mutation) -> str | None:
    """The changed document as JSON; None where its data is absent."""
    document = documents(data, one.document.partition("/")[0]).get(one.document)
    if document is None:
        return None
    try:
        return changed(document, one.operator, one.where, SEED)
    except KeyError:
        return None


def digest(text: str) -> str:
    """Tells a document that was judged from another that has its name."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
