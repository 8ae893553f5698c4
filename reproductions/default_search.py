"""The default search beside a kernel ridge regression with a tuned width.

There are two small training sets: 100 rows of the robot arm (sarcos, 3 splits; the
error is the root mean squared error in units of the torques) and 80 of the buildings
(enb, 5 splits; the mean over outputs of the squared error over the variance). **okl**
is `OutputKernelRegressorCV(kernels="short_list")`, **okl, independent** the same with
`structures="identity"`, **kernel ridge** scikit-learn's `KernelRidge` on standardised
targets, its `alpha` and `gamma` chosen by `GridSearchCV` on a grid of 15 times 16
values and five shuffled folds, **mean** the mean of the training targets. Inputs are
standardised on the training rows.
"""

from __future__ import annotations

import warnings

import numpy as np
from benchmarks.measure import machine
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler

from okl import OutputKernelRegressorCV
from reproductions.comparing import standard_error
from reproductions.real_sets import real_sets
from reproductions.report import table, write_page

# Training rows and splits of each set, and the error.
SETS = {
    "sarcos4449": (100, 3, lambda Y, F: np.sqrt(np.mean((Y - F) ** 2))),
    "enb": (80, 5, lambda Y, F: np.mean(np.mean((Y - F) ** 2, 0) / Y.var(0))),
}
GRID = {"alpha": np.logspace(-6, 1, 15), "gamma": np.logspace(-4, 1, 16)}


def models():
    tuned = GridSearchCV(
        KernelRidge(kernel="rbf"),
        GRID,
        cv=KFold(5, shuffle=True, random_state=0),
        scoring="neg_mean_squared_error",
    )
    return {
        "okl": OutputKernelRegressorCV(kernels="short_list"),
        "okl, independent": OutputKernelRegressorCV(
            structures="identity", kernels="short_list"
        ),
        "kernel ridge": TransformedTargetRegressor(tuned, transformer=StandardScaler()),
        "mean": DummyRegressor(),
    }


def run() -> None:
    rows = []
    for name, X, Y in real_sets():
        if name not in SETS:
            continue
        n_train, n_splits, error = SETS[name]
        errors: dict[str, list[float]] = {}
        for seed in range(n_splits):
            order = np.random.default_rng(seed).permutation(len(X))
            train, test = order[:n_train], order[n_train:]
            scaler = StandardScaler().fit(X[train])
            for label, model in models().items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # edges of grids
                    model.fit(scaler.transform(X[train]), Y[train])
                predicted = model.predict(scaler.transform(X[test]))
                errors.setdefault(label, []).append(error(Y[test], predicted))
        cells = (np.array(values) for values in errors.values())
        rows.append(
            (name, *(f"{v.mean():.3f} ± {standard_error(v):.3f}" for v in cells))
        )
    write_page(
        "default_search",
        f"""# The default search

`python -m reproductions default_search`. {__doc__.split(chr(10) * 2, 1)[1]}
{table(["set", *models()], rows)}

Machine: {machine()}.
""",
    )
