"""The two model families: lenient for what arrives, strict and frozen for what leaves."""

from functools import cache
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Inbound(BaseModel):
    """Something a producer wrote: unknown fields are ignored and error texts never quote the input."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class Outbound(BaseModel):
    """Something Touchstone writes: a misspelled field or a wrong type is a defect of Touchstone, so both are refused."""

    # Every field is written, those with a default too: its schema says so.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, json_schema_serialization_defaults_required=True)

    @classmethod
    def of_valid(cls, fields: dict[str, Any]) -> Self:
        """An instance of fields that are known to be valid; all of them must be there, in order, and the dict becomes the instance's own.

        `model_construct` without its looks at each field: for what is made by the ten thousand.
        """
        made = cls.__new__(cls)
        object.__setattr__(made, "__dict__", fields)
        object.__setattr__(made, "__pydantic_fields_set__", _names(cls))
        object.__setattr__(made, "__pydantic_extra__", None)
        object.__setattr__(made, "__pydantic_private__", None)
        return made


@cache
def _names(model: type[BaseModel]) -> set[str]:
    """The names of a model's fields: one set for all its instances, which are frozen."""
    return set(model.model_fields)
