"""The API over the history: cases, readings, traces, annotations, feedback, search, saved views and runs."""
