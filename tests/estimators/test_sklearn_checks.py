"""scikit-learn's own checks, on estimators x structures x kernels."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from okl import (
    KernelAutoencoder,
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelImputer,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from okl.kernels import Gaussian, PerOutput
from okl.model_selection import GradientSearchCV
from okl.structures import Cluster, LowRank, Mean, Sparse, TraceBall
from tests.covering import MARKER

CLOSE = 1e-16
ONE_OUTPUT = PerOutput([Gaussian()])
# One of each kind, and of each way to give rows. Of the two searches one is of classes.
KINDS = [
    OutputKernelRegressor(),
    OutputKernelRegressor(kernel="precomputed"),
    OutputKernelClassifier(),
    KernelAutoencoder(),
    OutputKernelImputer(transform_y=None),
    OutputKernelClassifierCV("rbf", "identity", loss="squared", cv=2, alphas=2),
    GradientSearchCV(OutputKernelRegressor(structure="identity"), max_iter=1),
]
# The same with other structures, losses and kernels. scikit-learn's checks have one
# output, and three classes.
OTHERS = [
    # rows left out one by one; folds of classes
    OutputKernelRegressorCV("rbf", "identity", alphas=2),
    GradientSearchCV(OutputKernelClassifier(structure="identity"), cv=2, max_iter=1),
    OutputKernelRegressor(kernel=ONE_OUTPUT, structure="identity", fit_intercept=False),
    # models with weights and with repeated rows are compared to 1e-7, which is the
    # root of a gap
    OutputKernelClassifier(
        loss="softmax", structure="identity", class_weight="balanced", tol=CLOSE
    ),
    OutputKernelRegressor(structure="low_rank", fit_intercept=False),
    OutputKernelRegressor(structure=LowRank(2), kernel="linear"),
    OutputKernelRegressor(structure="identity", kernel="linear", fit_intercept=False),
    OutputKernelClassifier(structure="low_rank", kernel="linear"),
    OutputKernelClassifier(structure=LowRank(2), fit_intercept=False),
    OutputKernelClassifier(structure="identity", kernel="precomputed"),
    OutputKernelRegressor(loss="huber", tol=CLOSE),
    OutputKernelRegressor(loss="quantile", tol=CLOSE),
    OutputKernelRegressor(
        loss="huber", structure="identity", fit_intercept=False, tol=CLOSE
    ),
    OutputKernelClassifier(loss="logistic", alpha=0.3, tol=CLOSE),
    OutputKernelClassifier(loss="logistic", structure="identity", tol=CLOSE),
    OutputKernelClassifier(loss="softmax", tol=CLOSE),
    OutputKernelClassifier(loss="squared_hinge", tol=CLOSE),
    OutputKernelClassifier(loss="squared_hinge", structure="identity", tol=CLOSE),
    OutputKernelRegressor(kernel=ONE_OUTPUT, structure="identity"),
    OutputKernelRegressor(
        kernel=ONE_OUTPUT, structure="identity", loss="huber", tol=CLOSE
    ),
    OutputKernelClassifier(loss="hinge", tol=1e-12),
    OutputKernelClassifier(loss="hinge", structure="identity", fit_intercept=False),
    *(
        estimator(structure=structure)
        for estimator in (OutputKernelRegressor, OutputKernelClassifier)
        for structure in (
            Mean(),
            Sparse(),
            Sparse(mu=1.0),
            TraceBall(),
            TraceBall(eps=1e-2),
            Cluster(1),
        )
    ),
    KernelAutoencoder(kernel="linear", alpha=1e-3, fit_intercept=False),
    OutputKernelImputer(),
    # a learned kernel
    OutputKernelRegressorCV(structures="identity", alphas=3),
    OutputKernelRegressorCV("rbf", cv=3, alphas=3),
    OutputKernelRegressorCV("linear", ["identity", "low_rank"], cv=3, alphas=3),
    OutputKernelRegressorCV("rbf", [Sparse(0.3), Sparse(0.9)], cv=3, alphas=3),
    # at smaller alphas, of sparse rows, rounding alone moves scores by more than that
    OutputKernelClassifierCV(cv=3, alphas=3, eps=1e-2, tol=CLOSE),
    OutputKernelClassifierCV(
        "rbf", [TraceBall(), Sparse()], loss="squared", cv=3, alphas=3
    ),
    OutputKernelClassifierCV(
        "rbf", "identity", loss="softmax", cv=3, alphas=3, eps=1e-2, tol=CLOSE
    ),
    OutputKernelClassifierCV("rbf", "identity", loss="hinge", cv=3, alphas=[10.0, 1.0]),
    OutputKernelClassifierCV(
        "rbf",
        "identity",
        loss="logistic",
        cv=3,
        alphas=3,
        eps=1e-2,
        alpha_per_output=True,
        tol=CLOSE,
    ),
    OutputKernelClassifierCV(
        "rbf",
        ["identity", LowRank(2)],
        loss="squared",
        cv=3,
        alphas=3,
        fit_intercept=False,
    ),
    GradientSearchCV(
        OutputKernelRegressor(structure=Mean()), criterion="folds_error", cv=3
    ),
    GradientSearchCV(OutputKernelClassifier(), cv=3, max_iter=1),
]
# The checks that fail, and why; there is no other place for an exception. One of them
# that passes is a failure (`xfail_strict` in pyproject.toml).
EXPECTED_FAILURES = {
    "precomputed": {"check_estimators_dtypes": "feeds an indefinite matrix"},
}


def expected_failures(estimator):
    return EXPECTED_FAILURES.get(getattr(estimator, "kernel", None), {})


quiet = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::sklearn.exceptions.UndefinedMetricWarning",
    "ignore:The alpha chosen:UserWarning",
    "ignore:The output kernel that was chosen is zero:UserWarning",
)


@quiet
@parametrize_with_checks(KINDS, expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    check(estimator)


def pytest_generate_tests(metafunc):
    """Collect the checks of the others only where they are run: there are thousands."""
    if metafunc.function is not test_scikit_learn_on_all:
        return
    if f"not {MARKER}" in metafunc.config.option.markexpr:
        metafunc.parametrize(("estimator", "check"), [])
        return
    marked = parametrize_with_checks(OTHERS, expected_failed_checks=expected_failures)
    metafunc.parametrize(*marked.args, **marked.kwargs)


@quiet
@pytest.mark.product
def test_scikit_learn_on_all(estimator, check):
    check(estimator)
