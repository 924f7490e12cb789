"""What a caller may ask of the FHIR validator, and every bound it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from touchstone.scorers.clinical.checks.terminology import MembershipSource

#: Bytes of one document.
BYTES_MAX = 100 * 1024 * 1024
#: Objects nested in objects. Real documents stay below 40.
DEPTH_MAX = 200
#: Findings of one code that are reported; the rest is counted.
PER_CODE_MAX = 40
#: Rules that a report names as not checked.
NOT_CHECKED_MAX = 200
#: Profiles that one resource may claim and have checked.
PROFILES_MAX = 50
#: Codes of one document that `source` is asked about; the rest is reported as not checked.
SOURCE_CODES_MAX = 1_000
#: Seconds that one document may spend on asking it; a question under way is not cut off.
SOURCE_S_MAX = 30.0
#: Characters of one narrative.
NARRATIVE_CHARS_MAX = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of one validation.

    `extensions`: `any` accepts extensions whose definition is not available (reported as not checked); `known` calls them an error.
    `references`: `document` resolves what the document itself can answer; `exists` also calls a relative reference that resolves nowhere an error.
    `rest_references`: relative references in a Bundle may point to the server even where entries could be meant.
    `example_urls`: example.org and the like may appear. `security`: text that looks like HTML is an error, not a warning.
    `markdown_html`: markdown may hold HTML tags. `comments`: JSON comments are tolerated. `experimental`: experimental definitions may appear.
    `displays`: how a display that differs from its code system's is reported. `profiles`: canonical URLs to validate every resource of that type against,
    beside those in meta.profile. `packages`: folders or .tgz files with FHIR packages, beside ~/.fhir/packages.
    `clinical`: also run the shared checks (identifiers, units, plausibility, times). `marks`: report a missing synthetic-data mark.
    `source`: where membership of codes is looked up beyond the tables on this machine.
    """

    extensions: Literal["any", "known"] = "any"
    references: Literal["document", "exists"] = "document"
    rest_references: bool = False
    example_urls: bool = True
    security: bool = False
    markdown_html: bool = True
    comments: bool = False
    experimental: bool = True
    displays: Literal["error", "warning", "ignore"] = "warning"
    profiles: tuple[str, ...] = ()
    packages: tuple[Path, ...] = ()
    installed_packages: bool = True
    clinical: bool = True
    marks: bool = True
    bytes_max: int = BYTES_MAX
    source: MembershipSource | None = None
