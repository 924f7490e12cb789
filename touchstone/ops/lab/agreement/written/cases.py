"""Cases that were written from the standard before any rule: 60 of everything, one half to develop with, and the kinds, all but the newest."""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

FOLDER: Final = Path(__file__).with_name("cases")
#: Cases for single kinds of rules; those written last are unread.
KINDS: Final = Path(__file__).with_name("kinds")
Half = Literal["dev", "unread"]
HALVES: Final[tuple[Half, ...]] = ("dev", "unread")


@dataclass(frozen=True, slots=True)
class Case:
    """One document. `rule`: where the standard says what it is about. `uses`: names of definitions. `packages`: guides `id-version` that it needs.

    `rest_references`: a reference's URL tells the type of its target. `official`: what the official validator said; None before it was asked, or if it
    failed on the document. `half`: dev or unread.
    """

    name: str
    kind: str
    rule: str
    text: str
    form: str
    uses: tuple[str, ...]
    packages: tuple[str, ...]
    rest_references: bool
    official: dict[str, Any] | None
    half: Half


def half_of(name: str) -> Half:
    """The half of a case or mutation, by the hash of its name: nobody chooses."""
    return "dev" if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 0 else "unread"


def definitions(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """Profiles, extensions, code systems and value sets of the cases, by name."""
    found: dict[str, dict[str, Any]] = json.loads((folder / "definitions.json").read_text("utf-8"))
    return found


@lru_cache(maxsize=4)
def cases(folder: Path = FOLDER) -> tuple[Case, ...]:
    """Every case of both halves."""
    return tuple(_case(one, half) for half in HALVES for one in json.loads((folder / f"{half}.json").read_text("utf-8")))


def _case(one: dict[str, Any], half: Half) -> Case:
    document = one["document"]
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    return Case(
        one["name"],
        one["kind"],
        one["rule"],
        text,
        one.get("form", "json"),
        tuple(one.get("uses", ())),
        tuple(one.get("packages", ())),
        bool(one.get("rest_references")),
        one.get("official"),
        half,
    )
