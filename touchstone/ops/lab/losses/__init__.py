"""Whether losses order summaries as truth and people do: `touchstone loss evaluate`."""
