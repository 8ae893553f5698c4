"""The estimator to fit to resamples, with the hyperparameters that were chosen.

A search for every resample would be slow, and its choices would add to the variation.
Hyperparameters are therefore held. A fitted search is replaced by the estimator that it
chose, an estimator that chooses by cross-validation by the one for a single fit, and a
pipeline by its last step, on rows that its fitted first steps have transformed.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from okl.estimators import (
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from okl.estimators.shared_intercepts import of_single_fit
from okl.estimators.terms import kernel_and_structure
from okl.structures import Structure

_SINGLE = OutputKernelRegressor, OutputKernelClassifier
_CHOOSING = OutputKernelRegressorCV, OutputKernelClassifierCV


def with_hyperparameters_held(estimator: Any, X: Any) -> tuple[BaseEstimator, Any]:
    """Return an estimator to fit, with one alpha, and the rows to fit it to.

    Parameters
    ----------
    estimator : estimator
        A regressor or classifier of the library, fitted if it chooses hyperparameters;
        a fitted search over one; or a fitted pipeline that ends in one.
    X : array-like
        Rows as ``estimator`` takes them.

    Raises
    ------
    TypeError
        For another estimator.
    NotFittedError
        If an estimator that chooses hyperparameters was not fitted.
    """
    if isinstance(estimator, Pipeline):
        check_is_fitted(estimator)
        rows = estimator[:-1].transform(X) if len(estimator) > 1 else X
        return with_hyperparameters_held(estimator[-1], rows)
    if hasattr(estimator, "best_estimator_"):
        return with_hyperparameters_held(estimator.best_estimator_, X)
    if isinstance(estimator, _CHOOSING):
        return _as_chosen(estimator), X
    if isinstance(estimator, _SINGLE):
        return clone(estimator), X
    # an unfitted search has its own error
    if hasattr(estimator, "estimator"):
        check_is_fitted(estimator)
    raise TypeError(
        "estimator must be an OutputKernelRegressor, OutputKernelClassifier or one of "
        "their ...CV, a fitted search over one, or a fitted pipeline that ends in one; "
        f"got {type(estimator).__name__}. For a search with refit=False, or another "
        "wrapper, pass the estimator inside it, and rows and targets as that estimator "
        "receives them."
    )


def _as_chosen(search: Any) -> BaseEstimator:
    """Return the single fit with the kernel, structure and alpha that were chosen."""
    check_is_fitted(search)
    kind = OutputKernelClassifier if is_classifier(search) else OutputKernelRegressor
    model = kind(clone(search.kernel_, safe=False), clone(search.structure_))
    model.alpha, model.loss = search.alpha_, clone(search.loss_)
    shared = set(model.get_params(deep=False)) & set(search.get_params(deep=False))
    shared -= {"kernel", "structure", "alpha", "loss"}
    given = search.get_params(deep=False)
    given["fit_intercept"] = of_single_fit(search)
    for name in ("temperature", "shift"):  # a word asked for what was found
        found = getattr(search, f"{name}_", None)
        if found is not None:
            given[name] = found
        elif isinstance(given.get(name), str):
            shared.discard(name)
    return model.set_params(**{name: given[name] for name in sorted(shared)})


def check_learned(model: Any) -> None:
    """Raise ValueError if no output kernel of a model depends on the targets."""
    structure: Structure = kernel_and_structure(model.kernel, model.structure)[1]
    if "known" in structure.capabilities:
        raise ValueError(
            f"{structure} fixes the output kernel before the fit, so that its "
            "relations do not depend on the rows; use a structure that learns them, "
            'such as "frobenius".'
        )
