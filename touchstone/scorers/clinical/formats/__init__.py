"""One package a healthcare format: bytes in, report out."""
