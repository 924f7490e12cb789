"""What people say of cases, read as a whole: annotations from a file or the store, their coding into kinds of failure, and reports on it."""
