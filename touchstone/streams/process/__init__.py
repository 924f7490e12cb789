"""What a worker process is made of: worker, watchdog, metrics, pages, logs."""
