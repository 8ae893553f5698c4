"""The optional libraries for drawing, and axes to draw on.

matplotlib and networkx are imported when something is drawn, never before, so that okl
works without them. If one is missing, the error has the command that installs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The two ends of matplotlib's "RdBu_r": the graph has the colours of the heat map.
DIVERGING = "RdBu_r"
POSITIVE, NEGATIVE = "#b2182b", "#2166ac"


def require(module: str, caller: str) -> Any:
    """Import an optional library, or say how to install it.

    Parameters
    ----------
    module : str
        Name of the module, such as ``"matplotlib.pyplot"``.
    caller : str
        What needs the library, for the message.

    Returns
    -------
    module
        The imported module.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{caller} requires {module.partition('.')[0]}, which is not installed. "
            'Install it with: pip install "okl[plot]"'
        ) from error


def axes_or_new(
    ax: Any, caller: str, *, figsize: tuple[float, float] | None = None
) -> Any:
    """Return the given axes, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Axes to draw on.
    caller : str
        What needs matplotlib, for the message when it is missing.
    figsize : tuple of two floats, default=None
        Width and height of a new figure in inches; matplotlib's default if None.

    Returns
    -------
    matplotlib Axes
        `ax`, or new axes in a figure that makes room for labels, also if the aspect of
        the axes is fixed.
    """
    plt = require("matplotlib.pyplot", caller)
    if ax is None:
        _, ax = plt.subplots(figsize=figsize, layout="compressed")
    return ax
