"""Choosing alpha and the structure: paths and held-out scores."""
