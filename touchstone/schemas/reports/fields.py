"""Types of fields that several reports have."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field, PlainSerializer, WithJsonSchema

Ratio = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


def utc_text(moment: datetime) -> str:
    """ISO 8601 in UTC to the second, with `Z`, as in the example of SAFE v0 §5.1. A naive time is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


UtcTime = Annotated[
    datetime, PlainSerializer(utc_text, return_type=str, when_used="json"), WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization")
]
