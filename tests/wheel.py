"""A wheel of okl works where nothing is installed but what it requires.

    python -m tests.wheel

It is built, installed into a fresh environment, and used from a folder that is not the
checkout: what was left out of the wheel, or is imported without being required, fails.
What it requires is there in the oldest versions that are allowed, and every loss and
every structure is fitted: what asks for a newer one fails too.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tests.oldest import CHECKOUT, oldest

USE = """
import importlib.util, sys
from importlib.metadata import requires, version
from importlib.resources import files

import numpy as np
import okl, okl.cli, okl.datasets, okl.metrics, okl.plotting

assert okl.__file__.startswith(sys.prefix), okl.__file__
assert files("okl").joinpath("py.typed").is_file()
extras = "matplotlib networkx typer rich pandas pyarrow skops pytest cvxpy".split()
here = [name for name in extras if importlib.util.find_spec(name)]
assert not here, f"not required, yet installed: {here}"

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1], X[:, 1] - X[:, 2]])
holes = Y.copy()
holes[::7, 1] = np.nan
learned = "frobenius", "low_rank", "trace_ball", "sparse"
cluster = okl.structures.Cluster(n_clusters=2)
for structure in ("identity", "mean", *learned, cluster):
    for loss in ("squared", "huber", okl.losses.Quantile(0.3)):
        for targets in (Y, holes):
            model = okl.OutputKernelRegressor(
                structure=structure, loss=loss, alpha=0.1
            ).fit(X, targets)
            assert model.certificate_.status == "optimal", model.certificate_
            assert model.predict(X).shape == Y.shape
okl.OutputKernelRegressorCV(structures=["identity", "frobenius"], cv=2).fit(X, Y)
for loss in ("squared", "logistic", "softmax", "hinge", "squared_hinge"):
    model = okl.OutputKernelClassifier(loss=loss).fit(X, X[:, 0] > 0)
    assert model.score(X, X[:, 0] > 0) > 0.9
okl.OutputKernelClassifierCV().fit(X, X[:, 0] > 0).predict_proba(X)

try:
    okl.plotting.OutputKernelDisplay(np.eye(2)).plot()
except ImportError as error:
    assert "okl[plot]" in str(error), error
else:
    raise AssertionError("a picture without matplotlib")
print("okl", version("okl"), "works with", *sorted(
    f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn")
))
"""


def run(*command, folder, check=True, capture_output=False):
    """Run a command without what is on the path of this process."""
    return subprocess.run(
        command,
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        check=check,
        capture_output=capture_output,
        text=True,
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        pip = ("-m", "pip", "--quiet")
        build = (sys.executable, *pip, "wheel", "--no-deps", "--wheel-dir", folder)
        run(*build, CHECKOUT, folder=folder)
        (wheel,) = Path(folder).glob("okl-*.whl")
        fresh = Path(folder) / "fresh"
        venv.create(fresh, with_pip=True)
        python = fresh / "bin" / "python"
        held = Path(folder) / "oldest.txt"
        held.write_text(oldest())
        run(python, *pip, "install", "--constraint", held, wheel, folder=folder)
        run(python, *pip, "check", folder=folder)
        run(python, "-I", "-c", USE, folder=folder)
        command = (fresh / "bin" / "okl", "demo")
        found = run(*command, folder=folder, check=False, capture_output=True)
        if found.returncode != 2 or "okl[cli]" not in found.stderr:
            sys.exit(f"okl demo without its extra:\n{found.stdout}{found.stderr}")
    print("The command line, an extra, says how to install it.")


if __name__ == "__main__":
    main()
