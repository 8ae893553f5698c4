"""The cost of a criterion by which a kernel is learned, with its derivatives."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.measure import Row, alternately, best_of
from okl.kernels import Matern
from okl.losses import Loss, Softmax, Squared
from okl.operators import Dense
from okl.problems import Observed
from okl.selection.criteria import FoldsLikelihood, RestrictedLikelihood
from okl.selection.criteria.fold_fit import FoldFit, FoldStart
from okl.structures import Identity, Mean, Structure

# Seconds that the restricted likelihood may take with G, of how many rows, columns of X
# and outputs; and what a derivative may cost, in fits.
LIMIT, N, D, M = 0.15, 1000, 16, 14
MOST = 1.6
N_FOLDS, ALPHA, STEP, STEPS = 5, 0.3, 1.15, 6

Folds = list[tuple[np.ndarray, np.ndarray]]


def restricted_likelihood() -> list[Row]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    Y = np.sin(X @ rng.normal(size=(D, M))) + 0.3 * rng.normal(size=(N, M))
    operator = Dense(Matern(4.0, 2.5)(X, X), owned=False)
    criterion = RestrictedLikelihood(Observed(Y, Squared()), fit_intercept=True)
    ours = best_of(5, lambda: criterion.evaluate(operator, ALPHA, Identity()))
    work = f"restricted likelihood and its derivative, n = {N}, m = {M}"
    return [Row(work, ours, LIMIT, "the limit set", 1.0)]


def kernels(X: np.ndarray) -> list[Dense]:
    """Return kernels as a search tries them, each near the last."""
    lengths = 4.0 / STEP ** np.arange(STEPS)
    return [Dense(Matern(length, 2.5)(X, X), owned=False) for length in lengths]


def folds_of(n: int) -> Folds:
    parts = np.array_split(np.random.default_rng(0).permutation(n), N_FOLDS)
    return [(np.setdiff1d(np.arange(n), part), part) for part in parts]


def only_fits(
    observed: Observed,
    folds: Folds,
    tried: list[Dense],
    structure: Structure,
    tol: float,
) -> None:
    """Fit to all folds, each fit from where the last one ended."""
    starts: list[FoldStart | None] = [None] * len(folds)
    for operator in tried:
        for number, (train, _) in enumerate(folds):
            fit = FoldFit.of(
                operator.restrict(train),
                observed.restrict(train),
                structure,
                ALPHA,
                fit_intercept=True,
                tol=tol,
                max_iter=1000,
                start=starts[number],
            )
            starts[number] = fit.start


def derivatives(loss: Loss, structure: Structure, n: int) -> Row:
    X, labels = load_digits(return_X_y=True)
    rows = np.random.default_rng(1).permutation(len(X))[:n]
    X, targets = X[rows] / 16, loss.coding.encode(labels[rows], "multiclass", 10)
    observed, folds, tried = Observed(targets, loss), folds_of(n), kernels(X)

    def both() -> None:
        criterion = FoldsLikelihood(observed, folds, fit_intercept=True)
        for operator in tried:
            criterion.evaluate(operator, ALPHA, structure)

    tol = FoldsLikelihood(observed, folds, fit_intercept=True).tol
    ours, theirs = alternately(
        3, both, lambda: only_fits(observed, folds, tried, structure, tol)
    )
    work = f"{loss.name}, {structure}: likelihood of {N_FOLDS} folds, n = {n}"
    return Row(work, ours, theirs, "its fits alone", 1 / MOST)


def run() -> list[Row]:
    return [
        *restricted_likelihood(),
        *(
            derivatives(Softmax(), s, n)
            for n in (500, 1000)
            for s in (Identity(), Mean())
        ),
    ]
