"""Which metadata of fit reach the splitter and the scorer of a search."""

from __future__ import annotations

import warnings
from inspect import signature
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils.metadata_routing import get_routing_for_object, process_routing

from okl.estimators.base import FIT_DEPTH
from okl.estimators.targets import TrainingTargets
from okl.metrics.scorers import WEIGH_TARGETS


def routed(
    estimator: Any,
    params: dict[str, Any],
    scorer: Any,
    targets: TrainingTargets,
    ids: dict[str, np.ndarray],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the metadata of the splitter and of the scorer.

    What counts in the fit counts in the score: weights go to the default score, and
    to a scorer that asks for them or, without metadata routing, takes them. Those of
    classes, which are no data, go to the default score, and to a scorer that asks. The
    ids of tasks go to a splitter or scorer that asks for them.

    Parameters
    ----------
    estimator : CrossValidated
    params : dict
        What fit was given besides.
    scorer : callable
    targets : TrainingTargets
        With the weights of the scores. With metadata routing a scorer has to say
        whether it takes those that fit was given.
    ids : dict
        The tasks of the rows, under the name of the parameter; empty without.

    Raises
    ------
    ValueError
        For metadata that nothing takes.
    """
    of_scores = _weights(targets.score_weights, targets.class_weights)
    given = _weights(targets.score_weights)
    if not get_config()["enable_metadata_routing"]:
        _check_known(params)
        if estimator.cv is None and params.pop("groups", None) is not None:
            warnings.warn(
                "groups are ignored: without cv, rows are held out one by one, or in "
                "folds that do not use groups. Pass a splitter that does, such as "
                "cv=GroupKFold().",
                stacklevel=FIT_DEPTH + 2,
            )
        if estimator.scoring is None:
            return params, of_scores
        taken = given if _takes_weights(scorer) else {}
        return params, _for_scorer(taken, scorer)
    if estimator.scoring is None:
        return process_routing(
            estimator, "fit", **params, **ids
        ).splitter.split, of_scores
    if not (given or _asks_for_weights(scorer)):
        of_scores = {}
    of_scores = _for_scorer(of_scores, scorer)
    found = process_routing(estimator, "fit", **params, **ids, **of_scores)
    return found.splitter.split, found.scorer.score


def of_splitter(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of the splitter of a search that has no scorer.

    Raises
    ------
    ValueError
        For metadata that it does not take.
    """
    if get_config()["enable_metadata_routing"]:
        return process_routing(estimator, "fit", **params).splitter.split
    _check_known(params)
    return params


def _check_known(params: dict[str, Any]) -> None:
    unknown = sorted(set(params) - {"groups"})
    if unknown:
        raise ValueError(
            f"fit got unexpected metadata {unknown}; call "
            "sklearn.set_config(enable_metadata_routing=True) and request "
            "it from the splitter or the scorer."
        )


def _weights(*factors: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the product of weights as metadata, none where there are none."""
    there = [weights for weights in factors if weights is not None]
    return {"sample_weight": np.prod(there, axis=0)} if there else {}


def _for_scorer(metadata: dict[str, np.ndarray], scorer: Any) -> dict[str, np.ndarray]:
    """Return one weight a row: scikit-learn's scores know no others, as ours do."""
    if getattr(scorer, "_score_func", None) in WEIGH_TARGETS:
        return metadata
    return {name: w if w.ndim == 1 else w.mean(axis=1) for name, w in metadata.items()}


def _asks_for_weights(scorer: Any) -> bool:
    """Tell whether a scorer has requested weights, with metadata routing."""
    return bool(get_routing_for_object(scorer).consumes("score", ["sample_weight"]))


def _takes_weights(scorer: Any) -> bool:
    """Tell whether a scorer is made of a metric that takes weights."""
    metric = getattr(scorer, "_score_func", None)
    return metric is not None and "sample_weight" in signature(metric).parameters
