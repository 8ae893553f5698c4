r"""A learned L under a loss with kinks: the loss split off from everything else.

The loss V has scores U of its own, which multipliers a hold to the predictions. For

.. math:: \min_{f, L, b, U}\; V(U) + \alpha \left(\tfrac12 \|f\|^2 + R(L)\right),
          \qquad U = f(X) + 1 b',

the alternating direction method of multipliers (Boyd et al. 2011) takes in turn

- f and b by the squared loss on U + a / sigma at alpha / sigma, which in the eigenbases
  of K and L is a division, and then the best L for f;
- U by the proximal point of the loss, entry by entry, which gives the next a.

A step costs two products with the eigenvectors of K, however many entries are at a
kink: hundreds of steps cost as much as one system of a Newton step with thousands of
such entries. Every a is within the bounds of the loss. Scores of missing targets follow
the predictions from one step to the next, a little at a time, and where L is nearly
singular it follows f in the same way: steps are accelerated
(`okl.optimization.anderson`). Where they are slow all the same, the method ends, and
other solvers go on from its a.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from okl.losses import Squared
from okl.numerics.arrays import Array, epsilon, inner, namespace
from okl.optimization.anderson import Anderson
from okl.output_kernels import SpectralKernel
from okl.problems import Problem, Rotated
from okl.solvers.kinks.dual_model import (
    gap_of,
    of_dual_point,
    sparse,
    with_dual_point,
)
from okl.solvers.kinks.multipliers import balanced
from okl.solvers.kinks.polishing import n_free
from okl.solvers.output_kernel.alternation import (
    best_output_kernel,
    first_output_kernel,
)
from okl.solvers.predictor.active_system import DIRECT
from okl.solvers.predictor.spectral import best_coefficients
from okl.solvers.request import Request
from okl.solvers.solution import History, Solution
from okl.solvers.squared_loss import SQUARED_LOSS
from okl.solvers.table import first_that_fits

# Over-relaxation: the factor of the way from the last scores to the predictions.
_RELAXED = 1.6
# Steps from one look at the gap to the next, and most looks.
_STEPS, _LOOKS = 20, 200
# The gap has to be halved in so many looks, and in fewer where another solver is quick.
_IDLE, _IDLE_IF_ANOTHER = 20, 5
# The multipliers between their bounds are solved for after _CLOSE looks within the
# tolerance, and at the end if the gap is at most _NEAR. (As soon as it is, fits that
# end without take up to five times as long.)
_CLOSE, _NEAR = 5, 1e-4
# Sigma changes where the relative changes of U and a differ by more than the factor
# _UNEVEN, by the factor _CHANGE at most, and in the first _CHANGES looks only.
_UNEVEN, _CHANGE, _CHANGES = 2.0, 10.0, 30
# The tolerance of a structure's update, as a part of the one on the gap.
_UPDATE = 1e-2


class Split(NamedTuple):
    """The current point of the steps."""

    scores: Array  # U (n_samples, n_outputs)
    multipliers: Array  # a
    kernel: SpectralKernel  # L
    sigma: float  # how strongly U is held to the predictions


class _Found(NamedTuple):
    """What a step finds beside the next points: L, the coefficients of f, and f(X)."""

    kernel: SpectralKernel
    coefficients: Array
    predictions: Array


def can_be_split(problem: Problem) -> bool:
    """Tell whether a problem can be split, and many entries may be at a kink.

    With a hinge few are, and Newton's steps on these are faster.
    """
    if "regression" not in problem.loss.capabilities:
        return False
    capabilities = problem.structure.capabilities
    if "known" in capabilities or "update" not in capabilities:
        return False
    if not problem.entries.every_output or problem.rank_is_bounded:
        return False
    return first_that_fits(SQUARED_LOSS, _squared(problem), n_alphas=1) is not None


def split(
    problem: Problem, request: Request, start: Split | None, *, another: bool = False
) -> Solution | Array | None:
    """Return an optimal model, or a start for other solvers.

    The start is the last a if progress is too slow, and None, for zero, if L vanishes.
    It is too slow sooner where ``another`` solver takes few rounds. At the largest
    number of iterations the last model is returned as it is.
    """
    history = History(problem.gap_scale)
    most_idle = _IDLE_IF_ANOTHER if another else _IDLE
    model, point, halved, idle, close = None, None, float("inf"), 0, 0
    for here, theta in _looks(problem, request, start):
        if _vanishes(problem, here, request.alpha):  # others find an L of zero
            return None
        point = balanced(problem, here.multipliers)
        model = with_dual_point(problem, point, theta, here.kernel, request)
        gap = abs(history.add(model.certificate.primal, model.certificate.dual))
        if gap <= request.tol:
            close += 1
            found = exact = of_dual_point(problem, point, here.kernel, request)
            if exact.certificate.failed and close == _CLOSE:
                found = _with_exact_kinks(model, problem, request)
            if not found.certificate.failed:
                return _more_exact(found, here, history, request.max_iter)
            # from now on that of the model of the dual point, which may be far behind
            gap = gap_of(exact)
            halved = float("inf") if close == 1 else halved
        idle = 0 if gap <= halved / 2 else idle + 1
        halved = gap if idle == 0 else halved
        if idle == most_idle or len(history.records) >= request.max_iter:
            break
    if model is not None and gap_of(model) <= max(_NEAR, request.tol):
        found = sparse(model, problem, request)
        if not found.certificate.failed:
            return _more_exact(found, here, history, request.max_iter)
    if model is not None and len(history.records) >= request.max_iter:
        return model.found_by(history.records, here)
    return point


def _with_exact_kinks(model: Solution, problem: Problem, request: Request) -> Solution:
    """Return the model of the dual point after it was polished.

    Where nearly all targets are met exactly, as at a tiny alpha, that takes long, and
    the model as it is has the smaller gap.
    """
    if n_free(problem, model.dual_point) > DIRECT:
        return model
    return sparse(model, problem, request)


def _vanishes(problem: Problem, here: Split, alpha: float) -> bool:
    """Tell whether predictions are zero up to rounding."""
    values, own = problem.spectrum.eigenvalues, here.kernel.eigenvalues
    largest = float(values[0] * own[0]) if values.shape[0] and own.shape[0] else 0.0
    return largest * here.sigma <= epsilon(own) * alpha


def _more_exact(
    model: Solution, here: Split, history: History, max_iter: int
) -> Solution:
    """Return a model as the last of the history, if that may have one more."""
    if len(history.records) < max_iter:
        history.add(model.certificate.primal, model.certificate.dual)
    return model.found_by(history.records, here)


def _looks(
    problem: Problem, request: Request, start: Split | None
) -> Iterator[tuple[Split, Array]]:
    """Yield the current point, with Theta, once in _STEPS steps."""
    alpha, update = request.alpha, _UPDATE * request.tol
    targets, weights, loss = problem.targets, problem.weights, problem.loss
    xp, spectrum = namespace(targets), problem.spectrum
    values, vectors = spectrum.eigenvalues[:, None], spectrum.vectors
    squared = _squared(problem)

    def seen(points: Array) -> Rotated:
        return Rotated(squared, values, vectors.T @ points, None)

    if start is None:
        scores, _ = problem.at_best_intercept(xp.zeros_like(targets))
        multipliers = problem.downhill(scores)
        way = targets - scores
        sigma = (inner(multipliers, multipliers) / (inner(way, way) or 1.0)) ** 0.5
        sigma = sigma or 1.0
        first = seen(scores + multipliers / sigma)
        kernel = first_output_kernel(first, alpha / sigma, tol=update)
        start = Split(scores, multipliers, kernel, sigma)
    scores, multipliers, kernel, sigma = start
    met = None  # the points of which the loss takes proximal points
    steps: Anderson[_Found] = Anderson()
    for look in range(_LOOKS):
        weight = sigma if weights is None else sigma / xp.where(weights > 0, weights, 1)
        for _ in range(_STEPS):
            points = scores + multipliers / sigma
            rotated = seen(points)
            coefficients = best_coefficients(rotated, kernel, alpha / sigma)
            predictions = vectors @ (values * coefficients)
            if problem.centered:
                predictions = predictions + xp.mean(points, axis=0)
            kernel = best_output_kernel(rotated, coefficients, tol=update)
            ahead = _RELAXED * predictions + (1 - _RELAXED) * scores
            image = ahead - multipliers / sigma
            found = _Found(kernel, coefficients, predictions)
            if met is None:
                met = image
            else:
                met, found = steps.next(met, image, found)
            kernel, coefficients, predictions = found
            multipliers = loss.proximal_slopes(targets, met, weight)
            if weights is not None:
                multipliers = weights * multipliers
            last, scores = scores, met + multipliers / sigma
        yield Split(scores, multipliers, kernel, sigma), vectors @ coefficients
        evened = sigma
        if look < _CHANGES:
            evened = _evened(sigma, scores, last, predictions, multipliers)
        if evened != sigma:
            sigma, met, steps = evened, None, Anderson()


def _evened(
    sigma: float, scores: Array, last: Array, predictions: Array, multipliers: Array
) -> float:
    """Return a sigma at which U and a change as much, relative to what they are."""
    apart, moved = scores - predictions, scores - last
    size = inner(predictions, predictions) or 1.0
    strength = inner(multipliers, multipliers) or 1.0
    here = inner(apart, apart) / size
    there = sigma**2 * inner(moved, moved) / strength
    if not (here > 0 and there > 0):
        return sigma
    factor = (here / there) ** 0.25
    if 1 / _UNEVEN <= factor <= _UNEVEN:
        return sigma
    return sigma * min(max(factor, 1 / _CHANGE), _CHANGE)


def _squared(problem: Problem) -> Problem:
    """Return the problem of the squared loss, of which the targets change."""
    return replace(problem, loss=Squared(), weights=None)
