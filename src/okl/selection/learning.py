"""Learn hyperparameters: minimise a criterion over their coordinates, by its gradient.

Coordinates are the logarithms of positive hyperparameters, and the values of others.

A criterion says how good a kernel, alpha and a given output kernel are, and gives the
weights that each of them contracts with its own derivatives (`Kernel.gradient`,
`Structure.gradient`). An evaluation so costs the same for one parameter as for a width
per feature, and a quasi-Newton method (L-BFGS-B) needs some tens of them. Where an
output kernel is learned whose derivative is not followed, differences of the criterion
take its place, two evaluations for each parameter, of which there may be few. Priors
are densities of the coordinates: what is minimised is the criterion minus their
logarithm, which also pins down directions that a criterion does not see, such as the
common scale of a kernel and alpha.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from okl.kernels import Kernel, PerOutput
from okl.numerics.memory import keep_freed_memory, require_memory
from okl.parameters import Hyperparameter, HyperparameterSpace, LogNormal
from okl.problems import Observed
from okl.selection.criteria import Criterion
from okl.selection.criteria.base import Value
from okl.selection.descent import Descent, Record, Watch
from okl.selection.model import Model
from okl.selection.objective import Objective
from okl.selection.space_checks import check_objective, check_space
from okl.structures import Structure

# Standard deviation of log alpha, and how many of them its bounds are away; and of what
# those of outputs differ by.
_ALPHA_STD, _REACH, _OWN_STD = 3.0, 4.0, 1.0
# Arrays of the size of K: those of a criterion, and of each kernel of a combination.
_OF_CRITERION, _OF_KERNEL = 6, 2


@dataclass(frozen=True)
class Learned:
    """Hyperparameters at the end of a search.

    Attributes
    ----------
    kernel : Kernel or PerOutput, or list
    structure : Structure, or list
    alpha : float or array (n_outputs,)
        New objects with the values found.
    parameters : dict
        Those values by name, as ``set_params`` of an estimator takes them.
    value : float
        The criterion there, without the priors, evaluated without warm starts.
    objective : float
        What was minimised, there: the value, minus the log density of the priors if
        they count.
    largest_gap : float
        Of that evaluation; see `Evaluation`.
    trace : list of dict
        For the start and each iteration ``value`` (what is minimised), ``criterion``
        (without the priors), ``gradient_norm`` (the largest entry of the gradient
        that does not lead out of the bounds), ``seconds``, ``evaluations`` and
        ``products`` so far.
    success : bool
        Whether the search ended by itself.
    message : str
        Why it ended, and where it did not by itself what to do.
    """

    kernel: Any
    structure: Any
    alpha: Any
    parameters: dict[str, Any]
    value: float
    objective: float
    largest_gap: float
    trace: list[Record]
    success: bool
    message: str


def learn(
    X: Any,
    observed: Observed,
    kernel: Kernel | PerOutput | Sequence[Any],
    structure: Structure | Sequence[Structure],
    alpha: Any,
    criterion: Criterion,
    *,
    fit_intercept: bool,
    parameters: Mapping[str, Any] | Iterable[str] | None = None,
    priors: bool = True,
    row_weights: np.ndarray | None = None,
    max_iter: int = 100,
    max_time: float | None = None,
    watch: Watch | None = None,
    rng: np.random.Generator | None = None,
    budget: float = float("inf"),
    all_matter: bool = True,
    near: bool = False,
    columns: Sequence[str] | None = None,
) -> Learned:
    """Minimise a criterion over the coordinates of hyperparameters.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        The training rows.
    observed : Observed
        Their targets, normalised; the ones that the criterion holds.
    kernel : Kernel or PerOutput, or list
        Resolved, at the values that the search starts from.
    structure : Structure, or list
        Valid for the outputs; one for each kernel of a list.
    alpha : float or array (n_outputs,)
        Where the search starts; one for each output is learned as such.
    criterion : Criterion
        What is minimised. The evaluations start where those before ended.
    fit_intercept : bool
        Whether the kernel is evaluated around the means of the rows.
    parameters : mapping or iterable of str, optional
        Which are learned and how, as in `HyperparameterSpace`: ``alpha``, those of the
        kernel by names as ``kernel__gamma``, and ``structure__gamma`` of a structure
        that relates outputs. None for all.
    priors : bool, default=True
        Whether the priors count.
    row_weights : array (n_samples,), optional
        How much each row counts for priors and means.
    max_iter : int, default=100
        Most iterations.
    max_time : float, optional
        Seconds after which no evaluation is begun, but for a last one by fits.
    watch : callable, optional
        ``watch(iteration, record)`` is called with each record of the trace.
    rng : Generator, optional
        If given, the search starts at a draw from the priors by it instead.
    budget : float, default=infinity
        The bytes that arrays of the size of the kernel matrix may take.
    all_matter : bool, default=True
        Whether each parameter has to have influence where the search starts. Priors
        move one that has none there.
    near : bool, default=False
        Whether the search starts near its end, and the first step is to be short.
    columns : sequence of str, optional
        The names of the columns of X, for messages.

    Returns
    -------
    Learned

    Raises
    ------
    ValueError
        If nothing can be learned, a parameter that has to has no influence (as the
        width of a constant column), or ``parameters`` does not fit; bounds are no valid
        parameters of the structure; or the gradient would take differences in too many
        parameters.
    MemoryError
        If the kernel matrix and its derivatives cannot fit.
    numpy.linalg.LinAlgError
        If the criterion cannot be evaluated where the search starts.
    """
    start = perf_counter()
    n_samples = X.shape[0]
    model = Model(kernel, structure, alpha)
    if fit_intercept:
        model = model.centered(X, row_weights)
    space = HyperparameterSpace(
        _hyperparameters(model, X, observed, row_weights), parameters
    )
    objective = Objective(X, model, criterion, space, priors)
    if objective.forms_matrices:
        order = criterion.order(model.judged_structure, n_samples)
        _require_memory(model, n_samples, order, budget)
        keep_freed_memory(_OF_CRITERION * 8 * order**2)
    if all_matter:
        check_space(space, model, X, observed.n_outputs, columns)
    check_objective(objective, observed.n_outputs)
    first = space.start if rng is None else space.draw(rng)
    descent = Descent(objective, first, start, max_time, watch)
    success, message = descent.run(max_iter, near=near)
    theta = descent.best.theta
    best, last = objective.at(theta), Value(descent.best.criterion, 0.0)
    if criterion.by_fits:  # which started from those before
        last = objective.value(best, cold=True)
    log_prior = space.log_prior(theta)[0] if priors else 0.0
    return Learned(
        best.kernel,
        best.structure,
        best.alpha,
        parameters=space.unpack(theta),
        value=last.value,
        objective=last.value - log_prior,
        largest_gap=last.largest_gap,
        trace=descent.trace,
        success=success,
        message=message,
    )


def _hyperparameters(
    model: Model, X: Any, observed: Observed, weights: np.ndarray | None
) -> list[Hyperparameter]:
    """Return all that can be learned."""
    found = model.hyperparameters(X, np.zeros((1, observed.n_outputs)), weights)
    # alpha is added to the eigenvalues of K: its prior is around the mean diagonal of K
    alpha = model.alpha
    sizes = [np.average(one.diagonal(X), weights=weights) for one in model.kernels]
    centre = float(np.mean(sizes)) or 1.0
    reach = float(np.exp(_REACH * _ALPHA_STD))
    bounds = (
        min(centre / reach, np.min(alpha) / 2),
        max(centre * reach, np.max(alpha) * 2),
    )
    prior = LogNormal(np.log(centre), _ALPHA_STD)
    if np.ndim(alpha):
        prior = LogNormal(np.log(centre), _OWN_STD, shared_std=_ALPHA_STD)
    return [*found, Hyperparameter("alpha", alpha, bounds, prior)]


def n_arrays(kernels: Iterable[Kernel]) -> int:
    """Return how many arrays of the size of K learning these kernels holds."""
    return _OF_CRITERION + _OF_KERNEL * sum(map(n_parts, kernels))


def n_parts(kernel: Kernel) -> int:
    """Return of how many kernels one is made, itself counted."""
    parts = (kernel, *kernel.get_params(deep=True).values())
    return sum(isinstance(value, Kernel) for value in parts)


def _require_memory(model: Model, n_samples: int, order: int, budget: float) -> None:
    of_kernels = n_arrays(model.kernels) - _OF_CRITERION
    needed = 8 * (of_kernels * n_samples**2 + _OF_CRITERION * order**2)

    def purpose() -> str:
        return f"Learning the hyperparameters of {model.kernel} on {n_samples} rows"

    remedy = "Learn them on fewer rows, or choose among a few kernels instead."
    if needed > budget:
        raise MemoryError(
            f"{purpose()} needs about {needed / 2**20:.3g} MiB, more than max_memory "
            f"({budget / 2**20:.3g} MiB). Raise it. {remedy}"
        )
    require_memory(needed, purpose, remedy)
