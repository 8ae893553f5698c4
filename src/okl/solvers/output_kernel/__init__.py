"""The best L, with f eliminated: squared loss, all targets."""
