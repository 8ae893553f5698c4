"""Sphinx configuration: ``make docs``."""

project = "okl"
author = "The okl developers"
extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser"]
myst_heading_anchors = 2  # links to sections
default_role = "py:obj"  # `okl.solve` in a docstring is a link
numpydoc_show_class_members = False
exclude_patterns = ["_build"]
html_theme = "alabaster"

# Labels of scikit-learn's manual, which inherited docstrings refer to.
ELSEWHERE = {
    "df_output_transform",
    "meta-estimator",
    "metadata_routing",
    "r2_score",
    "sphx_glr_auto_examples_miscellaneous_plot_set_output.py",
}


def setup(app):
    """Leave references to them as text, without the warning of a missing one."""
    app.connect("missing-reference", plain_text)


def plain_text(app, env, node, content):
    """Return what a reference shows if its target is elsewhere."""
    return content if node["reftarget"] in ELSEWHERE else None
