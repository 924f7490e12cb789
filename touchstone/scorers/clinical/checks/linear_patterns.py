"""Regular expressions from documents and profiles, tried by an engine that takes linear time."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache


@lru_cache(maxsize=500)
def linear_pattern(regex: str) -> Callable[[str], bool] | None:
    """A test for a whole text; None if the engine does not read the pattern (it has no back references and no look-around)."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        return SchemaValidator(core_schema.str_schema(pattern=rf"\A(?:{regex})\z", strict=True, regex_engine="rust-regex")).isinstance_python
    except SchemaError:
        return None
