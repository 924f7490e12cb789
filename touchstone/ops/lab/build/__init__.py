"""What is built before a release: tables and models. Not in the wheel."""
