"""Hard fails of Loss V3 (§4): meta-commentary, unreadable JSON, a text that is cut off. Each gives the greatest loss."""
