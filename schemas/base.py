"""The two model families: lenient for what arrives, strict and frozen for what leaves."""

from pydantic import BaseModel, ConfigDict


class Inbound(BaseModel):
    """Something a producer wrote: unknown fields are ignored and error texts never quote the input."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class Outbound(BaseModel):
    """Something Touchstone writes: a misspelled field or a wrong type is a defect of Touchstone, so both are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
