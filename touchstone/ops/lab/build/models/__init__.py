"""Training of the offline default NLI model: `python -m touchstone.ops.lab build nli-model --data DIR --out DIR`."""
