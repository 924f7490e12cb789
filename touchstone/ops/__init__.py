"""Operation: commands, store, reports, brokers, benchmarks and chaos tests."""
