"""L-BFGS-B on an objective that may fail, and a record of how it went."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from okl.operators import counted_products
from okl.selection.objective import Objective, Point

Record = dict[str, float]
Watch = Callable[[int, Record], None]

# The search ends where no logarithm changes the objective by more than this per unit,
# or where a step changes it by no more than this part of it: log likelihoods that
# differ by less say nothing, and held-out ones are hardly known better.
_GRADIENT, _CHANGE = 1e-2, 1e-8
# Where values take fits and the kernel is not learned, the gradient is known to some
# 1e-4, and the objective is smooth: the first step changes no logarithm by more than
# _FIRST. Left alone L-BFGS-B would begin at a corner of the bounds, where a fit may
# take minutes. If the kernel is learned there are several minima, and a corner is as
# good a place to look.
_CHANGE_OF_FITS, _FIRST = 1e-6, 1.0
_CORRECTIONS = 20
# Most evaluations of a line search: with more it would look for what rounding hides.
_LINE_SEARCH = 8
# Where the line search finds nothing lower, though no logarithm changes the objective
# by more than this per unit, the rest is rounding.
_ROUGH = 0.1
_FEWER = "or learn fewer parameters"
# What SciPy says of such a line search.
_ABNORMAL = 2


class _OutOfTime(Exception):
    """No further evaluation is begun."""


class Descent:
    """One run of the optimiser, and what is kept of it."""

    def __init__(
        self,
        objective: Objective,
        first: np.ndarray,
        start: float,
        max_time: float | None,
        watch: Watch | None,
    ) -> None:
        self._objective, self._start = objective, start
        self._end = float("inf") if max_time is None else start + max_time
        self._watch = watch
        self._evaluations, self._products = 0, 0
        self.trace: list[Record] = []
        # an evaluation at the start must not fail
        self._best = self._last = self._evaluate(first)
        self._record(self._best)

    @property
    def best(self) -> Point:
        """The point of the least value."""
        return self._best

    def run(self, max_iter: int, *, near: bool = False) -> tuple[bool, str]:
        """Minimise; return whether the search ended by itself, and why.

        Where it did not the sentence also says what to do. With ``near`` the first step
        is short.
        """
        try:
            result = self._minimise(max_iter, near)
            done, value = result.nit, np.inf
            while (
                result.success
                and done < max_iter
                and self._slope(self._best) > _ROUGH
                and self._best.value < value
            ):
                value, result = self._best.value, self._minimise(max_iter - done, True)
                done += result.nit
        except _OutOfTime:
            return False, f"max_time was reached. Raise it, {_FEWER}."
        if result.success:
            return True, "A step or the gradient was small enough."
        if result.status != _ABNORMAL:
            limit = f"all {max_iter} iterations that max_iter allows"
            if done < max_iter:
                limit = f"all {self._evaluations} evaluations that max_iter allows"
            return False, f"{limit} were done. Raise it, {_FEWER}."
        if self._slope(self._best) <= _ROUGH:
            return True, "Nothing lower was found, up to rounding."
        return False, (
            "nothing lower was found along the gradient, so that the criterion or its "
            "gradient is too inaccurate. Start elsewhere (n_restarts), narrow bounds, "
            f"{_FEWER}."
        )

    def _minimise(self, max_iter: int, near: bool) -> OptimizeResult:
        """Run L-BFGS-B from the best point, with a short first step if ``near``.

        A line search that meets a plateau at a corner of the bounds goes back all the
        way, which looks like the end of the search.
        """
        by_fits = self._objective.criterion.by_fits
        of_fits = by_fits and not self._objective.moves_kernel
        # the first step is the gradient, of the objective in these units
        short = of_fits or near
        unit = max(self._slope(self._best) / _FIRST, 1.0) if short else 1.0
        self._last = self._best

        def in_units(theta: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self._value_and_gradient(theta)
            return value / unit, gradient / unit

        return minimize(
            in_units,
            self._best.theta,
            method="L-BFGS-B",
            jac=True,
            bounds=self._objective.space.bounds,
            callback=self._end_iteration,
            options={
                "maxiter": max_iter,
                "maxfun": 20 * max_iter,
                "maxcor": _CORRECTIONS,
                "gtol": _GRADIENT / unit,
                "ftol": _CHANGE_OF_FITS if of_fits else _CHANGE,
                "maxls": _LINE_SEARCH,
            },
        )

    def _value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        if np.array_equal(theta, self._last.theta):
            return self._last.value, self._last.gradient
        if perf_counter() > self._end:
            raise _OutOfTime
        try:
            point = self._evaluate(theta)
        except np.linalg.LinAlgError:
            # so high that the line search goes back
            value = self._best.value
            return value + 1e3 * (1.0 + abs(value)), np.zeros(theta.shape)
        self._last = point
        if point.value < self._best.value:
            self._best = point
        return point.value, point.gradient

    def _evaluate(self, theta: np.ndarray) -> Point:
        """Evaluate the objective, and count what it takes."""
        self._evaluations += 1
        with counted_products() as products:
            try:
                return self._objective(theta)
            finally:
                # in closed form there are factorisations instead
                self._products += max(1, products.total)

    def _end_iteration(self, intermediate_result: OptimizeResult) -> None:
        if np.array_equal(intermediate_result.x, self._last.theta):
            self._record(self._last)

    def _record(self, point: Point) -> None:
        record = {
            "value": point.value,
            "criterion": point.criterion,
            "gradient_norm": self._slope(point),
            "seconds": perf_counter() - self._start,
            "evaluations": float(self._evaluations),
            "products": float(self._products),
        }
        self.trace.append(record)
        if self._watch is not None:
            self._watch(len(self.trace) - 1, record)

    def _slope(self, point: Point) -> float:
        """Return the largest entry of the gradient that does not leave the bounds."""
        theta, slope = point.theta, point.gradient
        low, high = self._objective.space.bounds.T
        stuck = ((theta <= low) & (slope > 0)) | ((theta >= high) & (slope < 0))
        return float(np.abs(np.where(stuck, 0.0, slope)).max())
