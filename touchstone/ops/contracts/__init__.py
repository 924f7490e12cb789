"""What flows, for programs: JSON Schemas of every event and report, and the AsyncAPI document. Made from the models, and from what suites say of themselves."""

from touchstone.ops.contracts.channels import asyncapi
from touchstone.ops.contracts.documents import ASYNCAPI, Contract, contracts, schemas, written

__all__ = ["ASYNCAPI", "Contract", "asyncapi", "contracts", "schemas", "written"]
