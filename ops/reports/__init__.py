"""Every report in every format, written from what its suite shows of it; and where reports go."""
