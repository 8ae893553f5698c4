"""How estimators choose kernel, structure and alpha by held-out scores."""
