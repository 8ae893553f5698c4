"""The report of a fit: one page of text.

It says what the data were, what was searched, how the structures compare, whether
learning the relations improved predictions, how close to optimal the saved model
provably is, and which outputs it relates most.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

import okl
from okl.cli.class_tree_report import FILES as TREE_FILES
from okl.cli.class_tree_report import HeldOutClasses
from okl.cli.columns import Kind
from okl.cli.data import Data
from okl.cli.errors import listing, shown
from okl.cli.kernel_label import kernel_label
from okl.cli.layout import WIDTH, aligned, pairs, section
from okl.cli.outputs import ComparedOutputs
from okl.cli.pictures import OF_RELATIONS
from okl.cli.relations import Relations
from okl.cli.rivals import frequencies_score
from okl.cli.search import Candidate, Outcome
from okl.cli.settings import label
from okl.cli.sureness import Sureness
from okl.cli.verdict import Estimate, by_likelihood, gain, verdict, with_error

FILES = {
    "model.skops": "the model, for okl predict",
    "output_kernel.csv": "the matrix that relates its outputs",
    "output_kernel.png": "correlations of the outputs as a heat map",
    "output_graph.png": "the strongest correlations as a graph",
    "path.png": "scores of all structures and alphas",
    "report.txt": "this report",
}
_PER_OUTPUT = ", the geometric mean; held-out rows give each output its own"


def write_report(
    *,
    source: str,
    data: Data,
    outcome: Outcome,
    kept: Candidate,
    encoded: Sequence[str],
    outputs: Sequence[str],
    compared: ComparedOutputs,
    relations: Relations,
    score_name: str,
    sureness: Sureness | None = None,
    classes: HeldOutClasses | None = None,
) -> str:
    """Return the report.

    Parameters
    ----------
    source : str
        The file of the table.
    data : Data
        The data of the fit.
    outcome : Outcome
        The result of the search.
    kept : Candidate
        The candidate that is saved.
    encoded : sequence of str
        Names of the encoded columns, which the kernel takes.
    outputs : sequence of str
        Names of the outputs.
    compared : ComparedOutputs
        The held-out scores of each output.
    relations : Relations
        The strongest relations.
    score_name : str
        The name of the scores.
    sureness : Sureness, optional
        How sure the relations are, if that was asked for.
    classes : HeldOutClasses, optional
        For classes in a tree, the held-out rows.
    """
    search = outcome.search
    n_folds = search.scores_.shape[-1]
    together = ""
    if data.groups is not None:
        together = f", the rows of a {data.groups.name} in the same one"
    settings = (
        _kernels(outcome)
        | {
            "alphas": f"{search.alphas_.shape[1]} for each structure"
            + _PER_OUTPUT * (np.ndim(search.alpha_) > 0),
            "folds": f"{n_folds}, shuffled, the same for all structures{together}",
            "score": f"held-out {score_name}",
        }
        | _relevances(search, encoded)
    )
    files = FILES | ({} if sureness is None else sureness.files)
    if len(outputs) == 1:
        files = {name: what for name, what in files.items() if name not in OF_RELATIONS}
    files |= {} if classes is None else TREE_FILES
    sections = [
        section(f"okl {okl.__version__}: report of a fit", [], underline="="),
        section("Data", pairs(_describe(source, data, len(encoded), outputs))),
        section(
            "Search",
            [
                *pairs(settings),
                "",
                *_comparison(outcome, kept),
                *_of_frequencies(data, outcome),
            ],
        ),
        section(
            "Did relating the outputs pay?",
            [fill(line, WIDTH - 2) for line in verdict(outcome, len(outputs))],
        ),
        section(
            f"Held-out scores of the outputs: {compared.truth.score_name}",
            compared.lines(np.asarray(kept.model.alpha)),
        ),
        section("Certificate of the saved model", _certificate(kept)),
        *relations.sections(),
        *_of_sureness(sureness),
        *_of_classes(classes),
        section("Files", pairs(files)),
    ]
    return "\n\n".join(sections) + "\n"


def _describe(
    source: str, data: Data, n_encoded: int, outputs: Sequence[str]
) -> dict[str, str]:
    n_samples, n_features = data.features.shape
    texts = _of_kind(data.feature_kinds, "text")
    values = [f"{name} ({data.features[name].nunique()} values)" for name in texts]
    scaled = ", normalised" if data.task == "regression" else ""
    described = {
        "table": f"{shown(source)}, {n_samples} rows",
        "left out": _left_out(data),
        "targets": f"{len(data.target_kinds)}{scaled}: {listing(data.target_kinds, 6)}",
        "tasks": ""
        if data.ids is None
        else f"one a row, in the column {shown(data.ids.name)}",
        "outputs": f"{len(outputs)}: {listing(outputs, 10)}",
        "missing": missing_cells(data),
        "task": f"{data.task} ({data.reason})",
        "features": f"{n_features}: {_counts(data.feature_kinds)}",
        "text": listing(values, 6),
        "encoded": f"{n_encoded} columns: numbers standardised, others one-hot",
    }
    return {name: text for name, text in described.items() if text}


def _left_out(data: Data) -> str:
    """Say which rows and columns of the table are not used."""
    rows = f"{data.n_left_out} rows with an empty cell" * (data.n_left_out > 0)
    columns = f"columns {listing(data.ignored, 6)}" * bool(data.ignored)
    return ", ".join(filter(None, [rows, columns]))


def _kernels(outcome: Outcome) -> dict[str, str]:
    """Say which kernels were tried, and which of several all structures have."""
    results = outcome.search.cv_results_["param_kernel"]
    kernels = {id(kernel): kernel for kernel in results}
    tried = list(dict.fromkeys(map(kernel_label, kernels.values())))
    if len(tried) == 1:
        return {"kernels": tried[0]}
    described = {"kernels": f"{len(tried)}: {', '.join(tried)}"}
    kernel, *others = {kernel_label(each.model.kernel) for each in outcome.candidates}
    if not others:
        described["chosen"] = f"{kernel}, with every structure"
    return described


def _relevances(search: Any, encoded: Sequence[str]) -> dict[str, str]:
    """Say how much each column counts, if the kernel was learned."""
    shares = getattr(search, "feature_relevances_", None)
    if shares is None:
        return {}
    order = np.argsort(-shares, kind="stable")
    return {"columns": listing((f"{encoded[j]} {shares[j]:.0%}" for j in order), 8)}


def missing_cells(data: Data) -> str:
    """Say how many cells of the targets are empty, and in which; "" if none is."""
    total = len(data.features) * len(data.target_kinds)
    number = sum(data.missing.values())
    counts = listing((f"{name} ({n})" for name, n in data.missing.items()), 6)
    share = f"{number / total:.1%}"
    return f"{number} of {total} cells, {share}: {counts}" if number else ""


def _counts(kinds: dict[str, Kind]) -> str:
    counted = {
        kind: len(_of_kind(kinds, kind)) for kind in ("number", "text", "boolean")
    }
    return ", ".join(f"{count} {kind}" for kind, count in counted.items() if count)


def _of_kind(kinds: dict[str, Kind], kind: str) -> list[str]:
    return [name for name, found in kinds.items() if found == kind]


def _comparison(outcome: Outcome, kept: Candidate) -> list[str]:
    rows = [["  structure", "alpha", "mean score", "minus identity", "rank"]]
    kernels = {}
    for candidate in outcome.candidates:
        is_baseline = candidate is outcome.baseline
        difference = gain(candidate, outcome.baseline)
        name = label(candidate.structure)
        kernels[name] = kernel_label(candidate.model.kernel)
        rows.append(
            [
                f"{'*' if candidate is kept else ' '} {name}",
                f"{candidate.alpha:.3g}",
                with_error(Estimate.of(candidate.scores)),
                "" if is_baseline else with_error(difference, signed=True),
                f"{candidate.model.rank_}",
            ]
        )
    one_kernel = len(set(kernels.values())) == 1  # it is named above
    own = "alpha" if one_kernel else "kernel and alpha"
    return [
        *aligned(rows),
        "",
        *([] if one_kernel else [*pairs(kernels), ""]),
        f"* the saved model. Each structure has its own best {own}; ± is one",
        "standard error over the folds, of paired differences in their column.",
    ]


def _of_frequencies(data: Data, outcome: Outcome) -> list[str]:
    """Say what the score of the frequencies of classes, or labels, would be."""
    if not by_likelihood(outcome) or data.ids is not None:
        return []
    y = np.asarray(data.y, dtype=None if data.single_classification else np.float64)
    score = frequencies_score(y, outcome.folds)
    whose = "classes" if data.single_classification else "each label"
    return [
        "",
        f"The frequencies of {whose} in the training rows have the score {score:.4f}.",
    ]


def _of_classes(classes: HeldOutClasses | None) -> list[str]:
    """Return the sections about classes in a tree."""
    if classes is None:
        return []
    return [
        section("Classes, and how many held-out rows", classes.short_drawing()),
        section("Held-out accuracy by level", aligned(classes.levels())),
        section("Largest confusions between relatives", classes.confusions()),
    ]


def _of_sureness(sureness: Sureness | None) -> list[str]:
    """Return the section about how sure the relations are, if that was asked for."""
    if sureness is None:
        return []
    lines = [fill(line, WIDTH - 2) for line in sureness.lines()]
    return [section("How sure are the relations?", lines)]


def _certificate(kept: Candidate) -> list[str]:
    certificate = kept.model.certificate_
    return [
        *pairs(
            {
                "objective": f"{certificate.primal:.10g}",
                "lower bound": f"{certificate.dual:.10g}",
                "gap": f"{certificate.relative_gap:.2g} of the objective",
                "status": certificate.status,
            }
        ),
        fill(certificate.message, WIDTH - 2),
        *_shifted(kept.model),
    ]


def _shifted(model: Any) -> list[str]:
    """Say that predictions are moved, if they are."""
    if not np.any(getattr(model, "shift_", 0.0)):
        return []
    said = (
        "Predictions of the quantile are moved by errors of held-out rows (shift_): a "
        "fit is nearer to its own targets than to others. The certificate is that of "
        "the fit, without this."
    )
    return ["", fill(said, WIDTH - 2)]
