"""What a summary gets wrong about its gold: values, wording, and contradictions that the model finds."""
