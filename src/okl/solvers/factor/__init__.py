"""The best factor of L, L = B B' of low rank: squared loss, all targets."""
