"""A whole Touchstone on one machine: up, demo, brokers, checks."""
