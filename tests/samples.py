"""Small random problems, and the calls that solve one of them piece by piece."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import LeaveOneGroupOut

from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Inputs, formulate
from okl.solvers import Request, choose_solver


class Sample(NamedTuple):
    """Rows, targets and the Gaussian kernel matrix of the rows."""

    X: np.ndarray
    Y: np.ndarray
    K: np.ndarray


def gaussian(X, Z=None, gamma=0.5):
    """Return exp(-gamma ||x - z||^2), without the library."""
    Z = X if Z is None else Z
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(-1))


def as_texts(X):
    """Return sparse rows of many columns and of different numbers of entries."""
    return csr_array(np.tile(np.where(np.median(X) < X, X, 0.0), 101))


def classes_of_sites(noise):
    """Draw two classes at six sites, at one of which they are noise; a fold each."""
    rng = np.random.default_rng(1)
    X, sites = rng.normal(size=(240, 2)), np.repeat(np.arange(6), 40)
    y = (np.sin(2 * X[:, 0]) * np.sin(2 * X[:, 1]) > 0).astype(int)
    y[sites == noise] = rng.integers(0, 2, 40)
    return X, y, list(LeaveOneGroupOut().split(X, y, sites))


def draw(n=12, m=4, seed=0, n_features=3):
    """Draw related outputs: two hidden functions, mixed, with noise and offsets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    hidden = np.column_stack([np.sin(X[:, 0]), X[:, -1]])
    Y = hidden @ rng.normal(size=(2, m)) + 0.3 * rng.normal(size=(n, m))
    return Sample(X, Y + rng.normal(size=m), gaussian(X))


def psd(m, seed=0, rank=None):
    """Draw a PSD matrix (m, m)."""
    factor = np.random.default_rng(seed).normal(size=(m, rank or m))
    return factor @ factor.T / m


def draw_classes(n=12, m=3, seed=0):
    """Draw rows of m classes, each seen, not quite separable."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % m)
    X = rng.normal(size=(m, 3))[labels] + 0.7 * rng.normal(size=(n, 3))
    return X, labels, gaussian(X)


def targets_for(loss, n=12, m=3, seed=0):
    """Return K and targets that a loss is for: classes, or for Huber wild numbers."""
    if "regression" in loss.capabilities:
        _, Y, K = draw(n, m, seed)
        Y[0] += 8.0
        return K, Y
    _, labels, K = draw_classes(n, m, seed)
    return K, loss.coding.encode(labels, "multiclass", m)


def orthogonal(m, seed=0, columns=None):
    """Draw a matrix (m, columns) with orthonormal columns."""
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.normal(size=(m, columns or m)))[0]


class Solved(NamedTuple):
    """A solution, the way back from it, and the model in the outputs of the user."""

    solution: Any
    formulation: Any
    dual_coef: Any
    intercept: Any
    output_kernel: Any

    def predict(self, K):
        """Return K Theta + b."""
        F = K @ np.asarray(self.dual_coef)
        return F if self.intercept is None else F + np.asarray(self.intercept)


def solve(
    K,
    Y,
    structure,
    alpha,
    *,
    solver="auto",
    intercept=False,
    tol=1e-6,
    max_iter=1000,
    start=None,
    loss=None,
    weights=None,
    xp=np,
):
    """Formulate and solve with the pieces, in any array namespace."""
    operator = Dense(xp.asarray(np.array(K)))
    inputs = Inputs.of(operator, fit_intercept=intercept)
    formulation = formulate(
        inputs,
        xp.asarray(np.array(Y)),
        Squared() if loss is None else loss,
        structure,
        None if weights is None else xp.asarray(np.array(weights)),
    )
    chosen = choose_solver(solver, formulation.problem)
    solution = chosen.solve(
        chosen.prepare(formulation.problem),
        Request(alpha, tol=tol, max_iter=max_iter, start=start),
    )
    dual_coef = formulation.coefficients(solution.dual_coef)
    return Solved(
        solution,
        formulation,
        dual_coef,
        formulation.intercept(dual_coef, solution.intercept),
        formulation.output_kernel(solution.output_kernel),
    )


def centered(K, Y):
    """Return HKH and HY."""
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H, H @ Y


def alpha_max(K, Y, intercept=False):
    """Return sqrt(||Y'KY||_2), from where on the trace structure gives L = 0."""
    if intercept:
        K, Y = centered(K, Y)
    return np.linalg.norm(Y.T @ K @ Y, 2) ** 0.5
