"""The certificate of a fitted estimator, computed again from its data."""

from __future__ import annotations

from copy import copy
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from okl.certificates import Certificate
from okl.certificates.certification import certify as certify_arrays
from okl.certificates.certification import judge, output_kernel_of
from okl.certificates.entries import EntryMatrix, OneEntryPerRow
from okl.certificates.matrices import MatrixPerOutput, MatrixTerms, positive_gram
from okl.certificates.terms import EntryTerms, StructureTerms
from okl.coding.tasks import Tasks
from okl.estimators.base import OutputKernelModel
from okl.estimators.extension import OutputKernelExtension
from okl.estimators.extension_certificates import certify_extension
from okl.estimators.rows import same_rows
from okl.estimators.units import Units
from okl.kernels import KernelTerms, PerOutput
from okl.numerics.arrays import symmetric
from okl.numerics.validation import LARGEST_WITH_SQUARE, check_magnitude
from okl.output_kernels import OutputKernelTerms, SpectralKernel, TermCoefficients
from okl.problems import Observed, OutputAlphas


@wraps(certify_arrays)
def certify(*args: Any, **kwargs: Any) -> Certificate:
    """Certify a fitted estimator, or arrays."""
    models = OutputKernelModel | OutputKernelExtension
    is_model = isinstance(args[0], models) if args else "model" in kwargs
    if args and not is_model and hasattr(args[0], "fit"):
        raise TypeError(
            f"certify takes a fitted estimator of okl, got {type(args[0]).__name__}. "
            "For a search pass its best_estimator_; for a pipeline pass its last step, "
            "and the rows as the steps before it transform them."
        )
    return (certify_model if is_model else certify_arrays)(*args, **kwargs)


def certify_model(
    model: OutputKernelModel | OutputKernelExtension,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    task: Any = None,
) -> Certificate:
    """Compute primal, dual and gap of a fitted estimator: ``okl.certify(model, X, y)``.

    The kernel is evaluated on the training rows, targets are coded as the loss wants
    them, and the loss is that of the scores that `predict` evaluates on these rows. The
    lower bound needs no solver. The result therefore says of any model, however it was
    found, loaded or changed, how far it is from the optimum of its own objective.
    Nothing is decomposed but one kernel matrix, to see that it is positive
    semi-definite; in long form the target matrix is formed. Parameters that were set
    after the fit, such as an ``alpha`` for the next one, are ignored.

    Parameters
    ----------
    model : estimator
        An `OutputKernelRegressor` or `OutputKernelClassifier`, one that chose its
        ``alpha_`` by cross-validation, a model of a path, a `KernelAutoencoder`, or an
        `OutputKernelExtension`: of its new outputs, with the fit kept as it is.
    X, y, sample_weight, task
        What ``fit`` was given; y is None for a `KernelAutoencoder`.

    Returns
    -------
    Certificate
        With the tolerance of the model.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If X are not the rows, or y not the classes or tasks, of the fit.
    """
    if isinstance(model, OutputKernelExtension):
        return certify_extension(model, X, y, sample_weight)
    check_is_fitted(model)
    model = model._as_fitted()
    loss = model.loss_
    # the checks set attributes: let these be of a copy
    seen = copy(model)
    X, checked, targets = seen._enter(X, y, loss, sample_weight, task)
    del checked  # may be a copy of y, which nothing needs
    observed = targets.observed
    _check_same(model, seen, X, observed.n_outputs)
    alphas = OutputAlphas.of(model._alpha_of_fit, observed)
    observed = alphas.weighted(observed)
    Y, weights, dual_point = _matrices(observed, getattr(model, "dual_point_", None))
    units = targets.units
    intercept = np.zeros(Y.shape[1])
    if model._free_intercept:
        intercept = units.scores(np.reshape(model.intercept_, (1, -1)))[0]
    several = isinstance(model._function.kernel, KernelTerms)
    given = _of_several(model, X, Y, units) if several else _of_one(model, X, Y, units)
    given["entries"] = _entries(several, given.pop("operator"), observed.tasks)
    if targets.candidates is not None:
        Y, _ = loss.expected(targets.candidates, given["scores"], weights)
    certificate = judge(
        targets=Y,
        products=given.pop("scores") - intercept,
        alpha=alphas.overall,
        loss=loss,
        weights=weights,
        intercept=intercept,
        free_intercept=model._free_intercept,
        dual_point=dual_point,
        tol=model.tol,
        **given,
    )
    if targets.candidates is None:
        return certificate
    return certificate.of_expected_targets(model.tol)


