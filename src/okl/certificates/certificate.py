r"""The proof of optimality that comes with every fit.

Output kernel learning minimises the convex objective

.. math::

    P = \sum_i V(y_i, F_i)
        + \alpha \left(\tfrac12 \operatorname{tr}(L^+ \Theta' K \Theta)
        + R(L)\right),

where F = K Theta + 1 b' are the predictions and Theta = C L the coefficients. With
the convex conjugates V* and R*, every matrix C bounds the minimum from below by

.. math::

    D(C) = - \sum_i V^*(y_i, -\alpha c_i) - \alpha R^*(\tfrac12 C' K C),
    \qquad 1'C = 0 \text{ if } b \text{ is free}.

A model therefore proves by itself how far it is from the optimum. P is evaluated at
its own L, coefficients and intercept; D at the C that its residuals imply, alpha C =
minus the gradient of the loss, scaled into the domain of R* where that is bounded. At
the optimum that is the C of the model itself, which with a known L or a quadratic loss
is tried where the gap is wide. The gap P - D is never negative and bounds what any
better model could gain. Nothing here knows how the model was found, and no solver is
imported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from textwrap import fill

import numpy as np

from okl.certificates.gap_scale import GapScale

_MESSAGES = {
    "optimal": "The relative duality gap {gap:.2g} is at most the tolerance {tol:.2g}: "
    "no other model has an objective lower by more than that.",
    "rank_limited": "The model is stationary for the rank that is allowed; without the "
    "bound on the rank the objective could be lower by at most {gap:.2g} of its value. "
    "A larger rank closes the gap.",
    "unproved": "The relative duality gap is {gap:.2g}, above the tolerance {tol:.2g}: "
    "the objective could be lower by at most {gap:.2g} of its value.",
    "max_iter": "The relative duality gap is {gap:.2g}, above the tolerance {tol:.2g}, "
    "after the {n_iter} iterations that max_iter allows. Increase max_iter, or tol.",
    "stationary": "Labels that are inner nodes of a tree make the problem non-convex: "
    "a fit from another start may end with another model. With these labels replaced "
    "by the class probabilities that this model expects for them, the problem is "
    "convex, and its relative duality gap {gap:.2g} is within the tolerance {tol:.2g}.",
    "stalled": "The relative duality gap is {gap:.2g}, above the tolerance {tol:.2g}, "
    "and no step made it smaller: rounding errors prevent further progress, and more "
    "iterations do not help. Choose a larger tol or alpha (in a search larger alphas, "
    "or eps); or, for a kernel that was not learned, standardise the columns of X "
    "(sklearn.preprocessing.StandardScaler).",
}
# A relative gap up to this may be nothing but the rounding of P and D, however good
# model and bound are.
_PRECISION = 1e-12
_TOO_EXACT = (
    "The relative duality gap is {gap:.2g}, above the tolerance {tol:.2g}, because the "
    "tolerance is too small: it is below what rounding in double precision permits, "
    "and this model is as good as can be verified. Choose tol=1e-12 or larger."
)
# A relative gap above this is not what rounding leaves.
_LARGE = 1e-2
_LOST = (
    "The relative duality gap is {gap:.2g}, above the tolerance {tol:.2g}, and no step "
    "made it smaller. Rounding alone does not explain a gap this large: the solver is "
    "stuck at a point that it cannot improve, as may happen at a small alpha, and more "
    "iterations do not help. Choose a larger alpha (in a search larger alphas, or "
    "eps); or, for a kernel that was not learned, standardise the columns of X "
    "(sklearn.preprocessing.StandardScaler)."
)
# Added where the rank is the largest that is allowed.
_BOUNDED = (
    " The output kernel L has the largest rank that is allowed: this bound may also "
    "keep the gap open, however good the model is, and a larger rank closes that part "
    "of the gap."
)
_ROUNDED = (
    "Rounding errors keep the predictions of this model on the training rows away from "
    "the optimum by {gap:.2g} of the objective, above the tolerance {tol:.2g}: kernel "
    "values are too large, or too similar, for double precision. Standardise the "
    "columns of X (sklearn.preprocessing.StandardScaler), or choose a larger alpha; "
    "more iterations do not help."
)


@dataclass(frozen=True)
class Certificate:
    """What a model proves about itself; ``print`` shows it as a paragraph.

    Attributes
    ----------
    primal : float
        The objective P of the model.
    dual : float
        The lower bound D that its residuals imply.
    gap : float
        ``primal - dual``.
    relative_gap : float
        The gap over max(abs(primal), abs(dual), machine epsilon x loss at f = 0). With
        an intercept and a loss of y - f that loss is the one at the best constant. Of
        an objective that targets far away make large, with a loss that bears these,
        only a part counts (`okl.certificates.gap_scale`).
    status : {"optimal", "rank_limited", "stationary", "max_iter", "stalled", \
"unproved"}
        Whether the relative gap is at most the tolerance; if not, whether a bound on
        the rank, the end of the iterations or rounding is the reason. `okl.certify`,
        which sees a model and not how it was found, says ``"unproved"``.
        ``"stationary"`` is optimal for the targets that the model expects itself, where
        labels are inner nodes of a tree: the whole problem is not convex then.
    message : str
        The status in a sentence, with advice.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    status: str
    message: str

    def __str__(self) -> str:
        """Return status, objective, bound and advice as a paragraph."""
        return fill(
            f"{self.status}: the objective is {self.primal:.9g}, and no model has one "
            f"below {self.dual:.9g}, a gap of {self.gap:.2g}. {self.message}",
            width=88,
        )

    @classmethod
    def of(
        cls,
        primal: float,
        dual: float,
        scale: GapScale,
        *,
        tol: float,
        rank_limited: bool = False,
    ) -> Certificate:
        """Judge P and D by a gap of this scale."""
        gap = primal - dual
        relative = relative_gap(primal, dual, scale)
        # D above P is an effect of rounding: it is accepted up to the tolerance, or
        # the rounding of a loss of this size; further above it proves nothing
        if abs(relative) <= tol or -scale.rounding <= gap < 0:
            status = "optimal"
        else:
            status = "rank_limited" if rank_limited else "unproved"
        message = _MESSAGES[status].format(gap=relative, tol=tol)
        return cls(primal, dual, gap, relative, status, message)

    @property
    def failed(self) -> bool:
        """Whether the gap is above the tolerance, and no bound on the rank explains it.

        Estimators warn then.
        """
        return self.status not in ("optimal", "rank_limited", "stationary")

    def of_fit(
        self, n_iter: int, max_iter: int, tol: float, *, limited: bool = False
    ) -> Certificate:
        """Return it with the reason why a fit ended above the tolerance, if it did.

        If L is ``limited`` by a bound on the rank, the message names that as a further
        reason.
        """
        if self.status != "unproved":
            return self
        status = "max_iter" if n_iter >= max_iter else "stalled"
        lost = status == "stalled" and abs(self.relative_gap) > _LARGE
        text = (_LOST if lost else _MESSAGES[status]) + (_BOUNDED if limited else "")
        if abs(self.relative_gap) <= _PRECISION:
            text = _TOO_EXACT
        message = text.format(gap=self.relative_gap, tol=tol, n_iter=n_iter)
        return replace(self, status=status, message=message)

    def of_expected_targets(self, tol: float) -> Certificate:
        """Return it for a model of targets that it expects itself: "stationary"."""
        if self.status != "optimal":
            return self
        message = _MESSAGES["stationary"].format(gap=self.relative_gap, tol=tol)
        return replace(self, status="stationary", message=message)

    def limited_by_rounding(self, tol: float, change: float = 0.0) -> Certificate:
        """Return the certificate with rounding as the reason why it is not optimal.

        The gap in the message is the relative gap or, if larger, ``change``, the
        relative change of the objective by rounding.
        """
        gap = max(abs(self.relative_gap), change)
        text = _TOO_EXACT if gap <= _PRECISION else _ROUNDED
        message = text.format(gap=gap, tol=tol)
        return replace(self, status="stalled", message=message)


def relative_gap(primal: float, dual: float, scale: GapScale) -> float:
    """Return the gap relative to the objective, 0 where both are 0."""
    gap = primal - dual
    size = scale.of(primal, dual)
    if not np.isfinite(size):
        return float("inf")
    return gap / size if size > 0 else 0.0
