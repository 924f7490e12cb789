"""Addresses and parameters, as the OpenAPI document describes them."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a query. `least` and `most`: of a whole number. `values`: the only ones there are."""

    name: str
    what: str
    least: int | None = None
    most: int | None = None
    values: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """As OpenAPI writes it."""
        schema: dict[str, Any] = {"type": "string"} if self.least is None else {"type": "integer", "minimum": self.least, "maximum": self.most}
        if self.values:
            schema["enum"] = list(self.values)
        return {"name": self.name, "in": "query", "description": self.what, "schema": schema}


@dataclass(frozen=True, slots=True)
class Address:
    """One address. `answer`: its model, or a media type. `refusals`: status codes beside 400 and 401. `body`: of its requests. `done`: status codes of success.

    `headers`: of the request, beside those of all.
    """

    path: str
    what: str
    answer: type[BaseModel] | str
    parameters: tuple[Parameter, ...] = ()
    method: str = "get"
    needs_token: bool = True
    refusals: tuple[int, ...] = ()
    body: type[BaseModel] | None = None
    done: tuple[int, ...] = (200,)
    headers: tuple[str, ...] = ()
