r"""Several kernels, penalties whose conjugate has kinks: the proximal point method.

The conjugate of a trace has no second derivative. With the squared distance from the
last L_q added to each penalty, R_q(L) + w_q |L - L_q|^2 / 2, it has, and the problem is
one for `okl.solvers.term_newton`. Its solution is the next L_q. Every round lowers the
objective, whatever the weights, and the lower they are the fewer rounds there are, of
more steps each (Rockafellar 1976): they are lowered from round to round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from okl.certificates.terms import StructureTerms
from okl.numerics.arrays import Array, eigh, inner, namespace
from okl.optimization.smooth import symmetric
from okl.output_kernels import OutputKernel, OutputKernelTerms
from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.solution import Solution, certified
from okl.solvers.term_newton import PreparedTerms, TermNewton
from okl.structures import Identity, Structure
from okl.structures.base import Response

# The first weight, times the largest eigenvalue of L; the factor of each round, and the
# least weight, as a part of the first.
_FIRST, _LOWER, _LEAST = 1.0, 0.5, 1e-3
# A round is solved to this part of the last gap, within bounds.
_SHARE, _MOST, _CLOSEST = 0.1, 1e-2, 1e-2
# Iterations of a round, and the gap of the first model.
_STEPS, _ROUGH = 50, 1e-2


class TermProximal(Solver):
    """Proximal points of the output kernels of several kernels."""

    name: ClassVar[str | None] = "term_proximal"
    loss_requires: ClassVar[frozenset[str]] = frozenset({"smooth"})
    structure_requires: ClassVar[frozenset[str]] = frozenset({"proximal"})
    needs_one_kernel: ClassVar[bool] = False
    complete_rows: ClassVar[bool] = False
    several_kernels: ClassVar[bool | None] = True
    workspace_matrices: ClassVar[int] = 0

    def prepare(self, problem: Problem) -> PreparedTerms:
        """Do what `TermNewton` does."""
        return TermNewton().prepare(problem)

    def solve(
        self,
        prepared: PreparedTerms,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: _Start | None = None,
    ) -> Solution:
        """Iterate from C and the L_q of a neighbouring alpha, or from one update."""
        problem = prepared.problem
        monitor = Monitor(problem.reference, tol=SAFETY * tol, max_iter=max_iter)
        start = start or _first(prepared, alpha)
        weights = [_FIRST / (_largest(L) or 1.0) for L in start.kernels]
        least = [_LEAST * weight for weight in weights]
        share = _MOST
        while not monitor.done:
            centred = _Centred(problem.structure, start.kernels, weights)
            found = TermNewton().solve(
                prepared.under(centred),
                alpha,
                tol=share,
                max_iter=_STEPS,
                start=start.dual,
            )
            kernel: Any = found.output_kernel
            start = _Start(found.start, [term.matrix() for term in kernel.terms])
            solution = certified(
                problem,
                found.dual_coef,
                kernel,
                alpha,
                tol=tol,
                history=monitor.history,
                start=start,
                intercept=found.intercept,
            )
            certificate = solution.certificate
            monitor.add(certificate.primal, certificate.dual, solution)
            weights = [
                max(_LOWER * w, low) for w, low in zip(weights, least, strict=True)
            ]
            share = max(min(_SHARE * monitor.smallest, _MOST), _CLOSEST * tol)
        best: Solution = monitor.best
        return replace(best, n_iter=monitor.n_iter, history=monitor.history.records)


class _Start(NamedTuple):
    """C as `TermNewton` has it, and L_1, L_2, ..."""

    dual: Array
    kernels: list[Array]


class _Centred(Structure):
    """Structures with squared distances from some L_q."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"response"})

    def __init__(self, terms: Any, centres: list[Array], weights: list[float]) -> None:
        self.terms = terms
        self.centres = centres
        self.weights = weights

    def response(
        self, matrix: Array, centre: Array | None = None, weight: float = 0.0
    ) -> Response:
        """Return that of all terms."""
        xp = namespace(matrix)
        found = [
            structure.response(matrix[q], self.centres[q], self.weights[q])
            for q, structure in enumerate(self.terms.structures)
        ]
        return Response(
            sum(one.value for one in found),
            xp.stack([one.output_kernel for one in found]),
            lambda change: xp.stack(
                [one.derivative(change[q]) for q, one in enumerate(found)]
            ),
        )

    def penalty_of(self, kernel: OutputKernel) -> float:
        """Return the sum of penalties and distances."""
        assert isinstance(kernel, OutputKernelTerms)
        distances = self._distances([term.matrix() for term in kernel.terms])
        return self.terms.penalty_of(kernel) + distances

    def penalty(self, output_kernel: Array) -> float:
        """Return the sum of penalties and distances, of a stack of matrices."""
        return self.terms.penalty(output_kernel) + self._distances(output_kernel)

    def _distances(self, matrices: Any) -> float:
        total = 0.0
        for matrix, centre, weight in zip(
            matrices, self.centres, self.weights, strict=True
        ):
            away = matrix - centre
            total += weight / 2 * inner(away, away)
        return total

    def conjugate(self, matrix: Array) -> float:
        """Return that of the sum."""
        return self.response(matrix).value

    def update(self, matrix: Array, *, tol: float = 1e-6) -> Array:
        """Refuse: no solver of these rounds asks for it."""
        raise TypeError(
            "The best L near a centre, for given predictions, is not known."
        )


def _first(prepared: PreparedTerms, alpha: float) -> _Start:
    """Return C of independent outputs, and the best L_q for its predictions."""
    structure: Any = prepared.problem.structure
    unrelated = StructureTerms((Identity(),) * len(structure.structures))
    found = TermNewton().solve(
        prepared.under(unrelated), alpha, tol=_ROUGH, max_iter=_STEPS
    )
    grams = prepared.inside.entries.gram(found.start, found.start)
    pairs = enumerate(structure.structures)
    return _Start(found.start, [one.update(symmetric(grams[q])) for q, one in pairs])


def _largest(matrix: Array) -> float:
    return float(eigh(matrix)[0][-1])
