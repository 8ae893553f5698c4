r"""The certificate of a model of several kernels, each with its own L.

The predictions are F = sum_q K_q C L_q with one C, the norm is
sum_q <C'K_qC, L_q>, and with penalties R_q the conjugate that the dual value needs is

.. math:: \sum_q R_q^*(\tfrac12 C' K_q C).

Where one kernel has a matrix (m, m) there is one for each term here, stacked
(n_terms, m, m); all else stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from okl.certificates.entries import EntryMatrix
from okl.numerics.arrays import Array, namespace
from okl.output_kernels import OutputKernel, OutputKernelTerms, TermCoefficients
from okl.structures import Structure
from okl.structures.base import DualBound, Response
from okl.trees import ClassTree

# Singular values of [L_1, L_2, ...] below this part of the largest are rounding.
_RANGE = 1e-12


class EntryTerms(EntryMatrix):
    """An entry for every output in each row, of a sum over terms.

    Parameters
    ----------
    operator : object
        Its ``terms`` are K_1, K_2, ..., anything that multiplies a matrix from the
        left. It multiplies `TermCoefficients`.
    """

    # outputs may not be rotated: what is diagonal in one term is not in another
    every_output: ClassVar[bool] = False

    def __init__(self, operator: Any) -> None:
        super().__init__(operator)
        self._each = [EntryMatrix(term) for term in operator.terms]
        self.shared = False

    def gram(self, left: Array, right: Array) -> Array:
        """Return C'K_qD for each term (n_terms, n_outputs, n_outputs)."""
        return namespace(left).stack([term.gram(left, right) for term in self._each])

    def squared_norm(
        self, theta: TermCoefficients, predictions: Array, kernel: OutputKernel
    ) -> float:
        """Return sum_q tr(L_q^+ Theta_q'K_q Theta_q)."""
        assert isinstance(kernel, OutputKernelTerms)
        return sum(
            term.squared_norm(part, term.operator @ part, own)
            for term, part, own in zip(
                self._each, theta.parts, kernel.terms, strict=True
            )
        )

    def implied(
        self,
        theta: TermCoefficients,
        outside: Array,
        kernel: OutputKernel,
        alpha: float,
    ) -> Array:
        """Return the alpha C with C L_q = Theta_q, or nearly so, for all terms.

        Outside the range of all L_q it is the array given.
        """
        assert isinstance(kernel, OutputKernelTerms)
        xp = namespace(outside)
        matrices = xp.concat([term.matrix() for term in kernel.terms], axis=1)
        inverse = xp.linalg.pinv(matrices, rtol=_RANGE)
        parts = xp.concat(list(theta.parts), axis=1)
        return outside + (alpha * parts - outside @ matrices) @ inverse


