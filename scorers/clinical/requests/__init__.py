"""The requests that traces go to the clinical judge with: which traces, and how much of them it is shown."""
