"""Softmax by products with K: the preconditioner, and scikit-learn's models.

The Gaussian process of scikit-learn takes minutes: set ``OKL_SLOW`` to time it.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold

from benchmarks.measure import Row, alternately
from okl import OutputKernelClassifier, OutputKernelClassifierCV
from okl.kernels import Gaussian
from okl.losses import Softmax
from okl.operators import Dense
from okl.problems import Inputs, formulate
from okl.solvers import NewtonCG, Request
from okl.structures import Identity

TOLERANCES = (1e-4, 1e-6)
STRENGTHS = np.geomspace(1, 100, 3)  # C, of a search
COLUMNS = (0, 100, 300)  # of the preconditioner, 0 for a diagonal


class Counting(Dense):
    """A stored matrix that counts its products with as many columns as classes."""

    def __init__(self, matrix: np.ndarray, n_classes: int) -> None:
        super().__init__(matrix, owned=False)
        self._n_classes = n_classes
        self.products = 0.0

    def __matmul__(self, right: np.ndarray) -> np.ndarray:
        self.products += right.shape[1] / self._n_classes
        return super().__matmul__(right)


def folder_of(name: str) -> Path | None:
    """Return the folder of a data set, None without the data."""
    root = os.environ.get("OKL_DATA")
    return Path(root) / name if root else None


def landsat() -> tuple[np.ndarray, np.ndarray] | None:
    """Return the training rows of satimage, pixel values as they are."""
    folder = folder_of("satimage")
    if folder is None:
        return None
    stored = np.load(folder / "satimage.npz")
    labels = np.unique(stored["y_train"], return_inverse=True)[1]
    return stored["X_train"].astype(float), labels


def preconditioners() -> list[Row]:
    found = landsat()
    if found is None:
        return []
    X, labels = found
    loss, n_classes = Softmax(), labels.max() + 1
    K = (30 * Gaussian(0.03 / 72) + 10)(X)
    targets = loss.coding.encode(labels, "multiclass", n_classes)

    def fit(columns: int, tol: float) -> float:
        operator = Counting(K, n_classes)
        problem = formulate(Inputs(operator, None), targets, loss, Identity()).problem
        solver = NewtonCG(columns)
        solution = solver.solve(
            solver.prepare(problem), Request(1.0, tol=tol, max_iter=200)
        )
        assert solution.certificate.status == "optimal"
        return operator.products

    rows = []
    for tol in TOLERANCES:
        products = [fit(columns, tol) for columns in COLUMNS]
        seconds = alternately(2, *(partial(fit, columns, tol) for columns in COLUMNS))
        work = f"satimage, pixel values, softmax, gap {tol:g}"
        if tol == TOLERANCES[0]:
            rows.append(
                Row(work, products[1], 60, "60 products with K", 1, unit="products")
            )
        for columns, count, time in zip(
            COLUMNS[1:], products[1:], seconds[1:], strict=True
        ):
            here = f"{work}, {columns} columns"
            yardstick = "diagonal preconditioner"
            rows += [
                Row(here, count, products[0], yardstick, 3, unit="products"),
                Row(here, time, seconds[0], yardstick, 3),
            ]
    return rows


def gaussian_process() -> list[Row]:
    """Compare with scikit-learn's classifier, one against the rest; takes minutes."""
    found = landsat()
    if found is None or not os.environ.get("OKL_SLOW"):
        return []
    X, labels = found
    ours = OutputKernelClassifier(
        30 * Gaussian(0.03 / 72) + 10,
        "identity",
        1.0,
        loss="softmax",
        fit_intercept=False,
        tol=1e-4,
    )
    same = 30 * RBF((36 / 0.03) ** 0.5) + ConstantKernel(10)
    theirs = GaussianProcessClassifier(same, optimizer=None)
    (seconds,) = alternately(2, lambda: ours.fit(X, labels))
    (slower,) = alternately(1, lambda: theirs.fit(X, labels))
    work = "satimage, pixel values, softmax, the whole fit to gap 0.0001"
    return [Row(work, seconds, slower, "GaussianProcessClassifier", 80)]


