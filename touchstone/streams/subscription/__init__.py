"""Results and reports for those who watch, read from every partition without a consumer group and fanned out."""
