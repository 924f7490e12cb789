"""FHIR R4 validation: structure, primitives, bindings, invariants, references, Bundles, narrative, profiles."""

from touchstone.scorers.clinical.formats.fhir.options import Options
from touchstone.scorers.clinical.formats.fhir.validator import is_valid, validate, validate_resource

__all__ = ["Options", "is_valid", "validate", "validate_resource"]
