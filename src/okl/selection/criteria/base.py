"""What a criterion is: a number that tells how good a kernel is, and its derivatives.

A criterion is a function J of the kernel matrix K, of alpha and of the output kernel L.
A search over hyperparameters needs its derivatives with respect to all of them. Instead
of one product for each hyperparameter a criterion returns weights of the entries of K,
a matrix G with

    dJ = tr(G dK),

which a kernel contracts with its own derivatives (`Kernel.gradient`). They are computed
once, at about the cost of J itself, however many hyperparameters there are. Several
kernels, each with an output kernel of its own, have a G each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from okl.operators import Operator
from okl.problems import Observed
from okl.structures import Structure


class Value(NamedTuple):
    """The value of a criterion without derivatives; the fields are of `Evaluation`."""

    value: float
    largest_gap: float


@dataclass(frozen=True)
class TermDerivative:
    """The derivatives of a criterion by a kernel matrix, and by what gives its L.

    Attributes
    ----------
    left : array (n_samples, p), or (n_samples, n_samples)
        With ``right`` the derivative along a change of K is sum_q left_q' dK right_q;
        without it ``left`` is G itself, symmetric.
    right : array (n_samples, p) or None
        With a kernel for each output the columns stand in blocks of n_outputs, in each
        of which column j goes with K_j.
    of_structure : dict
        The derivatives by the logs of the parameters of a structure whose L is given,
        as `Structure.gradient` has them; of one kernel only where L couples outputs.
    """

    left: np.ndarray
    right: np.ndarray | None
    of_structure: dict[str, Any] = field(default_factory=dict)

    def weights(self) -> np.ndarray:
        """Return the weights of the entries of K (n_samples, n_samples)."""
        return self.left if self.right is None else self.left @ self.right.T

    def along(self, change: np.ndarray) -> float:
        """Return the derivative along a symmetric change of K."""
        return float(np.vdot(self.weights(), change))


@dataclass(frozen=True)
class Evaluation:
    """The value of a criterion, to be minimised, and its derivatives.

    Attributes
    ----------
    value : float
        J.
    terms : tuple of TermDerivative
        One for each kernel that has an L of its own, so most often one.
    log_alpha : float, or array (n_outputs,)
        The derivative with respect to log alpha; one for each alpha that was given.
    largest_gap : float
        The largest relative gap among fits that did not end at their tolerance; 0 where
        all did, or nothing was fitted.
    """

    value: float
    terms: tuple[TermDerivative, ...]
    log_alpha: float | np.ndarray
    largest_gap: float = 0.0

    @property
    def term(self) -> TermDerivative:
        """The derivatives by the only kernel."""
        (only,) = self.terms
        return only


class Criterion(ABC):
    """Base of the criteria: they hold targets, and judge kernels.

    Attributes
    ----------
    by_fits : bool
        Whether a value takes fits, which multiply by K, and do so many times at an
        extreme alpha or kernel. Otherwise K is decomposed as an array, and all values
        take equally long.
    """

    by_fits: ClassVar[bool] = False

    @abstractmethod
    def evaluate(
        self,
        operator: Operator,
        alpha: Any,
        structure: Structure,
        *,
        of_kernel: bool = True,
    ) -> Evaluation:
        """Return the value at a kernel, with its derivatives.

        Parameters
        ----------
        operator : Operator
            K of all rows, centred or not; it is left as it is.
        alpha : float, or array (n_outputs,)
            One for all outputs, or one for each.
        structure : Structure
        of_kernel : bool, default=True
            Whether the derivative in K is asked for. Without it there may be zeros.
        """

    def order(self, structure: Structure, n_samples: int) -> int:
        """Return the number of rows of the matrices that an evaluation forms."""
        return n_samples

    def groups_of_rows(self, structure: Structure) -> list[np.ndarray] | None:
        """Return groups of rows, if entries of K between two groups do not matter.

        None if all entries may matter with a structure. The numbers of each group are
        sorted.
        """
        return None

    def differentiates(self, structure: Structure) -> bool:
        """Tell whether there are derivatives with a structure, not just `value`."""
        return True

    def value(self, operator: Operator, alpha: Any, structure: Structure) -> Value:
        """Return the value at a kernel alone, with any structure that can be judged.

        Parameters
        ----------
        operator, alpha, structure
            As in `evaluate`.
        """
        found = self.evaluate(operator, alpha, structure, of_kernel=False)
        return Value(found.value, found.largest_gap)

    def cold(self) -> Criterion:
        """Return the same criterion, without what it keeps of evaluations before."""
        return self


def check_criteria_are_for(observed: Observed) -> None:
    """Raise ValueError for targets of which no criterion can judge a fit."""
    loss = observed.loss
    if "smooth" in loss.capabilities:
        return
    advice = (
        "Use loss='softmax' or 'logistic'."
        if "classification" in loss.capabilities
        else "Learn with loss='squared' or 'huber', and fit with the kernel_ that was "
        "learned."
    )
    raise ValueError(f"Criteria need a smooth loss, got {loss}. {advice}")
