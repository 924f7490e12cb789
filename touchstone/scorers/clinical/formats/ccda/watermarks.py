"""Watermarks: whether a document says that it is synthetic (specification, Phase 1: watermarks)."""

from __future__ import annotations

import re
from typing import Final

from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.elements import below, child

_SAYS: Final = re.compile(
    r"\b(synthetic|synthea|simulated|fictitious|sample|test[ _-]?(?:data|patient|record)|not a real (?:patient|person))\b|\bHTEST\b", re.IGNORECASE
)
_CHARS_MAX: Final = 2_000
#: HL7's root for examples.
_EXAMPLES: Final = "2.16.840.1.113883.19"


def check_marks(document: Document) -> None:
    """Report, for information, a document without a mark that it is not a real patient's."""
    root = document.root
    document.report.fired("watermarks")
    for element in (child(root, "title"), child(root, "custodian", "assignedCustodian", "representedCustodianOrganization", "name")):
        if element is not None and _says("".join(element.itertext())):
            return
    for name in ("softwareName", "manufacturerModelName"):
        if any(_says("".join(one.itertext())) for one in below(root, name)):
            return
    for number in (child(root, "id"), child(root, "recordTarget", "patientRole", "id")):
        if number is not None and ((number.get("root") or "").startswith(_EXAMPLES) or _says(number.get("assigningAuthorityName") or "")):
            return
    if any(_says(one.text or "") for one in root.itersiblings(preceding=True)):
        return
    document.add(
        "info", "ccda.watermarks.none", None, "Nothing marks this document as synthetic", suggestion="Say so in the title or the authoring software's name"
    )


def _says(text: str) -> bool:
    return _SAYS.search(text[:_CHARS_MAX]) is not None
