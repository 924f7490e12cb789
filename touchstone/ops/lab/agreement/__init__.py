"""How far the clinical validators agree with recorded verdicts and with the official FHIR validator."""
