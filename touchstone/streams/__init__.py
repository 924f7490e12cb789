"""Everything that touches Kafka: codec, intake, outbox, runners, projector, embedded broker."""
