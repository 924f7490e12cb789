"""Pure scoring: no Kafka, no HTTP server, no Prometheus, no files except model weights and tables."""
