"""Training of the offline default NLI model: `python -m ops.training --data DIR --out DIR`."""
