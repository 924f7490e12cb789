"""The official FHIR validator (HL7, Java) from Maven artifacts: started on loopback, offline, and asked over HTTP. It is the oracle for Touchstone's."""
