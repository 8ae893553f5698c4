"""Methods that solvers and structures share: Newton steps and conjugate gradients."""
