"""JSON Schemas of every event and report, and the AsyncAPI document, made from the models and from what suites declare."""

from touchstone.ops.contracts.channels import asyncapi
from touchstone.ops.contracts.documents import ASYNCAPI, Contract, contracts, schemas, written

__all__ = ["ASYNCAPI", "Contract", "asyncapi", "contracts", "schemas", "written"]
