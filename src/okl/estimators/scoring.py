"""What a search asks of its scorer before it starts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

import okl.metrics

_OF_NUMBERS = (
    "r2_scorer",
    "neg_mean_squared_error_scorer",
    "neg_mean_absolute_error_scorer",
)
_OF_LABELS = ("accuracy_scorer", "roc_auc_scorer", "neg_log_loss_scorer")


def check_scorer(estimator: Any, scorer: Any, y: np.ndarray) -> None:
    """Refuse a scorer that can score no fold.

    Parameters
    ----------
    estimator : estimator
        The search; its ``scoring`` is what was given.
    scorer : callable
        What `sklearn.metrics.check_scoring` made of it.
    y : array (n_samples,) or (n_samples, n_outputs)
        The targets, or labels, that it will be given.

    Raises
    ------
    ValueError
        If there are several scores; if the scorer needs probabilities that the loss
        does not have; if it is one of probabilities, and there are two label columns;
        or if it is one of scikit-learn's, and targets are missing, of which these take
        none, or of a kind that it is not for.
    """
    given = estimator.scoring
    if isinstance(given, list | tuple | set | dict):
        raise ValueError(f"scoring must be one score, got {given!r}.")
    response = getattr(scorer, "_response_method", None)
    if isinstance(response, str):
        try:
            getattr(estimator, response)
        except AttributeError as error:
            if not is_classifier(estimator):
                raise _unfit(estimator, f"it needs {response}", y) from error
            raise ValueError(f"scoring={given!r} needs {response}: {error}") from error
    if y.ndim == 2 and y.shape[1] == 2 and response == "predict_proba":
        why = (
            "scikit-learn treats two label columns as two classes, and scores the "
            "second only"
        )
        raise _unfit(estimator, why, y)
    score = getattr(scorer, "_score_func", None)
    if not getattr(score, "__module__", "").startswith("sklearn."):
        return
    n_missing = int(np.isnan(y).sum()) if y.dtype.kind == "f" else 0
    if n_missing:
        known: tuple[str, ...] = _OF_LABELS if is_classifier(estimator) else _OF_NUMBERS
        if y.ndim == 2 and y.shape[1] == 2:
            known = tuple(name for name in known if name != "neg_log_loss_scorer")
        same = [n for n in known if _name(n) == getattr(score, "__name__", "")]
        names = " or ".join(f"okl.metrics.{name}" for name in same or known)
        raise ValueError(
            f"scoring={given!r} is a score of scikit-learn, which does not support "
            f"missing targets, and {n_missing} entries of y are NaN. Leave "
            f"scoring=None, or use a score of the observed targets: scoring={names}."
        )
    _check_kind(estimator, scorer, y)


def _check_kind(estimator: Any, scorer: Any, y: np.ndarray) -> None:
    """Refuse a score of scikit-learn that takes no such targets.

    It is tried on the targets, with predictions made of them: the same labels, likely
    probabilities, or numbers near to them.
    """
    if not is_classifier(estimator):
        predicted = y + 0.25
    elif scorer._response_method == "predict":
        predicted = y
    else:
        predicted = _probabilities(y)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", ".*do not sum to one")
            scorer._score_func(y, predicted, **scorer._kwargs)
    except (ValueError, TypeError, UserWarning) as error:
        raise _unfit(estimator, str(error), y) from error


def _probabilities(y: np.ndarray) -> np.ndarray:
    """Return probabilities in which classes, or labels, are likely and not sure."""
    if y.ndim == 2:
        return 0.25 + 0.5 * y
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) == 2:
        return 0.25 + 0.5 * numbers
    found = np.eye(len(classes))[numbers]
    return (found + 1.0 / len(classes)) / 2.0


def _unfit(estimator: Any, why: str, y: np.ndarray) -> ValueError:
    """Return the error of a score that is not for such targets, which says what is."""
    labels = is_classifier(estimator)
    fitting = "'accuracy', 'balanced_accuracy' or 'neg_log_loss'"
    if not labels:
        fitting = "'r2', 'neg_mean_squared_error' or 'neg_mean_absolute_error'"
    elif y.ndim > 1:
        fitting = "'accuracy', 'f1_macro', 'roc_auc'"
        fitting += " or okl.metrics.neg_log_loss_scorer" * (y.shape[1] != 2)
    kind = "numbers"
    if labels:  # of labels with NaN scikit-learn does not say it
        kind = "multilabel-indicator" if y.ndim > 1 else type_of_target(y)
    return ValueError(
        f"scoring={estimator.scoring!r} does not fit targets that are {kind} ({why}). "
        f"Leave scoring=None, or take one that does, such as {fitting}."
    )


def _name(scorer: str) -> str:
    """Return the name of the function that one of our scorers is made of."""
    return getattr(okl.metrics, scorer)._score_func.__name__
