"""Whether losses order summaries as truth and people do: `python -m touchstone.ops.lab losses`."""
