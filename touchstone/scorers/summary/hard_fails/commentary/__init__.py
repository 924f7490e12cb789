"""Meta-commentary: sentences about the text that was summarised, or about the summary itself."""
