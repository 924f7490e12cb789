"""Compiles the HL7 v2 tables that the validator ships, from the development dependency hl7apy (MIT)."""
