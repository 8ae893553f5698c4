"""How fast a fit reached its certificate of optimality.

At each iteration the duality gap bounds how far the objective is from its minimum.
Divided by the scale of the objective, it is the number that the solver compares with
``tol``. The picture shows it on a logarithmic axis against iterations or seconds, with
the tolerance: a straight line down is linear convergence, a curve that falls ever
faster that of Newton's method.

At the end round-off can make a computed gap zero or negative. A logarithmic axis cannot
show such points: they are drawn at the machine epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from okl.numerics.validation import check_choice
from okl.plotting._drawing import axes_or_new
from okl.plotting._fitted import fitted_model

FLOOR = float(np.finfo(float).eps)


class ConvergenceDisplay:
    """Relative duality gap against iterations or seconds.

    Parameters
    ----------
    history : sequence of mappings
        One per iteration, with (at least) the keys ``"relative_gap"`` and
        ``"seconds"``. It may be a NumPy structured array.
    tol : float, default=None
        The tolerance on the relative gap, drawn if given.
    name : str, default=None
        What the curve is called in the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    tol_line_ : matplotlib Line2D or None
        The tolerance.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and figure of the curve.

    Examples
    --------
    >>> from okl.plotting import ConvergenceDisplay
    >>> history = [
    ...     {"relative_gap": 0.5, "seconds": 0.01},
    ...     {"relative_gap": 1e-7, "seconds": 0.02},
    ... ]
    >>> ConvergenceDisplay(history, tol=1e-6).plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        history: Sequence[Mapping[str, float]],
        *,
        tol: float | None = None,
        name: str | None = None,
    ) -> None:
        if len(history) == 0:
            raise ValueError(
                "history is empty; expected one row per iteration: fit with at least "
                "one iteration."
            )
        self.history = history
        self.tol = tol
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Any = None, **params: Any
    ) -> Self:
        """Draw the convergence of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator, with ``history_`` and ``tol``; or a pipeline or search
            with one inside.
        name : str, default=None
            What the curve is called in the legend, the class of the estimator if None.
        ax : matplotlib Axes, default=None
            Axes to draw on, those of a new figure if None.
        **params : dict
            The other parameters of :meth:`plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.
        """
        estimator = fitted_model(estimator, "history_")
        name = type(estimator).__name__ if name is None else name
        tol = getattr(estimator, "tol", None)
        return cls(estimator.history_, tol=tol, name=name).plot(ax, **params)

    def plot(self, ax: Any = None, *, x: str = "iteration") -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on, those of a new figure if None. Pass the axes of another
            display to compare two fits.
        x : {"iteration", "seconds"}, default="iteration"
            The horizontal axis: iterations counted from one, so that the last is
            ``n_iter_``, or the time since the start of the solver.

        Returns
        -------
        ConvergenceDisplay
            This display.
        """
        check_choice(x, "x", ("iteration", "seconds"))
        gaps = np.maximum(self._column("relative_gap"), FLOOR)
        iterations = np.arange(1, len(gaps) + 1)
        abscissa = iterations if x == "iteration" else self._column(x)
        ax = axes_or_new(ax, "ConvergenceDisplay.plot")
        (self.line_,) = ax.plot(abscissa, gaps, marker=".", label=self.name)
        if x == "iteration":
            ax.xaxis.get_major_locator().set_params(integer=True)
        self.tol_line_ = None
        if self.tol is not None:
            self.tol_line_ = ax.axhline(
                self.tol, color="0.4", linestyle="--", label=f"tol = {self.tol:g}"
            )
        ax.set(yscale="log", xlabel=x, ylabel="relative duality gap")
        if self.name is not None or self.tol is not None:
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _column(self, key: str) -> np.ndarray:
        """Return one field of all rows."""
        try:
            return np.array([row[key] for row in self.history], dtype=float)
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"a row of history has no {key!r}; expected rows with 'relative_gap' "
                "and 'seconds', as in the history_ of a fitted estimator."
            ) from error
