"""Learns the weights of the commentary model."""
