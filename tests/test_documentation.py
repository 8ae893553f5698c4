"""The code that the pages show runs as it stands there, on data of the reader."""

import importlib
import re
from pathlib import Path

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = {
    page.name: re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    for page in PAGES
}


def rows_and_targets():
    """Return what most pages call X and Y, and other data of the reader."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 3))
    f = np.sin(X[:, 0]) + X[:, 1]
    Y = np.outer(f, [1.0, -1.0, 0.5]) + 0.2 * rng.normal(size=(70, 3))
    noisy = rng.normal(size=(70, 65))
    return {"X": X, "Y": Y, "y": Y[:, 0], "noisy": noisy, "school": np.arange(70) % 4}


def animals_and_plants():
    """Return rows of four classes, the leaves of the tree of docs/trees.md."""
    means = {
        "poodle": [0.0, 0.0, 0.0],
        "boxer": [0.0, 2.0, 1.0],
        "cat": [1.0, -2.0, 0.0],
        "oak": [4.0, 0.0, 3.0],
    }
    labels = np.repeat(list(means), 10)
    X = np.random.default_rng(0).normal([means[label] for label in labels])
    return {
        "X": pd.DataFrame(X, columns=["habitat", "coat", "height"]),
        "labels": labels,
    }


@pytest.mark.parametrize("page", [page for page, blocks in BLOCKS.items() if blocks])
def test_the_code_of_a_page_runs(page):
    known = animals_and_plants() if page == "trees.md" else rows_and_targets()
    # new processes would take longer than all the rest
    with joblib.parallel_config(backend="threading"):
        for block in BLOCKS[page]:
            exec(compile(block, page, "exec"), known)
    plt.close("all")


def test_the_page_of_the_api_has_what_modules_export():
    # without one of these Sphinx leaves out what a module imports from its files
    blocks = (ROOT / "docs" / "api.md").read_text().split(".. automodule:: ")[1:]
    assert len(blocks) > 10
    for block in blocks:
        name = block.split()[0]
        named = re.search(r":members: \w", block) or ":imported-members:" in block
        assert named or hasattr(importlib.import_module(name), "__all__"), name


def test_figures_of_the_readme_are_those_of_the_benchmarks():
    results = (ROOT / "benchmarks" / "results.md").read_text()
    measured = [float(x) for x in re.findall(r"\| ([\d.e+-]+) (?:s|GiB)\b", results)]
    page = (ROOT / "README.md").read_text()
    _, table = page.split("| work | okl | beside it, in the same run |")
    table = table.partition("\n\n")[0]
    cells = [cell for cell in table.split("|") if " paper" not in cell]
    told = re.findall(r"(\d[\d.]*)(?: to (\d[\d.]*))? (?:s|GiB)\b", " ".join(cells))
    figures = [figure for pair in told for figure in pair if figure]
    assert len(figures) > 25
    for figure in figures:
        # as many digits as the page has: 84 s stands for 83.5 to 84.5
        decimals = len(figure.partition(".")[2])
        unit = 10.0**-decimals * (1 + 1e-9)
        assert any(abs(x - float(figure)) <= unit / 2 for x in measured), figure
