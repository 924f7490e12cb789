"""Compile the published FHIR R4 definitions into the tables that the FHIR validator ships with."""
