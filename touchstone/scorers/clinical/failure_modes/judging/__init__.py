"""Failure modes that a language model answers, each with a folder of its own: prompt, examples, and what is known of how far it agrees with people."""
