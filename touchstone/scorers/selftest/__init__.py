"""The self-test: a model writes a request, the system under test answers it, and a model judges the answer by a rubric."""
