"""Sphinx configuration: ``make docs``."""

project = "okl"
author = "The okl developers"
extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser"]
numpydoc_show_class_members = False
exclude_patterns = ["_build"]
html_theme = "alabaster"
