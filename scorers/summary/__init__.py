"""Loss V3 for generated summaries. See docs/summary-loss.md."""
