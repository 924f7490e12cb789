"""What a process tells of itself: the metric list, metrics and logs. Below everything that counts."""
