"""Sphinx configuration: ``make docs``."""

project = "okl"
author = "The okl developers"
extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser"]
myst_heading_anchors = 2  # links to sections
numpydoc_show_class_members = False
exclude_patterns = ["_build"]
html_theme = "alabaster"
