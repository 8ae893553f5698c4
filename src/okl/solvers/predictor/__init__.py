"""The best f for a given L."""
