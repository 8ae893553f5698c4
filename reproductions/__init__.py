"""The papers' experiments, a script and a page each: `python -m reproductions`."""