def _matrices(
    observed: Observed, dual_point: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return targets, weights and dual point, in long form with zeros elsewhere."""
    tasks, Y, weights = observed.tasks, observed.targets, observed.weights
    point = None if dual_point is None else np.reshape(dual_point, (len(Y), -1))
    if tasks is None:
        return Y, weights, point
    weights = tasks.scatter(np.ones_like(Y) if weights is None else weights)
    return tasks.scatter(Y), weights, None if point is None else tasks.scatter(point)


def _of_one(
    model: OutputKernelModel, X: Any, Y: np.ndarray, units: Units
) -> dict[str, Any]:
    """Return what `judge` asks of a model of one kernel, or one for each output."""
    structure = model.structure_
    matrix = factor = None
    if "known" not in structure.capabilities:
        if "rotation_invariant" in structure.capabilities:
            factor = model.output_kernel_factor_ / units.scale[:, None]
        else:
            matrix = model.output_kernel_ / _products(units)
    return {
        "operator": _operator(model, X),
        "dual_coef": model.dual_coef_.reshape(Y.shape) / units.scale,
        "output_kernel": output_kernel_of(matrix, factor, Y, structure),
        "structure": structure,
        "scores": units.scores(model._function(X).reshape(Y.shape)),
    }


def _of_several(
    model: OutputKernelModel, X: Any, Y: np.ndarray, units: Units
) -> dict[str, Any]:
    """Return what `judge` asks of a model of several kernels.

    The scores are those of `predict`, with the own terms of training rows.
    """
    free, scales = model._free_intercept, _products(units)
    kernels: Any = model.kernel_
    matrices = [positive_gram(one(X), centered=free)[1] for one in kernels]
    parts = [part.reshape(Y.shape) / units.scale for part in model.dual_coef_]
    found = [SpectralKernel.from_matrix(L / scales) for L in model.output_kernels_]
    scores = model._function.of_training_rows(X, slice(None))
    return {
        "operator": MatrixTerms(matrices),
        "dual_coef": TermCoefficients(tuple(parts)),
        "output_kernel": OutputKernelTerms(tuple(found)),
        "structure": StructureTerms(tuple(model.structure_)),
        "scores": units.scores(scores),
    }


def _products(units: Units) -> np.ndarray:
    """Return the products of the scales of all pairs of outputs."""
    what, remedy = "y has a standard deviation up to", "Rescale the targets."
    check_magnitude(units.scale, what, remedy, largest_size=LARGEST_WITH_SQUARE)
    return np.outer(units.scale, units.scale)


def _entries(several: bool, operator: Any, tasks: Tasks | None) -> EntryMatrix:
    """Return how the arrays are arranged: in long form each row has one entry."""
    if several:
        return EntryTerms(operator)
    return EntryMatrix(operator) if tasks is None else OneEntryPerRow(operator, tasks)


def _operator(model: OutputKernelModel, X: Any) -> Any:
    """Return what multiplies by the kernel matrix of rows, centred with an intercept.

    It is not made of the operators that solvers work with, to be independent of them.
    """
    kernel, free = model.kernel_, model._free_intercept
    if isinstance(kernel, PerOutput):
        matrices = [positive_gram(one(X), centered=free)[1] for one in kernel.kernels]
        return MatrixPerOutput(matrices)
    features = None if isinstance(kernel, str) else kernel.features(X)
    if features is not None:
        means = np.asarray(features.mean(axis=0)).ravel()
        return _OfFeatures(features, means if free else 0.0 * means)
    if isinstance(kernel, str):
        check_magnitude(X, "The kernel matrix has entries up to", "Scale the kernel.")
    K = symmetric(X) if isinstance(kernel, str) else kernel(X)
    return positive_gram(K, centered=free)[1]


class _OfFeatures(NamedTuple):
    """(Phi - 1 mu') (Phi - 1 mu')'."""

    features: Any
    means: np.ndarray

    def __matmul__(self, right: np.ndarray) -> np.ndarray:
        inside = self.features.T @ right - np.outer(self.means, right.sum(axis=0))
        return self.features @ inside - self.means @ inside


def _check_same(
    model: OutputKernelModel, seen: OutputKernelModel, X: Any, n_outputs: int
) -> None:
    """Raise ValueError if data are not those of the fit."""
    rows = model.X_fit_
    same = X.shape[0] == model._theta.shape[0]
    if same and rows is not None:
        same = same_rows(X, rows)
    if not same:
        raise ValueError(
            "certify needs the rows that the model was fitted to, in their order; got "
            f"{X.shape[0]} rows that differ from those."
        )
    for name in ("classes_", "output_names_"):
        was, now = getattr(model, name, None), getattr(seen, name, None)
        if was is not None and now is not None and not np.array_equal(was, now):
            raise ValueError(
                f"certify needs the targets of the fit: {name} was {was} in the fit, "
                f"and is {now} for the targets passed."
            )
    fitted = int(np.prod(model._theta.shape[1:]))
    if n_outputs != fitted:
        raise ValueError(
            f"certify needs the targets of the fit, which had {fitted} outputs; got "
            f"targets with {n_outputs}."
        )
