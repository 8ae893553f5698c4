"""New rows of which some outputs are observed: one model for all patterns, and rivals.

A draw takes training rows and new rows of a set at random. In the new rows each output
is observed with a probability of 20, 50 or 80 %, and the others are predicted from the
inputs and from what was observed. The error is the squared error of an output divided
by its variance in the new rows, the mean over outputs and over five draws, ± its
standard error.

**okl** is `OutputKernelImputer()`, nothing set, fitted once to the training rows for
all shares and patterns. **rounds, linear** is `IterativeImputer()` (with
`BayesianRidge`), **rounds, forest** that of a random forest of 50 trees, five rounds,
and **neighbours** `KNNImputer`: fitted to training and new rows together, anew for each
share, inputs beside outputs. **forest** (100 trees) and **process** (a
`GaussianProcessRegressor` with noise and a width for each column, by marginal
likelihood) are one model for each output and each share; the other outputs are inputs
too, with means for what is missing, and as many of these entries are made missing in
the training rows. **multitask process** is GPyTorch's Gaussian process of all outputs
(a Gaussian kernel with a width for each column times a matrix of rank two plus a
diagonal, a noise for each output, 100 steps of Adam), fitted to the training rows and
conditioned on them and on what is given of all new rows; it is run only where there are
at most 500 training targets, since its time is cubic in their number. Trivial rivals:
**from inputs** is `OutputKernelRegressorCV(structures="identity")`, independent outputs
with a kernel learned for them, **from inputs, chosen** the same with
``structures=["identity", "frobenius"]``, and **mean** that of the training targets. All
else is as in the libraries. Columns of inputs and outputs are standardised for all
methods.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time

import numpy as np
from benchmarks.measure import machine
from scipy.stats import rankdata

from reproductions.comparing import with_error
from reproductions.completing_rivals import METHODS, MULTITASK, Draw, runs_here
from reproductions.multitask_process import INSTALLED
from reproductions.real_sets import real_sets
from reproductions.report import data_folder, save_figure, table, write_page
from reproductions.study import Key, Record, Study, pursue

NAME = "partly_observed"
SHARES, N_DRAWS = (0.2, 0.5, 0.8), 5
# The most training rows, and new ones.
N_TRAIN, N_NEW = 200, 200
MULAN = ("slump", "andro", "enb", "sarcos4449", "rf1")
SETS = ("metals", "exchange rates", "weather", "EEG", *MULAN)
INDEPENDENT, CHOSEN = "from inputs", "from inputs, chosen"
# Those that have no part in ranks.
TRIVIAL = (INDEPENDENT, CHOSEN, "mean")
RIVALS = [method for method in METHODS if method not in TRIVIAL]
# Those that run on sets of all sizes.
RANKED = [method for method in RIVALS if method != MULTITASK]


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, inputs and outputs of every set."""
    signals = data_folder("signals")
    with np.load(signals / "jura.npz", allow_pickle=True) as stored:
        yield "metals", stored["xy"], stored["Y"].astype(float)
    with np.load(signals / "exchange2007.npz", allow_pickle=True) as stored:
        days = stored["julian_day"].astype(float)
        yield "exchange rates", days[:, None], stored["Y"].astype(float)
    with np.load(signals / "weather_solent.npz", allow_pickle=True) as stored:
        kept = [
            j
            for j, name in enumerate(stored["target_names"])
            if str(name).endswith(("WSPD", "ATMP"))
        ]
        Y = stored["Y"][:, kept].astype(float)
        yield "weather", np.arange(len(Y), dtype=float)[:, None], Y
    with np.load(signals / "eeg_smni.npz", allow_pickle=True) as stored:
        frontal = np.isin(
            stored["channel_names"], ["F1", "F2", "F3", "F4", "F5", "F6", "FZ"]
        )
        Y = stored["Y"][0][:, frontal].astype(float)
        yield "EEG", np.arange(len(Y), dtype=float)[:, None], Y
    for name, X, Y in real_sets():
        if name in MULAN:
            yield name, np.where(np.isnan(X), np.nanmean(X, axis=0), X), Y


