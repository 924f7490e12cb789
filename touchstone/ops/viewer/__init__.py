"""`touchstone viewer`: the page on local or remote traces, without Kafka: traces are read, kept in a folder, scored there, and shown."""
