"""The kernels of a search: those to try, and the data that one is learned from."""

from __future__ import annotations

from typing import Any, NamedTuple

from scipy.sparse import issparse
from sklearn.base import is_classifier

from okl.estimators.search.candidates import candidates, to_learn
from okl.estimators.search.kernel_learning import KernelLearning, NothingToLearnError
from okl.estimators.search.to_be_learned import is_auto
from okl.estimators.targets import TrainingTargets
from okl.estimators.training import check_rows
from okl.kernels import Constant, Kernel, Learnable


class KernelsToTry(NamedTuple):
    """The kernels of a search.

    Attributes
    ----------
    candidates : list of Kernel, PerOutput or "precomputed"
        Resolved; `Learnable` stands for one that is learned.
    learning : KernelLearning or None
        What those are learned from.
    unlearned : str or None
        Why none is, though one was asked for. Sparse rows have a list of their own if
        the user names no kernel.
    """

    candidates: list[Any]
    learning: KernelLearning | None
    unlearned: str | None

    @classmethod
    def of(
        cls, model: Any, X: Any, targets: TrainingTargets, budget: float
    ) -> KernelsToTry:
        """Return the kernels that the parameters of an estimator ask for.

        Raises
        ------
        ValueError, TypeError
            If a kernel does not fit the columns of X.
        """
        check_rows(X)
        given = model.kernel, model.kernels
        learning = unlearned = None
        asked = to_learn(*given)
        own = [one for one in asked if not is_auto(one)]
        if asked:
            try:
                learning = KernelLearning.of(
                    X,
                    targets,
                    classes=is_classifier(model),
                    fit_intercept=model._free_intercept,
                    constant=model._constant,
                    random_state=model.random_state,
                    budget=budget,
                    named=[o.kernel for o in own if isinstance(o.kernel, Kernel)],
                )
            except NothingToLearnError as error:
                # what no other kernel can stand for
                needed = repr(own[0]) if own else None
                if isinstance(model.kernel, list | tuple):
                    needed = f"'auto', or a Learnable, in kernel={model.kernel!r}"
                if needed is not None:
                    raise ValueError(
                        f"{needed} cannot be learned here: {error}. Name a kernel "
                        "instead."
                    ) from error
                if not issparse(X) or model.kernels is not None:
                    unlearned = str(error)
        names = getattr(model, "feature_names_in_", None)
        learns, weights = learning is not None, targets.row_weights
        found = candidates(*given, X, weights, names, learns=learns)
        if model._constant is not None:
            constant = Constant(model._constant)
            found = [
                one
                if isinstance(one, Learnable)
                else one.centered(X, weights) + constant
                for one in found
            ]
        return cls(found, learning, unlearned)
