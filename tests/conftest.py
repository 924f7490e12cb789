"""What holds for every test."""

from hypothesis import settings

# A deadline measures the machine, not the code: another process's load must not fail a test.
settings.register_profile("touchstone", deadline=None)
settings.load_profile("touchstone")
