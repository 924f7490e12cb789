"""Training of the offline default NLI model: `python -m touchstone.ops.lab.build.models --data DIR --out DIR`."""
