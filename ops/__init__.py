"""What people and machines operate: commands, store, reporters, brokers, benchmarks, chaos."""
