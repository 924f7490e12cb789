"""Training of the offline default NLI model: `python -m touchstone.ops.build.models --data DIR --out DIR`."""
