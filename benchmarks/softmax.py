"""Softmax by products with K: the preconditioner, and scikit-learn's linear model."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from benchmarks.measure import Row, alternately
from okl import OutputKernelClassifier
from okl.kernels import Gaussian
from okl.losses import Softmax
from okl.operators import Dense
from okl.problems import Inputs, formulate
from okl.solvers import NewtonCG
from okl.structures import Identity

TOL = 1e-4


class Counting(Dense):
    """A stored matrix that counts its products with as many columns as classes."""

    def __init__(self, matrix: np.ndarray, n_classes: int) -> None:
        super().__init__(matrix, owned=False)
        self._n_classes = n_classes
        self.products = 0.0

    def __matmul__(self, right: np.ndarray) -> np.ndarray:
        self.products += right.shape[1] / self._n_classes
        return super().__matmul__(right)


def landsat() -> tuple[np.ndarray, np.ndarray, str] | None:
    """Return satimage, standardised; None without the data."""
    folder = os.environ.get("OKL_DATA")
    if not folder:
        return None
    stored = np.load(Path(folder) / "satimage" / "satimage.npz")
    X = stored["X_train"].astype(float)
    labels = np.unique(stored["y_train"], return_inverse=True)[1]
    return (X - X.mean(axis=0)) / X.std(axis=0), labels, "satimage, standardised"


def preconditioners() -> list[Row]:
    found = landsat()
    if found is None:
        return []
    X, labels, name = found
    loss, n_classes = Softmax(), labels.max() + 1
    K = (30 * Gaussian(0.03 / 72) + 10)(X)
    targets = loss.encode(labels, "multiclass", n_classes)

    def fit(columns: int) -> Counting:
        operator = Counting(K, n_classes)
        problem = formulate(Inputs(operator, None), targets, loss, Identity()).problem
        solver = NewtonCG(columns)
        solution = solver.solve(
            solver.prepare(problem), 1.0, tol=TOL, max_iter=200, start=None
        )
        assert solution.certificate.status == "optimal"
        return operator

    ours, diagonal = fit(100).products, fit(0).products
    seconds, slower = alternately(3, lambda: fit(100), lambda: fit(0))
    work = f"{name}, softmax, gap {TOL:g}"
    return [
        Row(work, ours, 60, "60 products with K", 1, unit="products"),
        Row(work, ours, diagonal, "diagonal preconditioner", 3, unit="products"),
        Row(work, seconds, slower, "diagonal preconditioner", 3),
    ]


def linear() -> list[Row]:
    X, y = load_digits(return_X_y=True)
    X = X / 16
    ours = OutputKernelClassifier("linear", "identity", 1.0, loss="softmax", tol=1e-6)
    rows = []
    best = (
        OutputKernelClassifier("linear", "identity", 1.0, loss="softmax", tol=1e-10)
        .fit(X, y)
        .certificate_.dual
    )
    for solver in ("lbfgs", "newton-cg"):
        tol = 1e-1
        while True:  # the loosest tolerance that reaches the same objective
            theirs = LogisticRegression(solver=solver, tol=tol, max_iter=10_000)
            theirs.fit(X, y)
            log_p = theirs.predict_log_proba(X)[np.arange(len(y)), y]
            # their intercept sums to zero as ours may
            value = -log_p.sum() + np.sum(theirs.coef_**2) / 2
            if value <= best * (1 + 1e-6):
                break
            tol /= 10
        mine, other = alternately(
            3, lambda: ours.fit(X, y), lambda t=theirs: t.fit(X, y)
        )
        rows.append(
            Row(
                "digits, linear softmax with intercept, objective to 1e-6",
                mine,
                other,
                f"LogisticRegression, {solver}",
                1 / 1.5,
                note=f"n = {X.shape[0]} > d = {X.shape[1]}; tol = {tol:g} there",
            )
        )
    return rows


def run() -> list[Row]:
    return [*preconditioners(), *linear()]
