"""A regularisation path of regressors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from okl.certificates import Certificate
from okl.estimators.agreement import Agreement, certified_function
from okl.estimators.base import warn_unless_certified
from okl.estimators.column_scales import warn_of_column_scales
from okl.estimators.known_classes import structures_for
from okl.estimators.regressor import OutputKernelRegressor
from okl.estimators.targets import TrainingTargets
from okl.estimators.training import Training
from okl.problems import Formulation
from okl.selection.path import alpha_grid, check_alphas
from okl.solvers import Solution, solve_path


@dataclass(frozen=True, eq=False)
class OutputKernelPath(Sequence[OutputKernelRegressor]):
    """Models at decreasing alphas; indexing builds the fitted regressor.

    The models are kept in the reduced outputs: at most ``n_samples x
    min(n_samples, n_outputs)`` numbers each, whatever the number of outputs.

    Attributes
    ----------
    alphas : array (n_alphas,)
        Decreasing.
    certificates : list of Certificate
        One per alpha.
    """

    alphas: np.ndarray
    certificates: list[Certificate] = field(repr=False)
    _estimator: OutputKernelRegressor = field(repr=False)
    _training: Training = field(repr=False)
    _formulation: Formulation = field(repr=False)
    _solutions: list[Solution] = field(repr=False)
    _targets: TrainingTargets = field(repr=False)

    def __len__(self) -> int:
        return len(self._solutions)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        model = clone(self._estimator)
        vars(model).update(
            {
                name: value
                for name, value in vars(self._estimator).items()
                if name.endswith("_")
            }
        )
        model.set_params(alpha=float(self.alphas[index]))
        model._adopt(
            self._training,
            self._formulation,
            self._solutions[index],
            alpha=model.alpha,
            targets=self._targets,
        )
        return model


def output_kernel_path(
    X: Any,
    Y: Any,
    *,
    sample_weight: Any = None,
    task: Any = None,
    kernel: Any = "rbf",
    structure: Any = "frobenius",
    alphas: int | Sequence[float] = 25,
    eps: float = 1e-5,
    fit_intercept: bool = True,
    normalize_y: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    max_memory: float | None = None,
) -> OutputKernelPath:
    """Fit `OutputKernelRegressor` along a path of alphas.

    One eigendecomposition of the kernel matrix serves all alphas; where the solver can
    use it, a fit starts from the one before, at the next larger alpha.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame (n_samples, n_features)
        Training rows; the kernel matrix for ``kernel="precomputed"``.
    Y : array or DataFrame (n_samples, n_outputs) or (n_samples,)
        Targets; NaN where they were not observed.
    sample_weight : array (n_samples,) or (n_samples, n_outputs), optional
        Weights of the loss of the rows, or of each target.
    task : array (n_samples,), optional
        For data in long form, the task of each row, as in `OutputKernelRegressor.fit`.
    kernel, structure, fit_intercept, normalize_y, tol, max_iter, max_memory
        As in `OutputKernelRegressor`.
    alphas : int or sequence of float, default=25
        The values, or how many, evenly spaced on a log scale from alpha_max down
        to ``eps`` times alpha_max: sqrt(||Y'KY||_2) for a learned output kernel,
        ||K||_2 times the largest ||L||_2 that there may be for one that is known or
        bounded (trace ball, clusters), Y normalised, and K and Y centred if there is an
        intercept.
    eps : float, default=1e-5
        The smallest alpha relative to the largest.

    Returns
    -------
    OutputKernelPath
        Its ``alphas`` (decreasing) and ``certificates``; ``path[i]`` is the fitted
        regressor at ``path.alphas[i]``.

    Raises
    ------
    ValueError
        As `OutputKernelRegressor.fit`, and for alphas or eps out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import output_kernel_path
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 4))
    >>> path = output_kernel_path(X, Y, structure="low_rank", alphas=5)
    >>> [model.rank_ for model in path][0]
    0
    """
    check_alphas(alphas, eps)
    estimator = OutputKernelRegressor(
        kernel,
        structure,
        fit_intercept=fit_intercept,
        normalize_y=normalize_y,
        tol=tol,
        max_iter=max_iter,
        max_memory=max_memory,
    )
    loss = estimator._checked_loss()
    X, checked, targets = estimator._enter(X, Y, loss, sample_weight, task)
    del checked  # may be a copy of Y, which nothing needs
    (resolved,) = structures_for(estimator, targets.observed)
    training, formulation, *_ = estimator._formulated(X, targets, resolved)
    warn_of_column_scales(estimator, training.kernel, X, targets.row_weights, depth=2)
    grid = alpha_grid(formulation.problem, alphas, eps)
    grid.flags.writeable = False  # models share it
    solutions = list(solve_path(formulation.problem, grid, tol=tol, max_iter=max_iter))
    # the certificates that the models would have, without building them
    certificates = [
        certified_function(
            training,
            Agreement(formulation, solution, float(alpha), tol, max_iter),
            targets,
        )[1]
        for alpha, solution in zip(grid, solutions, strict=True)
    ]
    warn_unless_certified(max(certificates, key=_by_failure), depth=2)
    return OutputKernelPath(
        grid, certificates, estimator, training, formulation, solutions, targets
    )


def _by_failure(certificate: Certificate) -> tuple[bool, float]:
    return certificate.failed, certificate.relative_gap
