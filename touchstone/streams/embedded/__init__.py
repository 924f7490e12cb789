"""The embedded broker: librdkafka's own, in a child process."""
