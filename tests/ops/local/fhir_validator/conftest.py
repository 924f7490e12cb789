"""Fixtures of these tests."""

from tests.official_validator import official_validator
from tests.ops.local.fhir_validator.stand_in import official, stand_in

__all__ = ["official", "official_validator", "stand_in"]
