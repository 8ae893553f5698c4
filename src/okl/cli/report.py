"""The report of a fit: one page of text.

What was learned from, what was searched, how the structures compare, whether learning
the relations paid, how close to optimal the saved model provably is, and which outputs
it relates most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill, indent

import okl
from okl.cli.columns import Kind
from okl.cli.data import Data
from okl.cli.errors import listing, one_line
from okl.cli.pictures import Relation
from okl.cli.search import Candidate, Outcome
from okl.cli.settings import label
from okl.cli.verdict import Estimate, gain, verdict

FILES = {
    "model.skops": "the model, for okl predict",
    "output_kernel.csv": "the matrix that relates the outputs",
    "output_kernel.png": "its correlations as a heat map",
    "output_graph.png": "its strongest correlations as a graph",
    "path.png": "scores of all structures and alphas",
    "report.txt": "this report",
}
_WIDTH = 80
_MOST_RELATIONS = 10


def write_report(
    *,
    source: str,
    data: Data,
    outcome: Outcome,
    n_encoded: int,
    outputs: Sequence[str],
    relations: Sequence[Relation],
    score_name: str,
) -> str:
    """Return the report.

    Parameters
    ----------
    source : str
        Where the table came from.
    data : Data
        What was learned from.
    outcome : Outcome
        What the search found.
    n_encoded : int
        Number of columns that the kernel sees.
    outputs : sequence of str
        Names of the outputs.
    relations : sequence of Relation
        The strongest first.
    score_name : str
        What the scores are.
    """
    search = outcome.search
    n_folds = search.scores_.shape[-1]
    settings = {
        "kernel": one_line(repr(search.kernel_)),
        "alphas": f"{search.alphas_.shape[1]} for each structure",
        "folds": f"{n_folds}, shuffled, the same for all structures",
        "score": f"held-out {score_name}",
    }
    sections = [
        _section(f"okl {okl.__version__}: report of a fit", [], underline="="),
        _section("Data", _pairs(_describe(source, data, n_encoded, outputs))),
        _section("Search", [*_pairs(settings), "", *_comparison(outcome)]),
        _section(
            "Did learning the relations pay?",
            [fill(line, _WIDTH - 2) for line in verdict(outcome, len(outputs))],
        ),
        _section("Certificate of the saved model", _certificate(outcome.chosen)),
        _section("Strongest relations", _strongest(relations)),
        _section("Files", _pairs(FILES)),
    ]
    return "\n\n".join(sections) + "\n"


def _describe(
    source: str, data: Data, n_encoded: int, outputs: Sequence[str]
) -> dict[str, str]:
    n_samples, n_features = data.features.shape
    texts = _of_kind(data.feature_kinds, "text")
    values = [f"{name} ({data.features[name].nunique()} values)" for name in texts]
    scaled = ", standardised" if data.task == "regression" else ""
    described = {
        "table": f"{source}, {n_samples} rows",
        "targets": f"{len(data.target_kinds)}{scaled}: {listing(data.target_kinds, 6)}",
        "tasks": ""
        if data.ids is None
        else f"one a row, in the column {data.ids.name}",
        "outputs": f"{len(outputs)}: {listing(outputs, 10)}",
        "missing": missing_cells(data),
        "task": f"{data.task} ({data.reason})",
        "features": f"{n_features}: {_counts(data.feature_kinds)}",
        "text": listing(values, 6),
        "encoded": f"{n_encoded} columns: numbers standardised, others one-hot",
    }
    return {name: text for name, text in described.items() if text}


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


def _comparison(outcome: Outcome) -> list[str]:
    rows = [["", "structure", "alpha", "mean score", "minus identity", "rank"]]
    for candidate in outcome.candidates:
        is_baseline = candidate is outcome.baseline
        rows.append(
            [
                "*" if candidate is outcome.chosen else "",
                label(candidate.structure),
                f"{candidate.model.alpha:.3g}",
                _with_error(Estimate.of(candidate.scores), "{:.4f}"),
                "" if is_baseline else _with_error(gain(candidate, outcome.baseline)),
                f"{candidate.model.rank_}",
            ]
        )
    return [
        *_aligned(rows),
        "",
        "* the saved model. Each structure is at its best alpha; ± is one standard",
        "error over the folds, of the paired difference in the column beside it.",
    ]


def _with_error(estimate: Estimate, form: str = "{:+.4f}") -> str:
    return f"{form.format(estimate.mean)} ± {estimate.error:.4f}"


def _certificate(chosen: Candidate) -> list[str]:
    certificate = chosen.model.certificate_
    return [
        *_pairs(
            {
                "objective": f"{certificate.primal:.10g}",
                "lower bound": f"{certificate.dual:.10g}",
                "gap": f"{certificate.relative_gap:.2g} of the objective",
                "status": certificate.status,
            }
        ),
        fill(certificate.message, _WIDTH - 2),
    ]


def _strongest(relations: Sequence[Relation]) -> list[str]:
    if not relations:
        return ["None: no two outputs are related."]
    return [
        "Correlations of the output kernel:",
        *(
            f"{relation.correlation:+.2f}  {relation.first} -- {relation.second}"
            for relation in relations[:_MOST_RELATIONS]
        ),
    ]


def _section(title: str, lines: Iterable[str], underline: str = "-") -> str:
    body = indent("\n".join(lines), "  ")
    return "\n".join([title, underline * len(title), *([body] if body else [])])


def _pairs(pairs: dict[str, str]) -> list[str]:
    width = max(map(len, pairs)) + 2
    return [f"{name:{width}}{text}" for name, text in pairs.items()]


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
