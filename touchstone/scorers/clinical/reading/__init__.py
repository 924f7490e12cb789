"""How a trace reads beside its result: the patient's chart, the documents, and each finding at its place in them. See docs/clinical-reading.md."""