def linear() -> list[Row]:
    X, y = load_digits(return_X_y=True)
    rows = _against_logistic_regression("digits", X / 16, y)
    for name, n in (("clinc150", 2000), ("news20_w1000", 2000), ("news20_w1000", 800)):
        found = text(name)
        if found is not None:
            X, y = found
            some = np.random.default_rng(0).permutation(X.shape[0])[:n]
            rows += _against_logistic_regression(
                f"{n} rows of {name}", X[some], y[some]
            )
    return rows


def text(name: str) -> tuple[sp.csr_matrix, np.ndarray] | None:
    """Return the training rows of a text set, word counts as tf-idf."""
    folder = folder_of(name)
    if folder is None:
        return None
    stored = np.load(folder / f"{name}.npz")
    parts = [stored[f"X_train_{part}"] for part in ("data", "indices", "indptr")]
    X = sp.csr_matrix(tuple(parts), shape=tuple(stored["X_train_shape"]))
    X = TfidfTransformer(sublinear_tf=True).fit_transform(X.astype(float))
    return X, stored["y_train"]


def _against_logistic_regression(name: str, X: Any, y: np.ndarray) -> list[Row]:
    """Time both to the same objective, 1e-6 above the least."""

    def ours(tol: float) -> OutputKernelClassifier:
        return OutputKernelClassifier(
            "linear", "identity", 1.0, loss="softmax", tol=tol
        ).fit(X, y)

    labels = np.unique(y, return_inverse=True)[1]
    best = ours(1e-10).certificate_.dual
    rows = []
    for solver in ("lbfgs", "newton-cg"):
        tol = 1e-1
        while True:  # the loosest tolerance that reaches the same objective
            theirs = LogisticRegression(solver=solver, tol=tol, max_iter=10_000)
            theirs.fit(X, y)
            log_p = theirs.predict_log_proba(X)[np.arange(len(y)), labels]
            # their intercept sums to zero as ours may
            value = -log_p.sum() + np.sum(theirs.coef_**2) / 2
            if value <= best * (1 + 1e-6):
                break
            tol /= 10
        assert abs(value - best) <= 1e-6 * best  # the same optimum
        mine, other = alternately(3, lambda: ours(1e-6), lambda t=theirs: t.fit(X, y))
        n, d = X.shape
        rows.append(
            Row(
                f"{name}, linear softmax with intercept, objective to 1e-6",
                mine,
                other,
                f"LogisticRegression, {solver}",
                1 / 1.5,
                note=f"n = {n}, d = {d}; tol = {tol:g} there",
            )
        )
    return rows


def searches() -> list[Row]:
    """Choose alpha for all rows of a text set, beside LogisticRegressionCV."""
    rows = []
    for name in ("clinc150", "news20_w1000"):
        found = text(name)
        if found is None:
            continue
        X, y = found
        folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
        ours = OutputKernelClassifierCV(
            kernels=["linear"],
            structures=["identity"],
            loss="softmax",
            alphas=1 / STRENGTHS,
            cv=folds,
            scoring="neg_log_loss",
            temperature=1.0,
            tol=1e-3,
        )
        theirs = LogisticRegressionCV(
            Cs=STRENGTHS,
            cv=folds,
            scoring="neg_log_loss",
            l1_ratios=(0.0,),
            max_iter=1000,
            use_legacy_attributes=False,
        )
        fits = [partial(model.fit, X, y) for model in (ours, theirs)]
        mine, other = alternately(2, *fits)
        assert np.isclose(ours.alpha_ * theirs.C_, 1)  # the same choice
        work = f"{name}, {X.shape[0]} rows, {len(np.unique(y))} classes"
        note = f"d = {X.shape[1]}; held-out log loss {-ours.best_score_:.3f}, "
        note += f"{-np.max(np.mean(theirs.scores_, axis=0)):.3f} there"
        work += f", linear softmax: search of {len(STRENGTHS)} alphas, 3 folds"
        rows.append(Row(work, mine, other, "LogisticRegressionCV", 1 / 1.5, note=note))
    return rows


def run() -> list[Row]:
    return [*preconditioners(), *gaussian_process(), *linear(), *searches()]
