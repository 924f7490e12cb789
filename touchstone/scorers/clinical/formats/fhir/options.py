"""Options and bounds of the FHIR validator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from touchstone.scorers.clinical.checks.terminology import MembershipSource

#: Bytes of one document.
BYTES_MAX = 100 * 1024 * 1024
#: Objects nested in objects. Real documents stay below 40.
DEPTH_MAX = 200
#: Findings of one code that are reported; the others are counted.
PER_CODE_MAX = 40
#: Rules that a report names as not checked.
NOT_CHECKED_MAX = 200
#: Claimed profiles of one resource that are checked.
PROFILES_MAX = 50
#: Codes of one document that are looked up in `source`; the others are reported as not checked.
SOURCE_CODES_MAX = 1_000
#: Seconds of look-ups per document; one that is running is not cut off.
SOURCE_S_MAX = 30.0
#: Characters of one narrative.
NARRATIVE_CHARS_MAX = 4 * 1024 * 1024
#: Members of an object, and characters of their names, up to which what they decide is kept beyond the document.
SHAPE_MEMBERS_MAX = 80
SHAPE_CHARS_MAX = 2_000


def may_be_kept(keys: tuple[str, ...]) -> bool:
    """Return True if a set of member names is small enough to be kept beyond its document."""
    return len(keys) <= SHAPE_MEMBERS_MAX and sum(map(len, keys)) <= SHAPE_CHARS_MAX


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of one validation.

    `extensions`: `any` accepts extensions without a definition (reported as not checked), `known` makes them an error.
    `references`: `document` resolves what the document can answer, `exists` also makes an unresolved relative reference an error.
    `rest_references`: relative references in a Bundle may refer to the server even if they match an entry.
    `example_urls`: example.org and the like are allowed. `security`: text that looks like HTML is an error, not a warning.
    `markdown_html`: HTML tags in markdown are minor, not major. `comments`: JSON comments are accepted. `experimental`: experimental definitions are allowed.
    `displays`: how a display that differs from the code system's is reported. `profiles`: canonical URLs that every resource of their type is checked
    against, besides those in meta.profile. `packages`: folders or .tgz files with FHIR packages, besides ~/.fhir/packages.
    `clinical`: run the shared checks (identifiers, units, plausibility, times). `marks`: report a missing mark of synthetic data.
    `source`: answers membership of codes that the tables do not have. `templates`: a template for tests (HL7's tools, extension matchetype) is accepted
    and not checked; else it is refused, because it is no resource.
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
    templates: bool = False