class StructureTerms(Structure):
    """A structure for each term: R = sum_q R_q(L_q).

    Its matrices are stacks (n_terms, m, m).

    Parameters
    ----------
    structures : tuple of Structure
        R_1, R_2, ...
    """

    def __init__(self, structures: tuple[Structure, ...]) -> None:
        self.structures = structures

    def __str__(self) -> str:
        """Name all of them."""
        return f"[{', '.join(map(str, self.structures))}]"

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """What all of them are capable of, as far as a sum is."""
        common = frozenset.intersection(*(s.capabilities for s in self.structures))
        return common & {"known", "update", "response", "proximal"}

    @property
    def of_terms(self) -> tuple[Structure, ...]:
        """The structures."""
        return self.structures

    @property
    def class_tree(self) -> ClassTree | None:  # type: ignore[override]
        """The class tree of the first structure that has one."""
        trees = (structure.class_tree for structure in self.structures)
        return next((tree for tree in trees if tree is not None), None)

    def classes_of(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the answer of the first structure that knows the classes."""
        found = (structure.classes_of(labels) for structure in self.structures)
        return next((both for both in found if both is not None), None)

    def for_outputs(self, names: np.ndarray | None) -> StructureTerms:
        """Return each of them for outputs with these names."""
        return StructureTerms(tuple(s.for_outputs(names) for s in self.structures))

    def validate(self, n_outputs: int) -> None:
        """Check each of them."""
        for structure in self.structures:
            structure.validate(n_outputs)

    def known(self, like: Array) -> OutputKernelTerms | None:
        """Return the L_q if all of them are fixed."""
        terms = tuple(structure.known(like) for structure in self.structures)
        fixed = tuple(term for term in terms if term is not None)
        return OutputKernelTerms(fixed) if len(fixed) == len(terms) else None

    def penalty(self, output_kernel: Array) -> float:
        """Return sum_q R_q(L_q)."""
        return sum(
            s.penalty(output_kernel[q, ...]) for q, s in enumerate(self.structures)
        )

    def penalty_of(self, kernel: OutputKernel) -> float:
        """Return sum_q R_q(L_q)."""
        assert isinstance(kernel, OutputKernelTerms)
        pairs = zip(self.structures, kernel.terms, strict=True)
        return sum(structure.penalty_of(term) for structure, term in pairs)

    def conjugate(self, matrix: Array) -> float:
        """Return sum_q R_q*(S_q)."""
        return sum(s.conjugate(matrix[q, ...]) for q, s in enumerate(self.structures))

    def response(self, matrix: Array) -> Response:
        """Return for each S_q the best L_q, and its derivative, stacked over terms."""
        xp = namespace(matrix)
        found = [s.response(matrix[q, ...]) for q, s in enumerate(self.structures)]
        return Response(
            sum(one.value for one in found),
            xp.stack([one.output_kernel for one in found]),
            SecondDerivatives(tuple(one.derivative for one in found)),
        )

    def dual_bound(self, matrix: Array, output_kernel: OutputKernel) -> DualBound:
        """Return one factor that takes C into the domains of all terms.

        Each R_q* grows with S_q: a bound for a larger factor holds for a smaller one.
        """
        assert isinstance(output_kernel, OutputKernelTerms)
        xp = namespace(matrix)
        pairs = list(zip(self.structures, output_kernel.terms, strict=True))
        bounds = [
            s.dual_bound(matrix[q, ...], term) for q, (s, term) in enumerate(pairs)
        ]
        factor = 1.0
        for bound in bounds:
            factor = min(factor, bound.factor)
            if bound.directions is not None:
                limits = bound.directions[1]
                factor = min(factor, bound.factor * float(xp.min(limits)))
        total = 0.0
        for q, (structure, term) in enumerate(pairs):
            bound = bounds[q]
            if factor < bound.factor and bound.directions is None:
                # a smaller S has a tighter bound, unless directions were scaled
                bound = structure.dual_bound(factor**2 * matrix[q, ...], term)
            total += bound.value
        if factor == 1:
            return DualBound(total)
        scaled = [b.factor < 1 or b.directions is not None for b in bounds]
        whole = [
            b.unscaled if s else b.value for s, b in zip(scaled, bounds, strict=True)
        ]
        return DualBound(total, factor, unscaled=sum(whole))

    def update(self, matrix: Array, *, tol: float = 1e-6) -> Array:
        """Return the best L_q for P_q = F_q'K_q^+F_q, for each term."""
        xp = namespace(matrix)
        pairs = enumerate(self.structures)
        return xp.stack([s.update(matrix[q, ...], tol=tol) for q, s in pairs])


@dataclass(frozen=True)
class SecondDerivatives:
    """How the L_q of several terms follow their S_q.

    As the second derivative of one term, for arrays with a further first axis.
    """

    terms: tuple[Any, ...]

    def __call__(self, change: Array) -> Array:
        """Return the change of each L_q."""
        found = [one(change[q, ...]) for q, one in enumerate(self.terms)]
        return namespace(change).stack(found)

    def between(self, rows: Array, outputs: Array) -> Array:
        """Return the sum of what the terms return, M (k, k)."""
        return sum(
            one.between(rows[q, ...], outputs) for q, one in enumerate(self.terms)
        )
