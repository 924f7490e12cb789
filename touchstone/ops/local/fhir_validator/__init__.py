"""The official FHIR validator (HL7, Java) from Maven artifacts, on this machine and offline: one process of it, or a service of several with a queue."""
