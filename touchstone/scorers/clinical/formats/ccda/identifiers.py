"""Identifiers: every root an OID or UUID, every code system an OID, NPIs sound, ids unique where they must be (specification, Priority 5)."""

from __future__ import annotations

from typing import Final

from touchstone.scorers.clinical.checks.identifiers import NPI_OID, check_ccda_root, check_npi, check_oid, oid_problem
from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.elements import child, is_null, local
from touchstone.scorers.clinical.formats.memory import Memory

#: Elements whose `root` is that of an instance identifier.
_IDENTIFIERS: Final = frozenset({"id", "templateId", "typeId", "setId"})
#: Roots and code systems without findings, remembered, because documents repeat them.
_SOUND: Final[Memory[bool]] = Memory(lambda text: oid_problem(text) is None and text.startswith("2.16.840.1.11"))


def check_identifiers(document: Document) -> None:
    """Check every root and code system of the document."""
    report = document.report
    for element in document.elements:
        root, system = element.get("root"), element.get("codeSystem")
        if root is not None:
            report.fired("identifiers")
            if not _SOUND[root]:
                document.add_all(check_ccda_root(root, f"{document.path(element)}/@root", document.context))
            if root == NPI_OID and (extension := element.get("extension")) is not None:
                document.add_all(check_npi(extension, f"{document.path(element)}/@extension", document.context))
        elif local(element) in _IDENTIFIERS and not is_null(element):
            report.fired("identifiers")
            document.add("major", "ccda.identifiers.root", element, "an identifier has a root, or a nullFlavor", suggestion="Give an OID or UUID as root")
        if system is not None:
            report.fired("identifiers")
            if not _SOUND[system]:
                document.add_all(check_oid(system, f"{document.path(element)}/@codeSystem", document.context, label="codeSystem"))
    identifier = child(document.root, "id")
    if identifier is not None and is_null(identifier) and identifier.get("root") is None:
        document.add("major", "ccda.identifiers.document", identifier, "a document's id is known: it cannot be null")
