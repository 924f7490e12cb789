"""The five components of Loss V3 (§3), the NLI round that answers their questions, and the sum of its parts."""
