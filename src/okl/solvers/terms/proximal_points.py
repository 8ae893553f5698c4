r"""Several kernels, penalties whose conjugate has kinks: the proximal point method.

The conjugate of a trace penalty has no second derivative. With the squared distance
from the last L_q added to such a penalty, R_q(L) + w_q |L - L_q|^2 / 2, it has one, and
the rounds of `okl.solvers.terms.term_newton`, or for losses with kinks those of
`okl.solvers.kinks.term_ascent`, solve the problem. Its solution is the next L_q
(Rockafellar 1976). Each solution lowers the objective, whatever the weights w_q. With
lower weights fewer of these problems are enough, but each takes more steps: the weights
are therefore lowered from one problem to the next.

With a loss that has kinks the dual point does not follow from the model, and the dual
point of one round may certify the model of another: the highest dual value is compared
with the lowest objective.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from okl.certificates.terms import StructureTerms
from okl.numerics.arrays import Array, eigh, inner, namespace, symmetric
from okl.optimization.second_derivative import Multiple
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.request import Request
from okl.solvers.solution import Solution, certified
from okl.solvers.terms.term_start import TermStart
from okl.structures import Fixed, Identity, Structure
from okl.structures.base import Response

# The factor of the weights after a round:
_EASY, _FEW = 0.2, 2  # that was solved in so few iterations
_LOWER = 0.5  # that was solved
_HIGHER = 4.0  # that was not
# The least weight, as a part of the first.
_LEAST = 1e-6
# A round is solved to the relative gap _SHARE * (smallest gap so far), times _CLOSER
# for each round in a row that lowered neither gap nor objective; but to at most _MOST
# and at least _CLOSEST * tol.
_SHARE, _MOST, _CLOSEST, _CLOSER = 0.1, 1e-2, 1e-2, 0.1
# Iterations of a round, and the gap of the first model.
_STEPS, _ROUGH = 50, 1e-2


# What solves the problem of a round, at one alpha.
Rounds = Callable[[Any, Request], Solution]


def proximal_points(rounds: Rounds, prepared: Any, request: Request) -> Solution:
    """Iterate from C and the L_q of a neighbouring alpha, or from one update.

    ``rounds`` solves prepared terms whose structure has a `response`.
    """
    alpha, tol, max_iter, start = request
    problem = prepared.problem
    monitor = Monitor(problem.gap_scale, tol=SAFETY * tol, max_iter=max_iter)
    start = start or _first(rounds, prepared, alpha)
    weights = start.weights
    share, closer = _MOST, 1.0
    lowest: Solution | None = None
    highest: Solution | None = None

    def proved(model: Solution, dual_point: Array | None) -> Solution:
        return certified(
            problem,
            model.dual_coef,
            model.output_kernel,
            request,
            start=start,
            intercept=model.intercept,
            dual_point=dual_point,
        )

    while not monitor.done:
        centred = _centred(prepared.inside.structure, start.last.matrices, weights)
        of_round = Request(alpha, share, _STEPS, start.last)
        found = rounds(prepared.under(centred), of_round)
        start = start._replace(last=found.start)
        solution = proved(found, found.dual_point)
        if found.dual_point is not None:
            lowest = min(
                lowest or solution, solution, key=attrgetter("certificate.primal")
            )
            highest = max(
                highest or solution, solution, key=attrgetter("certificate.dual")
            )
            solution = proved(lowest, highest.dual_point)
        monitor.add(solution.certificate.primal, solution.certificate.dual, solution)
        # where rounding ended a round the weights were too low
        change = _EASY if found.n_iter <= _FEW else _LOWER
        change = change if found.certificate.relative_gap <= share else _HIGHER
        weights = [
            min(max(change * w, _LEAST * first), first)
            for w, first in zip(weights, start.weights, strict=True)
        ]
        closer = 1.0 if monitor.nears else _CLOSER * closer
        share = max(min(closer * _SHARE * monitor.smallest, _MOST), _CLOSEST * tol)
    best: Solution = monitor.best
    return best.found_by(monitor.history.records, best.start)


class _Start(NamedTuple):
    """Where the last round ended, and the first weights."""

    last: TermStart
    weights: list[float]


class Centred(Structure):
    """A structure whose penalty has the squared distance from some L added."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"response"})

    def __init__(self, structure: Structure, centre: Array, weight: float) -> None:
        self.structure, self.centre, self.weight = structure, centre, weight

    def penalty(self, output_kernel: Array) -> float:
        """Return the sum of penalty and distance."""
        away = output_kernel - self.centre
        distance = self.weight / 2 * inner(away, away)
        return self.structure.penalty(output_kernel) + distance

    def conjugate(self, matrix: Array) -> float:
        """Return that of the sum."""
        return self.response(matrix).value

    def response(self, matrix: Array) -> Response:
        """Return that of the sum: the best L is the one `near` centre + S / weight."""
        centre, weight = self.centre, self.weight
        best, penalty, follow = self.structure.near(centre + matrix / weight, weight)
        away = best - centre
        value = inner(matrix, best) - penalty - weight / 2 * inner(away, away)
        return Response(value, best, Multiple(follow, 1 / weight))

    def update(self, matrix: Array, *, tol: float = 1e-6) -> Array:
        """Refuse: no solver of these rounds asks for it."""
        raise TypeError(
            "The best L near a centre, for given predictions, is not known."
        )


def _centred(structure: Any, matrices: Array, weights: list[float]) -> Any:
    """Return the structures, centred at their L_q where the conjugate has kinks."""
    terms = enumerate(zip(structure.structures, weights, strict=True))
    return StructureTerms(
        tuple(
            one
            if "response" in one.capabilities
            else Centred(one, matrices[q, ...], weight)
            for q, (one, weight) in terms
        )
    )


def _first(rounds: Rounds, prepared: Any, alpha: float) -> _Start:
    """Return the best L_q for the functions of independent outputs, and C for these.

    A weight is the largest eigenvalue of C'K_qC / 2, the gradient of R_q at L_q, over
    that of L_q / 2.
    """
    structure: Any = prepared.inside.structure
    unrelated = StructureTerms((Identity(),) * len(structure.structures))
    request = Request(alpha, _ROUGH, _STEPS)

    def fitted(given: StructureTerms) -> tuple[Array, list[Array]]:
        dual = rounds(prepared.under(given), request).start.dual
        grams = symmetric(prepared.inside.entries.gram(dual, dual))
        return dual, [grams[q, ...] for q in range(grams.shape[0])]

    _, moments = fitted(unrelated)
    pairs = zip(structure.structures, moments, strict=True)
    kernels = [one.update(moment) for one, moment in pairs]
    dual, grams = fitted(StructureTerms(tuple(Fixed(L) for L in kernels)))
    weights = [
        (_largest(gram) or 1.0) / (_largest(L) or 1.0)
        for gram, L in zip(grams, kernels, strict=True)
    ]
    return _Start(TermStart(dual, namespace(dual).stack(kernels)), weights)


def _largest(matrix: Array) -> float:
    return float(eigh(matrix)[0][-1])
