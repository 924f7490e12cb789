"""The requests that traces go to slower stages with: which traces, and how much of them."""
