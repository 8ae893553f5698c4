"""The hinge: against libsvm where L = I, and what learning L costs beside that.

Where L = I both are asked for the same tolerance: okl bounds the relative duality gap
by it, libsvm the violation of the optimality conditions.
"""

from __future__ import annotations

from sklearn.datasets import load_digits
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from benchmarks.measure import Row, alternately, best_of
from okl import OutputKernelClassifier
from okl.structures import Frobenius, LowRank, TraceBall

TOLS, TOL = (1e-4, 1e-6), 1e-6


def run() -> list[Row]:
    X, y = load_digits(return_X_y=True)
    X = X / 16
    rows = []

    def fit(structure, alpha, tol=TOL):
        model = OutputKernelClassifier(structure=structure, alpha=alpha, loss="hinge")
        model.set_params(tol=tol).fit(X, y)
        assert model.certificate_.status == "optimal", (structure, alpha)
        return model.certificate_.relative_gap

    for alpha in (1.0, 0.1):
        work = f"1797 digits, hinge, Gaussian kernel, alpha = {alpha:g}, "
        for tol in TOLS:
            machines = OneVsRestClassifier(SVC(C=1 / alpha, gamma="scale", tol=tol))
            separate, theirs = alternately(
                5,
                lambda a=alpha, t=tol: fit("identity", a, t),
                lambda m=machines: m.fit(X, y),
            )
            one = work + f"identity, to {tol:g}"
            rows.append(Row(one, separate, theirs, f"SVC, tol = {tol:g}", 2 / 3))
        for structure in (Frobenius(), LowRank(), TraceBall()):
            gaps: list[float] = []
            seconds = best_of(
                1, lambda s=structure, a=alpha, g=gaps: g.append(fit(s, a))
            )
            rows.append(
                Row(
                    work + str(structure),
                    seconds,
                    separate,
                    "the same, identity",
                    1,
                    note=f"gap {gaps[0]:.1e}",
                )
            )
    return rows