def _n_train(n_rows: int) -> int:
    return min(N_TRAIN, 3 * n_rows // 4)


def drawn(X: np.ndarray, Y: np.ndarray, seed: int) -> tuple[Draw, np.ndarray]:
    """Return a draw and the targets of its new rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    n_train = _n_train(len(X))
    train, new = order[:n_train], order[n_train:][:N_NEW]
    varying = X[train].std(axis=0) > 0
    X = (X - X[train].mean(axis=0))[:, varying] / X[train].std(axis=0)[varying]
    Y = (Y - np.nanmean(Y[train], axis=0)) / np.nanstd(Y[train], axis=0)
    chance = rng.random(Y[new].shape)
    given = {share: np.where(chance < share, Y[new], np.nan) for share in SHARES}
    return Draw(X[train], Y[train], X[new], given, seed), Y[new]


def errors(method: str, X: np.ndarray, Y: np.ndarray, seed: int) -> Record:
    """Return the errors over variance of a method by share, and seconds."""
    draw, truth = drawn(X, Y, seed)
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # edges of bounds, rounds that end early
        found = METHODS[method](draw)
    seconds = process_time() - start
    variance = np.nanvar(truth, axis=0)
    shares = []
    for share in SHARES:
        squares = np.where(
            np.isnan(draw.given[share]), (found[share] - truth) ** 2, np.nan
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an output that is observed everywhere
            shares.append(float(np.nanmean(np.nanmean(squares, axis=0) / variance)))
    return {"errors": shares, "seconds": round(seconds, 2)}


def jobs(
    sets: list[str], methods: list[str]
) -> Iterator[tuple[Key, Callable[[], Record]]]:
    """Yield what is to be computed, set by set."""
    for name, X, Y in tables():
        n_targets = _n_train(len(X)) * Y.shape[1]
        for seed in range(N_DRAWS):
            for method in methods:
                if name in sets and runs_here(method, n_targets):
                    yield (name, seed, method), partial(errors, method, X, Y, seed)


# Of a set: errors (n_draws, n_shares) and seconds of each method.
Found = dict[str, tuple[np.ndarray, float]]


def results() -> dict[str, Found]:
    """Return what is there of every set: methods that have done all draws."""
    study, found = Study(NAME), {}
    for name in SETS:
        methods = {}
        for method in METHODS:
            records = study.of(name, method, N_DRAWS)
            if records is not None:
                errors = np.array([one["errors"] for one in records])
                seconds = [one["seconds"] for one in records]
                methods[method] = errors, float(np.mean(seconds))
        if all(method in methods for method in ("okl", *TRIVIAL)):
            found[name] = methods
    return found


def ranks(found: dict[str, Found]) -> tuple[int, str]:
    """Return on how many sets all methods ran, and the table of ranks and ratios."""
    everywhere = [one for one in found.values() if all(m in one for m in RANKED)]
    errors = [[one[m][0].mean(axis=0) for one in everywhere] for m in RANKED]
    places = dict(zip(RANKED, rankdata(errors, axis=0).mean(axis=1), strict=True))
    lines = []
    for method in RIVALS:
        place = places.get(method)
        if not any(method in one for one in found.values()):
            continue
        ranked = ["–"] * (1 + len(SHARES))
        if place is not None:
            ranked = [f"{place.mean():.2f}", *(f"{one:.2f}" for one in place)]
        logs = np.array(
            [
                np.log(one[method][0].mean(axis=0) / one["okl"][0].mean(axis=0))
                for one in found.values()
                if method in one
            ]
        )
        ratio = np.exp(logs.mean())
        spread = ratio * logs.mean(axis=1).std(ddof=1) / len(logs) ** 0.5
        lines.append(
            (
                method,
                *ranked,
                f"{ratio:.2f} ± {spread:.2f}",
                f"{np.sum(logs < 0)} of {logs.size}",
            )
        )
    head = ["method", "mean rank", *(f"{share:.0%} observed" for share in SHARES)]
    last = ["error over that of okl", "better than okl"]
    return len(everywhere), table([*head, *last], lines)


def by_set(found: dict[str, Found], share: int) -> str:
    """Return the errors of every set where a share was observed."""
    shown = [method for method in METHODS if method != CHOSEN]
    lines = []
    for name, methods in found.items():
        means = {m: methods[m][0][:, share].mean() for m in RIVALS if m in methods}
        best, cells = min(means, key=lambda method: means[method]), []
        for method in shown:
            text = "–"
            if method in methods:
                text = with_error(methods[method][0][:, share])
            cells.append(f"**{text}**" if method == best else text)
        lines.append((name, *cells))
    return table(["set", *shown], lines)


def from_inputs(found: dict[str, Found]) -> str:
    """Return how the structure that was chosen does beside independent outputs."""
    lines = []
    for name, methods in found.items():
        alone, chosen = (methods[one][0][:, 0] for one in (INDEPENDENT, CHOSEN))
        ratio = chosen.mean() / alone.mean()
        lines.append((name, with_error(alone), with_error(chosen), f"{ratio - 1:+.1%}"))
    return table(["set", "independent", "chosen", "more error"], lines)


def gains(found: dict[str, Found]) -> tuple[str, str]:
    """Return the gain over independent outputs by share, as a table and a picture."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    lines = []
    for name, methods in found.items():
        okl, alone = (methods[one][0].mean(axis=0) for one in ("okl", INDEPENDENT))
        gain = 1 - okl / alone
        lines.append((name, *(f"{one:.0%}" for one in gain)))
        axes.plot(100 * np.array(SHARES), 100 * gain, "o-", label=name)
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xlabel("observed of the other outputs of a row, %")
    axes.set_ylabel("less squared error than from inputs alone, %")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    picture = save_figure(figure, NAME)
    plt.close(figure)
    return table(["set", *(f"{share:.0%}" for share in SHARES)], lines), picture


def write() -> None:
    """Write the page of what is there."""
    found = results()
    sizes = {name: (*X.shape, Y.shape[1]) for name, X, Y in tables()}
    about = [
        (
            name,
            *sizes[name],
            _n_train(sizes[name][0]),
            *(f"{methods[m][1]:.1f}" if m in methods else "–" for m in RIVALS),
        )
        for name, methods in found.items()
    ]
    left = [name for name in SETS if name not in found]
    text = f"Not computed here: {', '.join(left)}.\n\n" if left else ""
    ran = INSTALLED or any(MULTITASK in methods for methods in found.values())
    multitask = (
        ""
        if ran
        else "\nGPyTorch is not installed here: its multitask process was not run.\n"
    )
    errors = "\n\n".join(
        f"{share:.0%} observed:\n\n{by_set(found, i)}" for i, share in enumerate(SHARES)
    )
    n_complete, places = ranks(found)
    gain, picture = gains(found)
    write_page(
        NAME,
        f"""# Outputs partly observed at new rows

`python -m reproductions {NAME}`. {__doc__.split(chr(10) * 2, 1)[1]}
{multitask}
## Ranks and ratios

Ranks are those on the {n_complete} sets where all methods were run, but for the
multitask process, which has none. *Error over that of
okl* is the geometric mean over sets and shares where a method was run, ± its standard
error over sets; *better than okl* counts sets and shares.

{places}

## Every set

In bold the least error of a row, trivial rivals aside. A dash: not run here, as slow.

{errors}

{text}Rows, inputs and outputs, training rows, and seconds of a processor for all
shares of a draw, on a machine that others used as well:

{table(["set", "rows", "inputs", "outputs", "training", *RIVALS], about)}

## Gain by share

How much less squared error okl has than independent outputs from inputs alone, on the
same entries:

{gain}

{picture}

## From inputs alone

Nothing given, on the entries that are missing where 20 % are observed.

{from_inputs(found)}

Machine: {machine()}.
""",
    )


def run() -> None:
    """Compute what is missing, and write the page."""
    pursue(Study(NAME), jobs(list(SETS), list(METHODS)))
    write()
