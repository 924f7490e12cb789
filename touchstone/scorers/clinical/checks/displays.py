"""Displays that belong to another code of the same system.

Most codes have many names, and the tables have one or two of each. So an unknown display is no fault. A display that the tables give to another code
is, unless it is a shorter or longer form of the code's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical.checks.display_tables import display_systems, plain
from touchstone.scorers.clinical.checks.parameters import find_parameter
from touchstone.scorers.clinical.checks.scalars import text_of
from touchstone.scorers.clinical.checks.terminology import LOINC, code_system
from touchstone.scorers.clinical.report import Context

#: Longer displays are ignored; the longest of the tables has 250 characters.
_DISPLAY_LENGTH_MAX: Final = 300
_CODE_LENGTH_MAX: Final = 64


def is_of_another_code(system: object, code: object, display: object) -> bool:
    """Return True if a display is another code's; False if the tables do not have it. `system`: a URL, OID or HL7v2 name."""
    text, key = text_of(display, _DISPLAY_LENGTH_MAX), text_of(code, _CODE_LENGTH_MAX)
    if not text or not key or not isinstance(system, str):
        return False
    known = code_system(system)
    url = known.url if known is not None else system
    shown = plain(text)
    if known is LOINC:
        own, other = find_parameter(loinc=key), find_parameter(name=text)
        return own is not None and other is not None and other.key != own.key and not _is_a_form_of(shown, [plain(own.name)])
    table = display_systems().get(url) or display_systems().get(url.upper().removeprefix("URN:OID:"))
    if table is None or key not in table.displays:
        return False
    owners = table.owners.get(shown)
    return owners is not None and key not in owners and not _is_a_form_of(shown, table.displays[key])


def check_display(
    system: object, code: object, display: object, path: str, context: Context, *, severity: Severity = "minor", rule: str = "terminology.display"
) -> list[Finding]:
    """Report a display that is another code's."""
    if not is_of_another_code(system, code, display):
        return []
    message = "the display is that of another code of this code system"
    return [context.finding(severity, rule, path, message, suggestion="Correct whichever of code and display is not meant", value=display)]


def _is_a_form_of(shown: str, own: Iterable[str]) -> bool:
    """True if a display is a shorter or longer form of one of the code's own: `Calcium` and `Calcium ionized`."""
    words = set(shown.split())
    return any(words <= (others := set(one.split())) or others <= words for one in own)
