"""Clinical evaluation: healthcare formats, shared checks, scores."""
