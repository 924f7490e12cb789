"""Shared parts of the commands: options, errors, progress, terminals."""
