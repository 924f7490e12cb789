"""Language models as judges: the one client, its limits and budget, and prompts as versioned files."""
