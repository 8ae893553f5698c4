"""Sphinx configuration: ``make docs``."""

import inspect

from sphinx.util.inspect import stringify_signature

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
    """Say what is shown where Sphinx does not know, or is mistaken."""
    app.connect("missing-reference", plain_text)
    app.connect("autodoc-process-signature", of_constructor)


def plain_text(app, env, node, content):
    """Return what a reference shows if its target is elsewhere."""
    return content if node["reftarget"] in ELSEWHERE else None


def of_constructor(app, what, name, obj, options, signature, returned):
    """Return the signature of a class: Sphinx shows that of a ``__new__``."""
    if what != "class" or not signature:
        return None
    found = inspect.signature(obj)
    return stringify_signature(found, show_return_annotation=False), None
