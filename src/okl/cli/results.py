"""What a fit writes besides its model: the output kernel, pictures and the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from okl.cli.class_tree_report import HeldOutClasses
from okl.cli.data import Data
from okl.cli.held_out import held_out_predictions
from okl.cli.outputs import ComparedOutputs
from okl.cli.pictures import draw, draw_class_tree
from okl.cli.preprocessing import encoded_names
from okl.cli.report import write_report
from okl.cli.rivals import constants_of, rivals_of
from okl.cli.search import Candidate, Outcome
from okl.cli.settings import label
from okl.cli.storage import TableModel
from okl.cli.sureness import FILE as SURENESS_FILE
from okl.cli.sureness import Sureness
from okl.cli.tables import write_matrix
from okl.cli.truth import Truth
from okl.cli.verdict import by_likelihood, to_compare
from okl.estimators.score_of_numbers import ScoreOfNumbers


def write_results(
    folder: Path,
    source: str,
    data: Data,
    X: np.ndarray,
    outcome: Outcome,
    kept: Candidate,
    model: TableModel,
    stability: int | None,
    note: Callable[[str], None],
) -> str:
    """Write what was found into a folder, and return the report.

    Parameters
    ----------
    folder : Path
    source : str
        The file of the table.
    data : Data
        The data of the fit.
    X : array (n_samples, n_columns)
        The encoded features.
    outcome : Outcome
        The result of the search.
    kept : Candidate
        The candidate that is saved.
    model : TableModel
        The model that is saved.
    stability : int or None
        Number of parts of the rows for fits that show how sure relations are.
    note : callable
        Called with a line to show before more work begins.
    """
    outputs, score_name = _output_names(data, outcome, kept), _score_name(data, outcome)
    write_matrix(kept.model.output_kernel_, outputs, folder / "output_kernel.csv")
    related, tree = to_compare(outcome), model.class_tree
    pair = [label(c.structure) for c in dict.fromkeys([outcome.baseline, related])]
    saved = label(kept.structure)
    # for classes in a tree the report has the accuracies of all candidates
    held_out = {
        name: held_out_predictions(data, X, outcome, candidate)
        for candidate in outcome.candidates
        if (name := label(candidate.structure)) in pair or tree is not None
    }
    classes = None
    if tree is not None:
        classes = HeldOutClasses(tree, data.y, held_out, saved)
        draw_class_tree(folder, classes)
    sureness = None
    if stability is not None:
        ids, n_jobs = outcome.ids, outcome.search.n_jobs
        sureness = Sureness.of(
            data, X, ids, related, related is kept, stability, note, n_jobs
        )
        sureness.write(outputs, folder / SURENESS_FILE)
    stable = sureness.stability if sureness else None
    named = outputs
    if data.single_classification and data.ids is None:  # two classes have one output
        named = [str(name) for name in kept.model.classes_]
    truth = Truth.of(data, outcome.ids, named, outcome.search.loss_)
    groups = None if data.groups is None else data.groups.values
    compared = ComparedOutputs.of(
        truth,
        {name: held_out[name] for name in pair},
        rivals_of(truth, X, outcome.folds, groups),
        constants_of(truth, outcome.folds),
        saved,
        data.groups,
    )
    report = write_report(
        source=source,
        data=data,
        outcome=outcome,
        kept=kept,
        encoded=encoded_names(model.pipeline[0]),
        outputs=outputs,
        compared=compared,
        relations=draw(folder, outcome, kept, related, outputs, score_name, stable),
        score_name=score_name,
        sureness=sureness,
        classes=classes,
    )
    (folder / "report.txt").write_text(report, encoding="utf-8")
    return report


def _output_names(data: Data, outcome: Outcome, kept: Candidate) -> list[str]:
    """Return the names of outputs: tasks, targets or classes (of two, the second)."""
    if data.ids is not None:
        return [str(name) for name in outcome.search.output_names_]
    if not data.single_classification:
        return list(data.target_kinds)
    classes = [str(name) for name in kept.model.classes_]
    return classes[-len(kept.model.output_kernel_) :]


def _score_name(data: Data, outcome: Outcome) -> str:
    """Return the name of the scores of the search."""
    if outcome.search.scoring is not None:
        return str(outcome.search.scoring)
    if by_likelihood(outcome):
        one = "row" if data.single_classification else "label"
        return f"log likelihood of a {one}"
    if data.task == "regression":
        name = ScoreOfNumbers.of(outcome.search.loss_).long_name
        return f"{name} of the targets" if data.ids is None else f"{name} of all rows"
    return "accuracy" if data.single_classification else "accuracy of whole rows"
