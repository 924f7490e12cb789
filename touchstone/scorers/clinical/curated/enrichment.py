"""Adds codes to the terms of a persona, from the tables at hand, if a name has exactly one code."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from touchstone.schemas.reports.evaluation import AddedCode
from touchstone.scorers.clinical.checks.parameters import find_parameter
from touchstone.scorers.clinical.curated.cases import KINDS, SYSTEM_OF, Kind, folded_text, terms
from touchstone.scorers.clinical.curated.facts import PERSONA_KEYS, persona_items


def enriched(persona: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[AddedCode, ...]]:
    """The persona with codes added, and the list of them. Existing codes stay; the code of a plain text is only listed."""
    whole = copy.deepcopy(dict(persona))
    added = []
    for kind in KINDS:
        for path, item in persona_items(whole, PERSONA_KEYS[kind]):
            name = item if isinstance(item, str) else item.get("name") or item.get("display") if isinstance(item, dict) else None
            code = code_of(kind, name) if isinstance(name, str) and not _is_coded(item) else None
            if code is None:
                continue
            is_object = isinstance(item, dict)
            if is_object:
                item |= {"code": code, "system": SYSTEM_OF[kind].url}
            added.append(AddedCode(path=f"persona.{path}", system=SYSTEM_OF[kind].url, code=code, written=is_object))
    return whole, tuple(added)


def code_of(kind: Kind, name: str) -> str | None:
    """The code of a name; None if the tables have none, or several."""
    folded = folded_text(name)
    if (code := _exact(kind).get(folded)) is not None:
        return code
    parameter = find_parameter(name=name) if kind == "lab" else None
    return parameter.codes[0] if parameter is not None and len(parameter.codes) == 1 else None


def _is_coded(item: Any) -> bool:
    """True if an entry has a code or a code system in any form."""
    return isinstance(item, dict) and any(item.get(key) for key in ("code", "system", "codeSystem", "coding", "icd10", "icd10cm", "rxnorm", "loinc"))


@lru_cache(maxsize=len(KINDS))
def _exact(kind: Kind) -> Mapping[str, str]:
    return {name: code for term in terms().values() if term.kind == kind for name, code in term.exact.items()}
