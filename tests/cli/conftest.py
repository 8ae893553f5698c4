"""Tables to fit, and the command line as a function."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from typer import testing
from typer.main import get_command

import okl as package
from okl.cli import pictures
from okl.cli.app import app
from tests.covering import MARKER

FEWER_ALPHAS = ["--set", "alphas=5"]
# For what no choice of kernel or alpha changes.
FEW = ["--kernel", "rbf", "--set", "alphas=[1.0, 0.1]", "--cv", "2"]
# Nor whether outputs are related.
SMALL = [*FEW, "--structure", "identity"]
# What a new process runs first for the command line alone: the rest of okl takes long
# to import.
ALONE = f"""
import sys, types
okl = sys.modules["okl"] = types.ModuleType("okl")
okl.__path__, okl.__version__ = {list(package.__path__)!r}, {package.__version__!r}
"""


@pytest.fixture(autouse=True)
def _leave_pictures_empty(request, monkeypatch):
    """Leave the files of pictures empty in `make test`.

    They take a third of the fit of a small table. Those of fixtures that several tests
    share are written before this one is set up, but for fits by `okl_without_pictures`,
    and `make test-all` writes all.
    """
    _leave_empty(request, monkeypatch)


def _leave_empty(request, monkeypatch):
    def save(display, path, title):
        plt.close(display.figure_)
        path.touch()

    if f"not {MARKER}" in request.config.option.markexpr:
        monkeypatch.setattr(pictures, "_save", save)


@pytest.fixture(scope="session")
def okl():
    """Run okl with these arguments; return exit code, stdout and stderr.

    Typer would make the command from the functions each time.
    """
    command = get_command(app)

    def run(*arguments):
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(testing, "_get_command", lambda app: command)
            result = testing.CliRunner().invoke(app, [*map(str, arguments)])
        # A SystemExit is how commands end; anything else would be a traceback.
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture(scope="session")
def okl_without_pictures(okl, request):
    """Run okl for a fixture whose pictures no test looks at."""

    def run(*arguments):
        with pytest.MonkeyPatch.context() as monkeypatch:
            _leave_empty(request, monkeypatch)
            return okl(*arguments)

    return run


@pytest.fixture(scope="session")
def related():
    """Numbers, text and truth values that explain four targets of several units."""
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame(rng.normal(size=(n, 2)), columns=["height", "width"])
    table["town"] = rng.choice(["Rome", "Oslo", "Bonn"], n)
    table["old"] = rng.random(n) < 0.4
    base = np.sin(2 * table["height"]) + (table["town"] == "Rome") - table["old"]
    for name, weight, unit in [("y_a", 1, 1), ("y_b", -1, 1e3), ("y_c", 0.8, 1e-2)]:
        table[name] = unit * (weight * base + 0.3 * rng.normal(size=n))
    table["other"] = base + rng.normal(size=n)
    return table


@pytest.fixture
def related_csv(related, tmp_path):
    path = tmp_path / "related.csv"
    related.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def fitted(okl, related, tmp_path_factory):
    """A folder with table.csv, and in it the results of a fit of all y_*."""
    folder = tmp_path_factory.mktemp("fitted")
    related.drop(columns="other").to_csv(folder / "table.csv", index=False)
    result = okl(
        *("fit", folder / "table.csv", "--target", "y_*", "--out", folder / "out"),
        *("--structure", "low_rank", "--structure", "frobenius", *FEWER_ALPHAS),
        *("--kernel", "rbf"),
    )
    assert result.exit_code == 0, result.stderr
    return folder, result
