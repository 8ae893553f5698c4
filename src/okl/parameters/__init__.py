"""What kernels, structures, losses and solvers have in common: names and parameters."""
