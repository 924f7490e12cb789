"""The release of C-CDA that a document claims, by the versions of its header's template ids: none R1.1, 2014 R2.0, 2015 R2.1, since 2023 3.0."""

from __future__ import annotations

from typing import Final

from touchstone.scorers.clinical.formats.ccda.document import Document

R11: Final = "R1.1"
R20: Final = "R2.0"
R21: Final = "R2.1"
R30: Final = "3.0"
#: A CDA document of another guide, or of none.
NONE: Final = ""
HEADER: Final = "2.16.840.1.113883.10.20.22.1.1"
_DOCUMENTS: Final = "2.16.840.1.113883.10.20.22.1."
#: Document types that are new in R2.0, at first without a version.
_NEW_IN_R20: Final = frozenset({"2.16.840.1.113883.10.20.22.1.13", "2.16.840.1.113883.10.20.22.1.14", "2.16.840.1.113883.10.20.22.1.15"})
#: First day of a release's versions, newest first.
_SINCE: Final = (("2023-01-01", R30), ("2015-01-01", R21), ("2014-01-01", R20))


def release_of(document: Document) -> str:
    """The release of a document; empty if its header has no template id of C-CDA."""
    known = [
        (root, extension)
        for root, carriers in document.templates.items()
        if root.startswith(_DOCUMENTS)
        for element, extension in carriers
        if element is document.root
    ]
    newest = max((extension for _, extension in known if extension), default="")
    for since, release in _SINCE:
        if newest >= since:
            return release
    if any(root in _NEW_IN_R20 for root, _ in known):
        return R20
    return R11 if known else NONE


def release_of_rules(versions: set[str]) -> str:
    """The release of a rule file, by the versions of the header in its contexts."""
    dated = {version for version in versions if version}
    # A file with R2.1's header is for R2.1, even if a companion guide added later versions.
    if any("2014-01-01" <= version < "2023-01-01" for version in dated):
        return R21
    return R30 if dated else R11 if versions else NONE
