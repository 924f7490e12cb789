from tests.official_validator import official_validator
from tests.ops.local.fhir_validator.stand_in import official, patient, stand_in

__all__ = ["official", "official_validator", "patient", "stand_in"]
