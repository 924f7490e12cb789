"""The two model families: lenient for what arrives, strict and frozen for what leaves."""

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict


class Inbound(BaseModel):
    """Something a producer wrote: unknown fields are ignored and error texts never quote the input."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class Outbound(BaseModel):
    """Something Touchstone writes: a misspelled field or a wrong type is a defect of Touchstone, so both are refused."""

    # Every field is written, those with a default too: its schema says so.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, json_schema_serialization_defaults_required=True)

    #: The names of the fields: one set for all instances, which are frozen.
    _field_names: ClassVar[set[str]]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Note the names of a model's fields."""
        cls._field_names = set(cls.model_fields)

    @classmethod
    def of_valid(cls, fields: dict[str, Any]) -> Self:
        """An instance of fields that are known to be valid. The dict becomes the instance's own; fields that it does not name get their defaults.

        `model_construct` without its checks of each field: for objects that are made by the ten thousand.
        """
        names = cls._field_names
        if len(fields) != len(names):
            fields |= {name: cls.model_fields[name].get_default(call_default_factory=True) for name in names - fields.keys()}
        made = _new(cls)
        _set_fields(made, fields)
        _set_fields_set(made, names)
        _set_extra(made, None)
        _set_private(made, None)
        return made


# The slots of an instance, past pydantic's own `__setattr__`, which refuses frozen models and takes three times as long.
_new = object.__new__
_set_fields, _set_fields_set, _set_extra, _set_private = (
    vars(BaseModel)[slot].__set__ for slot in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)
