"""The graphs of the ONNX runtime: structure without weights."""
