"""Heavy handles, loaded only when a suite asks for them: the micro-batcher, the NLI model and the embedder."""
