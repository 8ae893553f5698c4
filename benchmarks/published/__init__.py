"""The iterations of the papers, as baselines."""
