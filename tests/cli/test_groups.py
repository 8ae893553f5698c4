"""okl fit --group-column: rows that belong together are held out together."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold

from okl import OutputKernelRegressorCV
from okl.cli.change import Change
from okl.cli.data import take_apart
from okl.cli.errors import UserError
from okl.cli.fit import Roles, _read
from okl.cli.folds import default_folds, folds_of, given_folds
from okl.cli.groups import Groups
from okl.cli.search import prepare, search_structures
from okl.cli.settings import parse_settings
from okl.cli.storage import load_model
from okl.cli.sureness import Sureness
from okl.inspection import output_kernel_stability
from tests.cli.conftest import FEW


def sample(n_groups=12, n_each=5):
    """Return targets that only the group of a row explains, and a column that names it.

    Rows of a group are near to each other.
    """
    rng = np.random.default_rng(0)
    places = np.repeat(rng.normal(size=(n_groups, 3)), n_each, axis=0)
    X = places + 0.01 * rng.normal(size=places.shape)
    Y = np.repeat(rng.normal(size=(n_groups, 2)), n_each, axis=0)
    table = pd.DataFrame(np.hstack([X, Y]), columns=["a", "b", "c", "u", "v"])
    patients = np.repeat([f"p{one}" for one in range(n_groups)], n_each)
    table.insert(0, "patient", patients)
    return table.sample(frac=1, random_state=0, ignore_index=True)


def report_of(okl, table, folder, *options):
    table.to_csv(folder / "table.csv", index=False)
    result = okl(
        *("fit", folder / "table.csv", "--target", "u", "--target", "v"),
        *("--out", folder / "out", *FEW, *options),
    )
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_scores_are_those_of_new_groups(okl, tmp_path):
    table = sample()
    report = report_of(okl, table, tmp_path, "--group-column", "patient")
    assert "structures, the rows of a patient in the same one" in " ".join(
        report.split()
    )
    model = load_model(tmp_path / "out" / "model.skops")
    assert list(model.features) == ["a", "b", "c"]
    scaled = model.pipeline[0].transform(table[["a", "b", "c"]])
    folds = GroupKFold(2, shuffle=True, random_state=0)
    search = OutputKernelRegressorCV(
        "rbf", ["frobenius", "identity"], alphas=[1.0, 0.1], cv=folds, search="compare"
    )
    patients, _ = pd.factorize(table["patient"])
    with pytest.warns(UserWarning, match="is the largest of its grid"):
        search.fit(scaled, table[["u", "v"]], groups=patients)
    # nothing is known of a new group, and of a known one everything
    assert search.best_score_ < 0.1
    assert f"{search.best_score_:.4f}" in report
    apart = report_of(okl, table.drop(columns="patient"), tmp_path)
    assert "the rows of a patient" not in " ".join(apart.split())
    assert re.search(r"identity +0\.1 +0\.9", apart)


@pytest.mark.parametrize("classes", [False, True])
def test_no_group_is_in_two_parts_of_a_fold(classes):
    table = sample()
    patterns = ["u", "v"]
    if classes:
        table["u"] = np.where(table["u"] > 0, "yes", "no")
        table, patterns = table.drop(columns="v"), ["u"]
    data = take_apart(table, patterns, None, None, "patient")
    folds = folds_of(data, 4, 0)
    held_out = np.concatenate([test for _, test in folds])
    assert sorted(held_out) == list(range(len(table)))
    patients = table["patient"].to_numpy()
    for train, test in folds:
        assert not set(patients[train]) & set(patients[test])
    search = prepare(data, parse_settings([], [], []), 4)
    assert len(search.cv) == 4
    np.testing.assert_array_equal(search.cv[0][1], folds[0][1])


def test_how_sure_relations_are_by_groups_left_out(okl, tmp_path):
    options = ("--group-column", "patient", "--stability", "3")
    table = sample(6)
    report = report_of(okl, table, tmp_path, *options)
    assert "part of the groups of patient, which are assumed" in " ".join(
        report.split()
    )
    data = take_apart(table, ["u", "v"], None, None, "patient")
    X, (groups, _) = data.features.to_numpy(), pd.factorize(table["patient"])
    settings = parse_settings(["rbf"], [], ["alphas=[1.0]"])
    outcome = search_structures(data, X, prepare(data, settings, 2))
    candidate = outcome.candidates[0]
    notes = []
    sure = Sureness.of(data, X, {}, candidate, True, 3, notes.append).stability
    expected = output_kernel_stability(
        candidate.model, X, data.y, n_resamples=3, groups=groups
    )
    np.testing.assert_array_equal(sure.correlation.draws, expected.correlation.draws)


def test_alphas_of_outputs_are_those_of_groups_left_out(okl, tmp_path):
    """Rows left out one by one are told by the others of their group."""
    options = ("--group-column", "patient", "--alpha-per-output", "--cv", "3")
    report_of(okl, sample(), tmp_path, *options)
    model = load_model(tmp_path / "out" / "model.skops").pipeline[-1]
    # of the two alphas the one that knows nothing of new groups best
    np.testing.assert_allclose(model.alpha, [1.0, 1.0])
    report_of(okl, sample().drop(columns="patient"), tmp_path, "--alpha-per-output")
    model = load_model(tmp_path / "out" / "model.skops").pipeline[-1]
    np.testing.assert_allclose(model.alpha, [0.1, 0.1])


def test_copies_of_rows_in_a_group_make_no_error_smaller():
    rng = np.random.default_rng(0)
    errors, others = rng.random((2, 30, 3))
    errors[4, 1] = np.nan
    once = Change.of(errors, others)
    table = pd.DataFrame({"site": np.tile(np.arange(30), 4)})
    groups = Groups.of(table, "site")
    four = Change.of(np.tile(errors, (4, 1)), np.tile(others, (4, 1)), groups)
    np.testing.assert_allclose(four.relative, once.relative)
    np.testing.assert_allclose(four.error, once.error)
    assert (once.over, four.over) == ("rows", "groups of site")


def test_groups_are_told_apart_as_they_are_written(tmp_path):
    ids = ["007", "7", "123456789012345678901", "123456789012345678902", "1.0", "1.00"]
    table = sample(6).assign(patient=ids * 5)
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    cells = _read(path, Roles(["u"], None, "patient"), None, in_tree=False)
    assert Groups.of(cells, "patient").n_groups == 6
    cells["patient"] = [[1], [2], [3]] * 10
    with pytest.raises(UserError, match="of --group-column patient cannot name groups"):
        Groups.of(cells, "patient")
    cells["patient"] = pd.to_datetime(["2020-01-01", "2020-01-02"] * 15)
    assert Groups.of(cells, "patient").n_groups == 2


@pytest.mark.parametrize("in_tree", [False, True])
def test_a_pattern_of_classes_does_not_mean_the_groups(tmp_path, in_tree):
    table = sample(6).drop(columns="v").rename(columns={"patient": "u_patient"})
    path = tmp_path / "table.csv"
    table.assign(u=["001", "002", "010"] * 10).to_csv(path, index=False)
    cells = _read(
        path, Roles(["u*"], None, "u_patient"), "classification", in_tree=in_tree
    )
    with pytest.warns(UserWarning, match=r"u\* also matches u_patient.*--group-column"):
        data = take_apart(cells, ["u*"], "classification", None, "u_patient")
    assert sorted(set(data.y)) == ["001", "002", "010"]


def test_folds_by_default_all_have_rows():
    """Of four sites that differ in their classes, four folds leave one without any."""
    sites = [0, 1, 1, 1, 1, 1, 2, 3, 2, 2, 1, 1, 0, 1, 0, 2]
    kinds = [0, 0, 1, 1, 0, 2, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    table = pd.DataFrame({"a": np.arange(16.0), "kind": kinds, "site": sites})
    data = take_apart(table, ["kind"], "classification", None, "site")
    four = [test for train, test in folds_of(data, 4, 0)]
    assert min(map(len, four)) == 0
    three = [test for train, test in default_folds(data, 0)]
    assert len(three) == 3
    assert min(map(len, three)) > 0


def test_groups_without_targets_leave_no_fold_without_any():
    table = sample(5).sort_values("patient", ignore_index=True)
    table.loc[:4, ["u", "v"]] = np.nan
    data = take_apart(table, ["u", "v"], None, None, "patient")
    assert len(default_folds(data, 0)) == 4
    with pytest.raises(UserError, match="--cv 5 does not fit: it leaves a fold with"):
        given_folds(data, 5, 0)
    assert len(given_folds(data, 4, 0)) == 4
    table.loc[:19, ["u", "v"]] = np.nan  # all patients but one
    data = take_apart(table, ["u", "v"], None, None, "patient")
    with pytest.raises(UserError, match="no two folds with targets in both"):
        default_folds(data, 0)


def test_classes_of_one_group_each_are_refused():
    table = sample(6).drop(columns="v")
    table["u"] = (
        table["patient"]
        .map(dict.fromkeys(["p0", "p1", "p2"], "x"))
        .fillna(table["patient"])
    )
    with pytest.raises(UserError, match="each class has rows in one patient only"):
        take_apart(table.assign(u=table["patient"]), ["u"], None, None, "patient")
    assert take_apart(table, ["u"], None, None, "patient").groups.n_groups == 6


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--group-column", "site"], "no column is called --group-column site"),
        (["--group-column", "u"], "--target and --group-column are both u"),
        (
            ["--group-column", "same"],
            "same is x in each row; holding one group out takes at least two",
        ),
        (["--group-column", "gaps"], "gaps is empty in 2 of the 60 rows"),
        (
            ["--group-column", "patient", "--cv", "13"],
            "and there are 12 groups of them",
        ),
        (
            ["--group-column", "patient", "--stability", "13"],
            "at most the 12 groups of --group-column patient",
        ),
        (
            ["--group-column", "u", "--task", "classification"],
            "--target and --group-column are both u",
        ),
        (
            ["--task-column", "u", "--tree", "paths"],
            "--target and --task-column are both u",
        ),
        (
            ["--group-column", "patient", "--task-column", "patient"],
            "--task-column and --group-column are both patient",
        ),
    ],
)
def test_what_is_refused(okl, tmp_path, options, text):
    table = sample().assign(same="x")
    if "gaps" in options:
        table["gaps"] = table["patient"].mask(table.index < 2)
    table.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "u", "--out", tmp_path / "out"),
        *options,
    )
    assert result.exit_code == 2
    assert text in result.stderr
    assert not (tmp_path / "out").exists()
