"""Options and bounds of the C-CDA validator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from touchstone.scorers.clinical.checks.terminology import MembershipSource

#: Bytes of one document: room for an embedded PDF of 20 MB, which base64 makes 27 MB.
BYTES_MAX = 48 * 1024 * 1024
#: Elements of one document. The largest real ones have some 100,000.
ELEMENTS_MAX = 300_000
#: Elements nested in elements. Real documents stay below 40.
DEPTH_MAX = 150
#: Characters of one attribute.
ATTRIBUTE_CHARS_MAX = 65_536
#: Attributes of one element; CDA's own have at most 20.
ATTRIBUTES_MAX = 64
#: Seconds of processor time for one document; the rest is then not checked.
SECONDS_MAX = 20.0
#: Findings of one code that are reported; others are counted.
PER_CODE_MAX = 40
#: Rules that a report names as not checked.
NOT_CHECKED_MAX = 200
#: Codes of one document that are looked up in `source`, and seconds for it; a lookup that has begun is not interrupted.
SOURCE_CODES_MAX = 1_000
SOURCE_S_MAX = 30.0
#: Bytes of one Schematron or code file.
RULES_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of one validation.

    `rules`: Schematron files (.sch) or folders with some. `installed_rules`: also search the package cache. `schema`: the XSD for documents.
    `recommendations`: severity of a broken SHOULD. `clinical`: also run the shared checks (times, identifiers, units, plausibility, codes). `marks`:
    report a missing synthetic-data mark. `source`: looks up membership of codes that are not in the tables at hand.
    """

    rules: tuple[Path, ...] = ()
    installed_rules: bool = True
    schema: Path | None = None
    recommendations: Literal["info", "minor", "ignore"] = "info"
    clinical: bool = True
    marks: bool = True
    bytes_max: int = BYTES_MAX
    elements_max: int = ELEMENTS_MAX
    depth_max: int = DEPTH_MAX
    seconds_max: float = SECONDS_MAX
    source: MembershipSource | None = None
