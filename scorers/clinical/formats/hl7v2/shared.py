"""The shared clinical checks, as the HL7 v2 rules call them: loaded on first use, `None` where a check is not installed."""

from __future__ import annotations

import importlib
from functools import lru_cache
from types import ModuleType
from typing import Literal

from schemas.result import Finding
from scorers.clinical.report import Context

Zone = Literal["required", "recommended", "none"]


@lru_cache(maxsize=16)
def module(name: str) -> ModuleType | None:
    """One module of the shared checks; None where it, or what it needs, is not installed."""
    try:
        return importlib.import_module(f"scorers.clinical.checks.{name}")
    except ImportError:
        return None


def time(value: str, path: str, context: Context, *, zone: Zone = "none") -> list[Finding]:
    """What is wrong with a date or time: form, calendar, offset, future, age."""
    from scorers.clinical.checks.datetimes import check_hl7v2

    return check_hl7v2(value, path, context, zone=zone)


def authority(path: str, context: Context, *, identifier: str, universal_id: str, universal_id_type: str, type_code: str) -> list[Finding]:
    """What is wrong with the parts of a value that name its assigning authority."""
    from scorers.clinical.checks.identifiers import check_assigning_authority

    return check_assigning_authority(path, context, identifier=identifier, universal_id=universal_id, universal_id_type=universal_id_type, type_code=type_code)
