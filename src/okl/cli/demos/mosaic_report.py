"""The report of the mosaic: what was compared, the verdict, and commands for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from textwrap import fill
from typing import Any

import numpy as np
from scipy.stats import sem

from okl import OutputKernelRegressorCV
from okl.cli.demos.reconstruction import LEARNED
from okl.cli.errors import one_line
from okl.cli.settings import label
from okl.datasets import Mosaic

_FILES = {
    "mosaic.csv": "the recorded value of each pixel",
    "hidden.csv": "the two others, with the truth",
    "mosaic.png": "true, recorded and predicted pictures",
    "output_kernel.csv": "the matrix that relates the channels",
    "output_kernel.png": "its correlations as a heat map",
    "report.txt": "this report",
}
_WIDTH = 80
# Per cent of the error: a smaller change does not count, however certain.
_SMALLEST_CHANGE = 1.0
# How parameters of kernels depend on the unit of the columns.
_POWERS = {"length_scale": 1, "gamma": -2}


def write_report(
    out: Path,
    mosaic: Mosaic,
    models: Mapping[str, OutputKernelRegressorCV],
    chosen: str,
    errors: Mapping[str, Sequence[float]],
) -> str:
    """Return the report.

    Parameters
    ----------
    out : Path
        Where the files are.
    mosaic : Mosaic
        The first square.
    models : mapping of str to OutputKernelRegressorCV
        The best model of each family on that square.
    chosen : str
        The family of learned relations with the best held-out score.
    errors : mapping of str to sequence of float
        The errors of each family, and of ``"interpolation"``: on the first square, and
        on all others if the family was tried there.
    """
    sections = [
        _titled(
            "okl demo: three colours from one recorded colour a pixel",
            _comparison(mosaic, models, chosen, errors),
            "=",
        ),
        _titled("Did relating the outputs pay?", verdict(chosen, errors)),
        _titled(
            f"Certificate of {chosen}",
            [fill(models[chosen].certificate_.message, _WIDTH)],
        ),
        _titled(f"Files in {out}", [f"{n:19}{what}" for n, what in _FILES.items()]),
        _titled("The same by hand", by_hand(models[chosen], mosaic, out)),
    ]
    return "\n\n".join(sections) + "\n"


def verdict(chosen: str, errors: Mapping[str, Sequence[float]]) -> list[str]:
    """Say whether relations pay, by errors relative to independent channels by square.

    A change counts if it is larger than two standard errors, and than one per cent.
    """
    independent = np.array(errors["identity"])
    changes = {
        name: 100 * (np.array(errors[name]) / independent - 1)
        for name in (chosen, "mean", "interpolation")
    }
    line = max(2 * sem(changes[chosen]), _SMALLEST_CHANGE)
    mean = changes[chosen].mean()
    answer = "yes" if mean < -line else "no" if mean > line else "not shown"
    return [
        f"{chosen}: {answer}. The change of the error against independent channels "
        "(identity),",
        f"over {len(independent)} squares of the photograph, ± one standard error:",
        "",
        *(
            f"  {name:16}{values.mean():+6.1f} ± {sem(values):.1f} %"
            for name, values in changes.items()
        ),
        "",
        "Independent channels chose kernel and alpha anew on each square, related ones",
        "(also mean) on the first.",
    ]


def by_hand(model: OutputKernelRegressorCV, mosaic: Mosaic, out: Path) -> list[str]:
    """Return the commands that do the same with the tables.

    The commands standardise columns: lengths are then in standard deviations.
    """
    kernel: Any = model.kernel_
    unit = float(mosaic.X[:, 0].std())
    settings = {
        f"kernel__{name}": f"{value * unit ** -_POWERS.get(name, 0):.4g}"
        for name, value in kernel.get_params().items()
    }
    structure = model.structure_
    settings |= {f"structure__{n}": v for n, v in structure.get_params().items()}
    settings |= {"alphas": str(model.alphas), "tol": str(model.tol)}
    assigned = ["--set " + quote(f"{name}={value}") for name, value in settings.items()]
    fit = out / "fit"
    lines = [
        f"okl fit {quote(str(out / 'mosaic.csv'))}",
        "--target value --task-column channel",
        f"--kernel {kernel.name} --structure {structure.name}",
        *(" ".join(assigned[i : i + 3]) for i in range(0, len(assigned), 3)),
        f"--out {quote(str(fit))}",
    ]
    return [
        " \\\n    ".join(lines),
        f"okl predict {quote(str(fit / 'model.skops'))} "
        f"{quote(str(out / 'hidden.csv'))} \\\n"
        f"    --out {quote(str(out / 'predicted.csv'))}",
    ]


def _comparison(
    mosaic: Mosaic,
    models: Mapping[str, OutputKernelRegressorCV],
    chosen: str,
    errors: Mapping[str, Sequence[float]],
) -> list[str]:
    """Return a line for each model that was compared on the first square."""
    size, n_hidden = len(mosaic.image), int((~mosaic.recorded).sum())
    how = {"interpolation": "linear, each channel by itself"} | {
        name: f"{label(model.structure_)}, {one_line(model.kernel_)}, "
        f"alpha {model.alpha_:.2g}"
        for name, model in models.items()
    }
    return [
        fill(
            f"A square of {size} x {size} pixels, one random colour recorded at each. "
            f"The error is the root mean square over the {n_hidden} hidden values, "
            "which are from 0 to 1. Kernel, alpha and structure are those that predict "
            "held-out recorded values best.",
            _WIDTH,
        ),
        "",
        f"  {'channels':14}{'error':9}how",
        *(
            f"{'*' if name == chosen else ' '} {name:14}{errors[name][0]:<9.4f}{what}"
            for name, what in how.items()
        ),
        "",
        f"* the best of the learned relations ({', '.join(LEARNED)}) on",
        "  held-out recorded values. identity: independent channels; mean: channels",
        "  that are assumed alike, nothing learned.",
    ]


def _titled(title: str, lines: Sequence[str], underline: str = "-") -> str:
    return "\n".join([title, underline * len(title), *lines])
