"""Two test sets that no rule is tuned to: cases written from the standard alone, and mutations by operators of their own (docs/agreement.md)."""
