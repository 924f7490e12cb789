"""Creating, reading and writing topics, and handling dead letters."""
