"""The examples run, and okl does there what they show it for."""

import runpy
from pathlib import Path

import matplotlib as mpl
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(monkeypatch):
    mpl.use("agg")
    return lambda name: runpy.run_path(str(EXAMPLES / name))


@pytest.mark.product
def test_filling_in(run):
    errors = run("plot_filling_in.py")["errors"]
    assert min(errors, key=errors.get) == "okl"
    assert errors["okl"] < 0.8 * errors["neighbours"]
