"""Several kernels, each with an L of its own."""
