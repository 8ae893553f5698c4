"""The table of choice: what the documentation shows, and what ``"auto"`` does."""

from pathlib import Path

import numpy as np
import pytest

from okl.losses import Envelope, Hinge, Huber, Logistic, Squared, SquaredHinge
from okl.solvers import ObservedNewton, choice_table, choose_solver
from okl.solvers.choice import CHOICE, SOLVERS
from tests.instances import STRUCTURES
from tests.samples import solve, targets_for

DOCS = Path(__file__).parent.parent.parent / "docs" / "choosing.md"
N, M = 8, 4
# A problem of each row: its loss, and the weight of one target.
SQUARED = "squared, all targets or weighted rows"
PROBLEMS = {
    SQUARED: [(Squared(), None)],
    "squared, missing targets": [(Squared(), 0.0)],
    "curved in few entries": [
        (Envelope(Hinge(), 3.0, 0.1), None),
        (SquaredHinge(), None),
    ],
    # of several kernels: tests/solvers/test_term_ascent.py
    "with kinks; several kernels, curved in few": [(Hinge(), None), (Hinge(), 0.0)],
    "smooth, or any weights": [(Logistic(), None), (Huber(), 2.0), (Squared(), 2.0)],
}


def test_the_documentation_shows_it():
    assert choice_table() in DOCS.read_text()


def test_every_row_has_a_problem_and_every_solver_a_row():
    judged = [row.judged for row in CHOICE]
    # tests/estimators/test_several_kernels.py has these problems
    judged.remove("several kernels, smooth")
    # tests/solvers/test_observed_newton.py and test_observed_penalties.py these
    judged.remove("squared, few targets observed")
    assert judged == list(PROBLEMS)
    for cls in SOLVERS.values():
        assert f"`{cls.name}`" in choice_table()


@pytest.mark.parametrize("case", STRUCTURES, ids=lambda case: case.label)
@pytest.mark.parametrize(
    "row",
    [row for row in CHOICE if row.judged in PROBLEMS],
    ids=lambda row: row.judged,
)
def test_auto_takes_a_solver_of_the_row(row, case):
    structure = case.make(M)
    given = "known" in structure.capabilities
    for loss, weight in PROBLEMS[row.judged]:
        K, Y = targets_for(loss, N, M)
        weights = None if weight is None else np.ones_like(Y)
        if weights is not None:
            weights[0, 0] = weight
        options = {"loss": loss, "weights": weights, "max_iter": 1}
        problem = solve(K, Y, structure, 1.0, **options).formulation.problem
        chosen = type(choose_solver("auto", problem))
        allowed = row.given if given else row.learned
        if row.judged != SQUARED and not ObservedNewton().missing(problem):
            # so few targets are observed that a row above takes the problem
            allowed = (ObservedNewton,)
        assert chosen in allowed
        # and what it is preferred to does not fit
        for other in allowed[: allowed.index(chosen)]:
            assert other().missing(problem)
