"""Labels, a penalty with a region: Newton's method in L.

With f and b eliminated the problem is one in L, phi(L) + alpha R(L); its derivatives
are in `okl.solvers.smooth.factor_steps`. In each step phi, but not R, is replaced by
its second-order model at the last L. The next L is on the line from there to the
minimiser of model plus R in the region of the structure (`okl.optimization.regions`).
One factorised system gives the change E of the dual variables with every entry of L at
once, so that the second derivative is a matrix (`okl.solvers.smooth.quadratic_model`),
and to minimise the model takes no product with K. (Proximal Newton methods: Lee, Sun &
Saunders 2014.)

The models of `okl.solvers.smooth.rounds` have one curvature h for all entries, and take
hundreds of rounds, where this takes ten steps, if some probabilities are saturated and
others are not. The steps start from the result of a few rounds.
"""

from __future__ import annotations

from okl.numerics.arrays import Array, namespace, symmetric
from okl.optimization.regions import WithBarrier
from okl.output_kernels import SpectralKernel
from okl.solvers.monitor import Monitor
from okl.solvers.output_kernel.value_function import spectral_of
from okl.solvers.predictor.active_system import DIRECT, factorises
from okl.solvers.request import Request
from okl.solvers.smooth.backtracking import first_lower
from okl.solvers.smooth.factor_iterate import FactorIterate, closeness
from okl.solvers.smooth.linearisation import AllColumns
from okl.solvers.smooth.quadratic_model import QuadraticModel, second_derivative
from okl.solvers.smooth.rounds import STEPS, PreparedRounds, has_labels, rounds
from okl.solvers.smooth.scores import Scores
from okl.solvers.solution import Solution

# Steps without progress after which rounding is taken to be the reason; the most shares
# of a step that are tried.
_STAGNATION, _TRIALS = 10, 12
# Rounds before the first step, without a start: where L has the right scale by then,
# few steps are left, and an easy problem may need none.
_ROUNDS = 8


def takes(prepared: PreparedRounds) -> bool:
    """Tell whether a problem has labels, and a region with a barrier.

    Its system and second derivative have to be small enough to be written out as well.
    """
    problem = prepared.problem
    m = problem.n_outputs
    region = problem.structure.region(m)
    n_entries = max(problem.targets.shape[0], m) * m
    return (
        has_labels(problem)
        and isinstance(prepared.models, AllColumns)
        and isinstance(region, WithBarrier)
        and region.only(m) is None
        and n_entries <= DIRECT
        and factorises(problem, n_entries)
    )


def region_newton(prepared: PreparedRounds, request: Request) -> Solution:
    """Iterate from L of a neighbouring alpha, or of a few rounds.

    The problem is one that it `takes`.
    """
    alpha, tol, max_iter, start = request
    problem = prepared.problem
    monitor = Monitor(problem.gap_scale, tol, max_iter, stagnation=_STAGNATION)
    if start is None:
        rough = rounds(prepared, Request(alpha, tol, min(max_iter, _ROUNDS)))
        if rough.certificate.status == "optimal" or rough.n_iter >= max_iter:
            return rough
        monitor.history.records.extend(rough.history)
        start = rough.start
    steps = _Steps(prepared, alpha)
    model = steps.model(start.kernel.spectral(), start.inside)
    following: FactorIterate | None = model
    while following is not None:
        gap = monitor.add(following.primal, following.dual, following)
        following = None if monitor.done else steps.lower(following, gap)
    best: FactorIterate = monitor.best
    return best.solution(problem, request, monitor.history)


class _Steps:
    """The steps at one alpha."""

    def __init__(self, prepared: PreparedRounds, alpha: float) -> None:
        problem = prepared.problem
        xp, m = namespace(problem.targets), problem.n_outputs
        region = problem.structure.region(m)
        assert isinstance(region, WithBarrier)  # it is one of these
        self.prepared, self.alpha, self.region = prepared, alpha, region
        # T (m, k): L is T X T' and what the region sets apart
        self._basis = region.split(xp.eye(m, dtype=problem.targets.dtype))
        self._share = closeness(1.0)

    def model(self, kernel: SpectralKernel, inside: object) -> FactorIterate:
        """Return the model with the best f for an L, given a start for f."""
        request = Request(self.alpha, self._share, STEPS, inside)
        fit = self.prepared.best_predictor(kernel, request)
        return FactorIterate.of(fit, Scores.of(self.prepared.problem, fit))

    def lower(self, model: FactorIterate, gap: float) -> FactorIterate | None:
        """Return the first lower model on the way to the next L, None if none is."""
        self._share = closeness(gap)
        quadratic, answers = self.quadratic(model)
        found, fall = quadratic.least(self.region)
        dual, L, T = model.dual_rows / self.alpha, model.kernel.matrix(), self._basis
        change = spectral_of(self.region.whole(found)).matrix() - L
        turned = answers @ namespace(L).reshape(T.T @ change @ T, (-1,))

        def at(share: float) -> FactorIterate:
            there = SpectralKernel.from_matrix(L + share * change)
            start = self.prepared.inside_of(dual + share * turned, there, self.alpha)
            return self.model(there, start)

        best, _ = first_lower(model, at, self.alpha * fall, trials=_TRIALS)
        return None if best is model else best

    def quadratic(self, model: FactorIterate) -> tuple[QuadraticModel, Array]:
        """Return the model of phi / alpha, and the E that it is made of."""
        dual, T = model.dual_rows / self.alpha, self._basis
        image = (self.prepared.problem.operator @ dual) @ T
        solve = self.prepared.answers(model.kernel, model.scores, self.alpha)
        # -KCD for D = T X T', X with one entry
        products = -image[:, None, :, None] * T[:, None, :]
        answers = solve(namespace(T).reshape(products, (*dual.shape, -1)))
        return QuadraticModel(
            model.objective / self.alpha,
            symmetric(T.T @ model.kernel.matrix() @ T),
            symmetric((dual @ T).T @ image),
            second_derivative(image, T, answers),
        ), answers
