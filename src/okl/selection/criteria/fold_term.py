r"""A kernel of a fit to a fold with its L, and what it says of the held-out rows.

A model of several kernels is a sum of terms K_q C L_q with the same C. All that a
criterion needs of it are sums over terms, and a model of one kernel has one term.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from okl.numerics.arrays import is_numpy, symmetric
from okl.operators import Operator, OperatorTerms
from okl.output_kernels import OutputKernel
from okl.selection.criteria.base import TermDerivative
from okl.structures import Structure


def kernels_of(operator: Operator) -> tuple[Operator, ...]:
    """Return the kernel matrices that have an L each."""
    return operator.terms if isinstance(operator, OperatorTerms) else (operator,)


@dataclass(frozen=True)
class FoldTerm:
    """A kernel of a fit, and its L.

    Attributes
    ----------
    operator : Operator
        K on the training rows, centred if the intercept is free.
    means : array (n_train, 1) or (n_train, n_outputs), or None
        The means of the rows of K, or of that of each output; None without intercept.
    structure : Structure
    theta : array (n_train, n_outputs)
        C L.
    output_kernel : OutputKernel
        L.
    one_of_several : bool
        Whether there are other terms.
    """

    operator: Operator
    means: np.ndarray | None
    structure: Structure
    theta: np.ndarray
    output_kernel: OutputKernel
    one_of_several: bool = False

    @cached_property
    def known(self) -> bool:
        """Whether L was given."""
        return self.structure.known(self.theta) is not None

    @cached_property
    def fitted(self) -> np.ndarray:
        """K C L on the training rows."""
        return np.asarray(self.operator @ self.theta)

    def across(self, cross: Any, rows: np.ndarray) -> np.ndarray:
        """Return centred kernel values of other rows times rows (n_train, p)."""
        image = cross @ rows
        return image if self.means is None else image - (self.means * rows).sum(axis=0)

    def back(self, cross: Any, rows: np.ndarray) -> np.ndarray:
        """Return the transpose of these, from K_TH, times rows (n_test, p)."""
        image = np.asarray(cross @ rows)
        if self.means is None:
            return image
        return image - self.means * rows.sum(axis=0)


class FoldPart(NamedTuple):
    """What one term of one fold adds to an evaluation.

    Attributes
    ----------
    derivative : TermDerivative
    correction : float
        The change of J, to first order, if C L of the fit, and a learned L, were those
        that C implies.
    slopes : array (n_outputs,)
        The derivative by a factor of the dual variables of each output.
    """

    derivative: TermDerivative
    correction: float
    slopes: np.ndarray


def summed(parts: Sequence[TermDerivative]) -> TermDerivative:
    """Return the sum of the derivatives by one kernel over folds."""
    assert all(part.right is not None for part in parts)
    return TermDerivative(
        np.concatenate([part.left for part in parts], axis=1),
        np.concatenate([part.right for part in parts], axis=1),
        {
            name: sum(part.of_structure[name] for part in parts)
            for name in parts[0].of_structure
        },
    )


@dataclass(frozen=True)
class HeldOutTerm:
    """A term of a fit, the held-out rows, and the dual variables of all terms.

    Attributes
    ----------
    term : FoldTerm
    cross, back : array-like (n_test, n_train), (n_train, n_test)
        K between held-out and training rows, not centred.
    dual : array (n_train, n_outputs)
        C.
    dual_image : array (n_train, n_outputs)
        K C on the training rows.
    """

    term: FoldTerm
    cross: Any
    back: Any
    dual: np.ndarray
    dual_image: np.ndarray

    @classmethod
    def of(
        cls,
        term: FoldTerm,
        kernel: Operator,
        train: np.ndarray,
        test: np.ndarray,
        dual: np.ndarray,
        dual_image: np.ndarray,
    ) -> HeldOutTerm:
        """Take the blocks of the kernel of all rows."""
        cross = kernel.cross(test, train)
        back = cross.T if is_numpy(cross) else kernel.cross(train, test)
        return cls(term, cross, back, dual, dual_image)

    @cached_property
    def predicted(self) -> np.ndarray:
        """K C L on the held-out rows."""
        return self.term.across(self.cross, self.term.theta)

    @cached_property
    def image(self) -> np.ndarray:
        """K C on the held-out rows."""
        return self.term.across(self.cross, self.dual)

    def of_dual(self, g: np.ndarray) -> np.ndarray:
        """Return the derivative by C, given the one by held-out scores, g."""
        term = self.term
        found = term.output_kernel.multiply(term.back(self.back, g))
        if not term.known:
            through = self.image.T @ g
            found = found + self.dual_image @ symmetric(through)
        return np.asarray(found)

    def part(
        self,
        train: np.ndarray,
        test: np.ndarray,
        n_samples: int,
        g: np.ndarray,
        s: np.ndarray,
    ) -> FoldPart:
        """Return what the term adds to an evaluation.

        Parameters
        ----------
        train, test : array of int
            The rows of the fold.
        n_samples : int
            Of all folds.
        g, s : array (n_test, n_outputs), (n_train, n_outputs)
            The derivatives by held-out scores, and by a move of the training scores.
        """
        term, multiply = self.term, self.term.output_kernel.multiply
        image, dual_image = self.image, self.dual_image
        correction = np.vdot(g, multiply(image) - self.predicted)
        correction += np.vdot(s, multiply(dual_image) - term.fitted)
        slopes = np.sum(image * multiply(g), axis=0)
        slopes += np.sum(dual_image * multiply(s), axis=0)
        m = g.shape[1]
        # a learned L moves with K, too: two more factors of C'dK C / 2
        width = m if term.known else 2 * m
        left, right = np.zeros((n_samples, width)), np.zeros((n_samples, width))
        left[train, :m], right[train, :m] = s, term.theta
        left[test, :m] += g
        if term.known:
            derivative = TermDerivative(left, right, self._of_structure(g, s))
            return FoldPart(derivative, float(correction), slopes)
        # the derivative in L if L is moved alone
        of_output_kernel = symmetric(image.T @ g + dual_image.T @ s)
        left[train, m:], right[train, m:] = self.dual @ of_output_kernel / 2, self.dual
        best = self.dual.T @ dual_image / 2
        correction += np.vdot(of_output_kernel, best - term.output_kernel.matrix())
        # such a factor enters L twice, in its rows and in its columns
        slopes = 2 * slopes + np.sum(g * self.predicted, axis=0)
        slopes += np.sum(s * term.fitted, axis=0)
        return FoldPart(TermDerivative(left, right), float(correction), slopes)

    def _of_structure(self, g: np.ndarray, s: np.ndarray) -> dict[str, Any]:
        """Return the derivatives by the parameters of a given L, if it counts.

        The derivative in L, moved alone, is ``image' g`` of held-out rows plus
        ``(KC)' s`` of training rows, (n_outputs, n_outputs), which is not formed here.
        """
        term = self.term
        if not (term.one_of_several or term.output_kernel.couples):
            return {}
        left = np.concatenate([self.image, self.dual_image])
        right = np.concatenate([g, s])
        if term.one_of_several:
            return term.structure.gradient_as_part(left, right)
        return term.structure.gradient(left, right)
