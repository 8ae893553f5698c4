"""The synthetic reconstruction problem of the papers' code.

The figures are those of the design notes: validation errors along 30 alphas from
alpha_max down to 1e-5 of it, without an intercept.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from okl import certify, output_kernel_path

FOLDER = os.environ.get("OKL_DATA")

pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="OKL_DATA does not name the folder with the data sets"
)


@pytest.fixture(scope="module")
def data():
    with np.load(Path(FOLDER) / "okl_synth" / "okl_synth.npz") as file:
        train, valid = file["train_idx"], file["valid_idx"]
        K, Y = file["K"], file["Y"]
    return K[np.ix_(train, train)], Y[train], K[np.ix_(valid, train)], Y[valid]


@pytest.mark.parametrize(
    ("structure", "expected_error", "expected_alpha"),
    [("identity", 19.95, 0.81), ("frobenius", 18.97, 13.0), ("low_rank", 18.67, 42.7)],
)
def test_validation_error_along_the_path(
    data, structure, expected_error, expected_alpha
):
    K, Y, K_valid, Y_valid = data
    alpha_max = np.linalg.norm(Y.T @ K @ Y, 2) ** 0.5
    assert alpha_max == pytest.approx(1022, abs=1)
    path = output_kernel_path(
        K,
        Y,
        kernel="precomputed",
        structure=structure,
        alphas=np.geomspace(1e-5, 1, 30) * alpha_max,
        fit_intercept=False,
        normalize_y=False,
    )
    assert all(certificate.status == "optimal" for certificate in path.certificates)
    errors = [np.mean((model.predict(K_valid) - Y_valid) ** 2) for model in path]
    best = int(np.argmin(errors))
    assert errors[best] == pytest.approx(expected_error, abs=0.006)
    assert path.alphas[best] == pytest.approx(expected_alpha, rel=0.01)
    model = path[best]
    options = {} if structure == "identity" else {"output_kernel": model.output_kernel_}
    again = certify(
        K, Y, model.dual_coef_, alpha=model.alpha, structure=structure, **options
    )
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert again.status == "optimal"
