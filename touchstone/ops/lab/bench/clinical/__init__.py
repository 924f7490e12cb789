"""Measures the validators of FHIR, HL7 v2 and C-CDA over other validators."""
