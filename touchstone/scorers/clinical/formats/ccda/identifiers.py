"""Identifiers: every root an OID or UUID, every code system an OID, NPIs sound, ids unique where they must be (specification, Priority 5)."""

from __future__ import annotations

from typing import Final

from touchstone.scorers.clinical.checks.identifiers import NPI_OID, check_ccda_root, check_npi, check_oid, oid_problem
from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.elements import child, is_null
from touchstone.scorers.clinical.formats.memory import Memory

#: Elements whose `root` is that of an instance identifier.
_IDENTIFIERS: Final = frozenset({"id", "templateId", "typeId", "setId"})
#: Roots and code systems without findings, remembered, because documents repeat them.
_SOUND: Final[Memory[bool]] = Memory(lambda text: oid_problem(text) is None and text.startswith("2.16.840.1.11"))


def check_identifiers(document: Document) -> None:
    """Check every root and code system of the document."""
    fired = 0
    clean: set[str] = set()
    for element, name in document.select(_IDENTIFIERS, "root", "codeSystem"):
        root, system = element.get("root"), element.get("codeSystem")
        fired += (root is not None) + (system is not None)
        if root is not None:
            # A path costs more than the check, and nearly all are sound.
            if not (_SOUND[root] or root in clean):
                if check_ccda_root(root, "", document.context):
                    document.add_all(check_ccda_root(root, f"{document.path(element)}/@root", document.context))
                else:
                    clean.add(root)
            if root == NPI_OID and (extension := element.get("extension")) is not None:
                document.add_all(check_npi(extension, f"{document.path(element)}/@extension", document.context))
        elif name in _IDENTIFIERS and not is_null(element):
            fired += 1
            document.add("major", "ccda.identifiers.root", element, "an identifier has a root, or a nullFlavor", suggestion="Give an OID or UUID as root")
        if system is not None and not _SOUND[system] and check_oid(system, "", document.context, label="codeSystem"):
            document.add_all(check_oid(system, f"{document.path(element)}/@codeSystem", document.context, label="codeSystem"))
    if fired:
        document.report.fired("identifiers", fired)
    identifier = child(document.root, "id")
    if identifier is not None and is_null(identifier) and identifier.get("root") is None:
        document.add("major", "ccda.identifiers.document", identifier, "a document's id is known: it cannot be null")
