"""okl fit: what it writes is what it learned."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold, cross_val_score

from okl import OutputKernelRegressor
from okl.cli.change import Change
from okl.cli.data import take_apart
from okl.cli.fit import fit_table
from okl.cli.groups import Groups
from okl.cli.held_out import held_out_predictions
from okl.cli.outputs import ComparedOutputs
from okl.cli.pictures import OF_RELATIONS
from okl.cli.preprocessing import encoder_for
from okl.cli.report import FILES
from okl.cli.search import prepare, search_structures
from okl.cli.settings import parse_settings
from okl.cli.storage import load_model
from okl.cli.tables import read_table
from okl.cli.targets import warn_of_constants
from okl.cli.truth import Truth
from okl.cli.verdict import answer, to_compare, to_keep, verdict
from okl.estimators.score_of_numbers import R2
from okl.metrics import r2_score
from okl.structures import LowRank
from tests.cli.conftest import FEWER_ALPHAS, SMALL
from tests.covering import later


def test_writes_exactly_the_files_it_promises(fitted):
    folder, result = fitted
    written = {path.name: path.stat().st_size for path in (folder / "out").iterdir()}
    assert set(written) == set(FILES)
    assert min(written.values()) > 0
    assert (folder / "out" / "report.txt").read_text() in result.stdout


def test_output_kernel_is_that_of_the_model(fitted):
    folder, _ = fitted
    L = pd.read_csv(folder / "out" / "output_kernel.csv", index_col=0)
    model = load_model(folder / "out" / "model.skops").pipeline[-1]
    assert list(L.columns) == list(L.index) == ["y_a", "y_b", "y_c"]
    np.testing.assert_array_equal(L, L.T)
    np.testing.assert_allclose(L, model.output_kernel_, rtol=1e-12)
    assert L.loc["y_a", "y_b"] < 0 < L.loc["y_a", "y_c"]


def test_predictions_are_in_the_units_of_the_table(fitted, related):
    folder, _ = fitted
    model = load_model(folder / "out" / "model.skops")
    predicted = model.predict(related)
    for name in ("y_a", "y_b", "y_c"):
        residual = related[name] - predicted[name]
        assert residual.std() < 0.6 * related[name].std()
        assert abs(residual.mean()) < 0.1 * related[name].std()


def test_pictures_are_png(fitted):
    folder, _ = fitted
    for name in ("output_kernel", "output_graph", "path"):
        head = (folder / "out" / f"{name}.png").read_bytes()[:8]
        assert head == b"\x89PNG\r\n\x1a\n"


def test_every_structure_has_its_independent_cross_validation_score(
    related_csv, tmp_path, related
):
    """Scores, and those of the identity nobody asked for, computed again by hand."""
    fit = fit_table(
        related_csv,
        ["y_*", "other"],
        tmp_path / "out",
        kernels=["rbf"],
        assignments=["alphas=5"],
    )
    features = related[["height", "width", "town", "old"]].astype({"old": str})
    X = encoder_for(fit.data.feature_kinds).fit_transform(features)
    Y = related[["y_a", "y_b", "y_c", "other"]]
    folds = KFold(5, shuffle=True, random_state=0)
    assert [c.structure.name for c in fit.outcome.candidates] == [
        "frobenius",
        "identity",
    ]
    for candidate in fit.outcome.candidates:
        model = OutputKernelRegressor(
            candidate.model.kernel, candidate.structure, candidate.model.alpha
        )
        scores = cross_val_score(model, X, Y, cv=folds)
        # targets are normalised by all rows in the search
        np.testing.assert_allclose(candidate.scores, scores, atol=0.01)
        row = next(
            line
            for line in fit.report.splitlines()
            if candidate.structure.name in line.split() and "±" in line
        )
        shown = row.split(")", 1)[-1].split()
        numbers = [float(word) for word in shown if word[0].isdigit()]
        assert candidate.model.alpha == pytest.approx(numbers[0], rel=1e-2)
        assert candidate.score == pytest.approx(numbers[1], abs=2e-4)
        error = candidate.scores.std(ddof=1) / len(scores) ** 0.5
        assert error == pytest.approx(numbers[2], abs=2e-4)
    # each structure with its own best kernel and alpha
    table = fit.outcome.search.cv_results_
    for candidate in fit.outcome.candidates:
        own = [
            repr(structure) == repr(candidate.structure) and stage == 2
            for structure, stage in zip(
                table["param_structure"], table["stage"], strict=True
            )
        ]
        assert candidate.score == table["mean_test_score"][own].max()


def independent(n_outputs, tmp_path):
    """A table of outputs that have nothing in common."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    table = pd.DataFrame(X, columns=list("abcd"))
    for j in range(n_outputs):
        table[f"y{j}"] = X[:, j] + 0.1 * rng.normal(size=60)
    table.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def test_independent_outputs_are_kept_unless_relations_paid(okl, tmp_path):
    """At a low rank that cannot hold them."""
    result = okl(
        *("fit", independent(4, tmp_path), "--target", "y?", "--out", tmp_path / "out"),
        *("--structure", "low_rank", "--set", "structure__rank=1", "--kernel"),
        *("linear", *FEWER_ALPHAS),
    )
    text = " ".join(result.stdout.split())
    assert "low_rank(rank=1): no." in text
    assert "The saved model has independent outputs (identity)" in text
    assert "* identity" in text
    assert "okl impute uses them" in text
    model = load_model(tmp_path / "out" / "model.skops").pipeline[-1]
    assert repr(model.structure_) == "Identity()"


def test_a_difference_too_small_to_use_is_not_shown(tmp_path):
    """Significant it may be: every fold is a little better, by the same amount."""
    fit = fit_table(
        independent(2, tmp_path),
        ["y?"],
        tmp_path / "out",
        kernels=["linear"],
        assignments=["alphas=5"],
    )
    learned, baseline = fit.outcome.candidates

    def judged(difference):
        path = np.broadcast_to(baseline.scores + difference, learned.path.shape)
        better = replace(learned, path=path)
        outcome = replace(fit.outcome, candidates=[better, baseline])
        return answer(better, outcome), to_keep(outcome) is better

    least = 0.01 * (1 - baseline.score)
    assert judged(0.9 * least) == ("not shown", False)
    assert judged(1.1 * least) == ("yes", True)
    assert judged(-0.9 * least) == ("not shown", False)
    assert judged(-1.1 * least) == ("no", False)
    # the best of those that paid, not of all: unsure ones may have a better score
    gains = 2 * least, 3 * least, least * np.array([90.0, -70.0, 0.0, 0.0, 0.0])
    paths = [
        np.broadcast_to(baseline.scores + one, learned.path.shape) for one in gains
    ]
    structures = [LowRank(1), LowRank(2), LowRank(3)]
    found = [
        replace(learned, structure=structure, path=path)
        for structure, path in zip(structures, paths, strict=True)
    ]
    outcome = replace(fit.outcome, candidates=[*found, baseline])
    assert found[2].score > found[1].score
    said = "is that of low_rank(rank=2), the best of those that paid."
    assert said in str(verdict(outcome, 2))
    outcome = replace(fit.outcome, candidates=[found[0], baseline])
    assert "is that of low_rank(rank=1), which paid." in str(verdict(outcome, 2))


def test_scores_of_the_outputs_are_in_the_report(okl, fitted, related):
    _, result = fitted
    section = result.stdout.split("Held-out scores of the outputs: R^2")[1]
    rows = dict(line.split()[:2] for line in section.splitlines()[3:6])
    assert list(rows) == ["y_a", "y_b", "y_c"]
    assert all(0 < float(score) < 1 for score in rows.values())


@pytest.mark.parametrize("suffix", ["parquet", "tsv.gz", *later("csv.gz", "tsv")])
def test_every_format_gives_the_model_of_the_csv(
    okl, fitted, related, tmp_path, suffix
):
    folder, _ = fitted
    path = tmp_path / f"table.{suffix}"
    table = related.drop(columns="other")
    if suffix == "parquet":
        table.astype({"town": "category"}).to_parquet(path)
    else:
        table.to_csv(path, sep="\t" if "tsv" in suffix else ",", index=False)
    okl(
        *("fit", path, "--target", "y_*", "--out", tmp_path / "out"),
        *("--structure", "low_rank", "--structure", "frobenius", *FEWER_ALPHAS),
        *("--kernel", "rbf"),
    )
    np.testing.assert_allclose(
        pd.read_csv(tmp_path / "out" / "output_kernel.csv", index_col=0),
        pd.read_csv(folder / "out" / "output_kernel.csv", index_col=0),
        rtol=1e-6,
    )


def test_text_labels_come_back_as_they_were(okl, related, tmp_path):
    levels = pd.cut(related["y_a"], [-9, 0, 1, 9], labels=["low", "mid", "high"])
    table = related[["height", "width", "town", "old"]].assign(level=levels)
    table.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "level"),
        *("--out", tmp_path / "out", *SMALL),
    )
    assert "classification (the target is text)" in result.stderr
    L = pd.read_csv(tmp_path / "out" / "output_kernel.csv", index_col=0)
    assert list(L.columns) == ["high", "low", "mid"]
    predicted = load_model(tmp_path / "out" / "model.skops").predict(table)["level"]
    assert (predicted == table["level"]).mean() > 0.7


def test_truth_values_are_labels(okl, related, tmp_path):
    table = related[["height", "town"]].assign(
        above=related["y_a"] > 0, below=related["y_b"] > 0
    )
    table.to_parquet(tmp_path / "table.parquet")
    result = okl(
        *("fit", tmp_path / "table.parquet", "--target", "above", "--target", "below"),
        *("--out", tmp_path / "out", "--loss", "squared", *SMALL),
    )
    assert "classification (the targets are truth values)" in result.stderr
    predicted = load_model(tmp_path / "out" / "model.skops").predict(table)
    assert list(predicted.dtypes) == [bool, bool]
    assert (predicted == table[["above", "below"]]).to_numpy().mean() > 0.7


def test_zeros_and_ones_are_labels_when_asked(okl, related, tmp_path):
    table = related[["height", "town"]].assign(
        above=(related["y_a"] > 0).astype(int), below=(related["y_b"] > 0).astype(int)
    )
    table.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "[ab]*", "--out", tmp_path / "o"),
        *("--task", "classification", *SMALL),
    )
    assert "log likelihood of a label" in result.stdout
    predicted = load_model(tmp_path / "o" / "model.skops").predict(table)
    assert list(predicted.columns) == ["above", "below"]
    assert set(np.unique(predicted)) == {0, 1}


def test_a_class_of_few_rows_is_said_once(okl, related, tmp_path):
    rare = np.where(np.arange(len(related)) < 2, "rare", related["town"])
    table = related[["height", "width"]].assign(town=rare)
    table.to_csv(tmp_path / "t.csv", index=False)
    result = okl(
        *("fit", tmp_path / "t.csv", "--target", "town", "--out", tmp_path / "out"),
        *("--cv", "3", "--kernel", "rbf", "--set", "alphas=[1.0, 0.1]"),
    )
    assert result.exit_code == 0, result.stderr
    lines = [line for line in result.stderr.splitlines() if "class" in line]
    assert len(lines) == 2  # the task is the other
    assert "no test row in some of the 3 folds: 'rare'" in lines[1]


def test_two_classes_are_one_output(related, tmp_path):
    table = related[["height", "town"]].assign(sign=(related["y_a"] > 0) * 2 - 1)
    table.to_csv(tmp_path / "t.csv", index=False)
    fit = fit_table(
        tmp_path / "t.csv",
        ["sign"],
        tmp_path / "out",
        task="classification",
        kernels=["rbf"],
        assignments=["alphas=[1.0, 0.1]"],
        n_folds=2,
    )
    L = pd.read_csv(tmp_path / "out" / "output_kernel.csv", index_col=0)
    assert list(L.columns) == ["1"]
    assert verdict(fit.outcome, 1)[0].startswith("There is one output")
    assert "okl impute" not in " ".join(verdict(fit.outcome, 2))
    assert set(load_model(tmp_path / "out" / "model.skops").predict(table)["sign"]) == {
        -1,
        1,
    }


def test_what_the_search_takes_is_said_before(fitted):
    folder, result = fitted
    data = take_apart(read_table(folder / "table.csv"), ["y_*"], None, None)
    settings = parse_settings(["rbf"], ["low_rank", "frobenius"], FEWER_ALPHAS[1:])
    rows = encoder_for(data.feature_kinds).fit_transform(data.features)
    said = prepare(data, settings, None).forecast(rows, data.y)
    assert said.plan.endswith("with 3 structures at 5 alphas on 5 folds")
    assert f"search: {said}; " in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("given", "way"), [([], "compare"), (["staged"], "compare"), (["full"], "full")]
)
def test_every_structure_gets_scores_to_compare(fitted, given, way):
    folder, _ = fitted
    data = take_apart(read_table(folder / "table.csv"), ["y_*"], None, None)
    assignments = [f"search={name}" for name in given]
    settings = parse_settings(["rbf"], ["frobenius"], assignments)
    assert prepare(data, settings, None).search == way


def test_settings_reach_kernel_structure_and_search(okl, related_csv, tmp_path):
    result = okl(
        *("fit", related_csv, "--target", "y_*", "--out", tmp_path / "out"),
        *("--structure", "low_rank", "--structure", "frobenius", "--cv", "3"),
        *("--set", "structure__rank=2", "--set", "kernel__gamma=0.25"),
        *("--set", "alphas=[0.5, 2.0]", "--set", "scoring=neg_mean_squared_error"),
    )
    assert "Gaussian(gamma=0.25)" in result.stdout
    assert "low_rank(rank=2)" in result.stdout
    assert "2 for each structure" in result.stdout
    assert "folds    3" in result.stdout
    assert "held-out neg_mean_squared_error" in result.stdout


@pytest.mark.parametrize(
    ("scores", "listed", "rest"),
    [
        ({"frobenius": 0.5 + np.arange(25) / 100}, "y24", "which differ less"),
        ({"frobenius": np.full(25, 0.5)}, "y0", "whose scores are nearer to zero"),
        ({}, "y0", "whose scores are nearer to zero"),
    ],
)
def test_of_many_outputs_those_that_tell_most_are_listed(scores, listed, rest):
    alone = {"identity": np.full(25, 0.5)}
    alone["identity"][-1] = np.nan if not scores else 0.5
    lines = compared(alone | scores).lines(np.asarray(1.0))
    assert listed in [line.split()[0] for line in lines if line]
    assert f"and 5 more, {rest}" in lines


def compared(scores, change=None, saved="identity", n=25):
    """What a report shows of outputs y0, y1, ..."""
    names = [f"y{j}" for j in range(n)]
    truth = Truth(np.zeros((9, n)), names, None, R2, False)
    means = {name: np.mean(one) for name, one in scores.items()}
    poor = scores[saved] <= 0
    return ComparedOutputs(truth, scores, {}, means, saved, change, None, poor)


def said_of(found):
    return " ".join(" ".join(found.lines(np.asarray(1.0))).split())


def test_outputs_that_relations_impair_are_named():
    change = Change(np.zeros(25), np.full(25, 0.05), "rows")
    change.relative[[3, 20, 24]] = 0.2, 0.3, 0.12  # the last by two standard errors
    change.relative[5], change.error[5] = 1e-15, 0.0  # rounding
    scores = {"identity": np.full(25, 0.5), "frobenius": np.full(25, 0.51)}
    said = said_of(compared(scores, change))
    assert "y20 (+30.0% ± 5.0%), y3 (+20.0% ± 5.0%). Where these count" in said
    change.relative[:] = -0.3
    change.relative[0] = np.nan
    assert "Clearly worse" not in said_of(compared(scores, change))


def test_outputs_for_which_a_constant_is_as_good_are_named():
    scores = {"identity": np.array([0.5, 0.0, -0.1]), "mean": np.full(3, 0.2)}
    said = "mean of the training rows predicts {} as well as the saved model"
    assert said.format("y1, y2") in said_of(compared(scores, n=3))
    assert "as well as" not in said_of(compared(scores, n=3, saved="mean"))
    scores["identity"] = np.array([-0.5, -0.1, np.nan])
    assert said.format("each output") in said_of(compared(scores, n=3))


def test_a_rival_that_is_clearly_better_is_named():
    rng = np.random.default_rng(0)
    Y, noise = rng.normal(size=(2, 50, 2))
    truth = Truth(Y, ["y0", "y1"], None, R2, False)
    own, said = {"identity": Y + noise}, "ridge is linear in the columns, with alphas"
    better = Y + 0.9 * noise
    better[0, 0] = np.nan
    for ridge, told in ((better, True), (Y + 1.001 * noise, False)):
        found = ComparedOutputs.of(truth, own, {"ridge": ridge}, None, "identity", None)
        assert said in said_of(found)
        assert ("than the saved model, with -19.0% ±" in said_of(found)) == told
    unsure = Y + 0.8 * rng.normal(size=(50, 2))
    found = ComparedOutputs.of(truth, own, {"ridge": unsure}, None, "identity", None)
    assert found.to_ridge.relative[0] < -0.02
    assert "than the saved" not in said_of(found)
    words = [line.split() for line in found.lines(np.asarray(1.0))]
    expected = [truth.overall(one) for one in (Y + noise, unsure)]
    assert ["mean", *(f"{one:.4f}" for one in expected)] in words


def test_all_are_scored_on_the_rows_that_structures_predict():
    rng = np.random.default_rng(0)
    Y, noise = rng.normal(size=(2, 50, 2))
    truth = Truth(Y, ["y0", "y1"], None, R2, False)
    found = (Y + noise).astype(object)
    found[:20] = np.nan
    ridge = np.where(np.arange(50)[:, None] < 20, 99.0, Y + noise)
    compared = ComparedOutputs.of(
        truth, {"identity": found}, {"ridge": ridge}, None, "identity", None
    )
    np.testing.assert_allclose(compared.rivals["ridge"], compared.scores["identity"])
    ridge[:, 1] = np.nan  # an output that only one of them has
    compared = ComparedOutputs.of(
        truth, {"identity": found}, {"ridge": ridge}, None, "identity", None
    )
    assert compared.overall["identity"] == pytest.approx(compared.overall["ridge"])


@pytest.mark.parametrize(
    ("task", "one_class", "groups", "advice"),
    [
        (None, False, None, "--kernel linear --alpha-per-output fits"),
        (None, True, None, "wrong answers; --kernel linear fits"),
        (np.zeros(60), False, None, "squared error. "),
        (
            None,
            False,
            Groups("g", np.arange(60)),
            "squared error; --kernel linear fits",
        ),
    ],
)
def test_the_advice_can_be_followed(task, one_class, groups, advice):
    rng = np.random.default_rng(0)
    y = rng.normal(size=(60, 1))
    poor, good = y + rng.normal(size=(60, 1)), y + 0.1 * rng.normal(size=(60, 1))
    if one_class:
        y, poor, good = np.repeat(["a", "b"], 30), np.repeat("a", 60), None
        good = y
    measure = None if one_class else R2
    names = ["a", "b"] if one_class else ["0.0" if task is not None else "y"]
    truth = Truth(y, names, task, measure, one_class)
    found = ComparedOutputs.of(
        truth,
        {"identity": poor.astype(object)},
        {"ridge": good.astype(object)},
        None,
        "identity",
        groups,
    )
    assert advice in said_of(found) + " "


@pytest.mark.parametrize("in_one_unit", [True, False])
def test_the_change_of_all_outputs_weighs_units(in_one_unit):
    errors = np.array([[1.0, 10.0], [3.0, np.nan], [2.0, 30.0]])
    change = Change.overall(0.5 * errors, errors, None, in_one_unit)
    np.testing.assert_allclose(change.relative, -0.5)
    less = errors * [1.0, 0.5]
    change = Change.overall(less, errors, None, in_one_unit)
    scale = [1.0, 1.0] if in_one_unit else [2.0, 20.0]
    rows = [np.nanmean(e / scale, axis=1) for e in (less, errors)]
    np.testing.assert_allclose(change.relative, rows[0].sum() / rows[1].sum() - 1)


def test_targets_that_do_not_vary_are_named():
    table = pd.DataFrame({"a": [1.0, 2, 3], "b": 5.0, "c": [np.nan, 1, 1]})
    with pytest.warns(UserWarning, match="targets with one value only: b, c. There"):
        warn_of_constants(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_constants(table[["a"]])
    with pytest.warns(UserWarning, match="one value only: b. There"):
        take_apart(table.assign(c=[0.0, 1.0, 3.0]), ["a", "b"], None)


def test_the_report_names_the_kernel_that_all_structures_have(
    okl, related_csv, tmp_path
):
    arguments = ("fit", related_csv, "--target", "y_*", "--cv", "2")
    arguments += ("--structure", "frobenius", "--set", "alphas=3", "--kernel", "linear")
    result = okl(*arguments, "--kernel", "rbf", "--out", tmp_path / "two")
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines()]
    (tried,) = (line[1] for line in lines if line[:1] == ["kernels"])
    (chosen,) = (line[1] for line in lines if line[:1] == ["chosen"])
    kernel, _, rest = chosen.partition(", ")
    assert rest == "with every structure"
    assert kernel in tried.removeprefix("2: ").split(", ")
    saved = load_model(tmp_path / "two" / "model.skops").pipeline[-1].kernel_
    assert kernel.startswith(type(saved).__name__)
    alone = okl(*arguments, "--out", tmp_path / "one")
    assert "  kernels  Linear()\n" in alone.stdout
    assert "chosen" not in alone.stdout


@pytest.mark.parametrize("target", ["y_*", *later("town")])
def test_a_kernel_that_is_learned(okl, related_csv, related, tmp_path, target):
    result = okl(
        *("fit", related_csv, "--target", target, "--out", tmp_path / "out"),
        *("--kernel", "auto", "--set", "alphas=2", "--cv", "2"),
    )
    assert result.exit_code == 0, result.stderr
    assert "1 kernel learned from 120 rows" in result.stderr
    kernels = ("Matern(length_scale=[", "Gaussian(gamma=[")
    assert any(kernel in result.stdout for kernel in kernels)
    assert "array(" not in result.stdout
    counts = result.stdout.partition("\n  columns  ")[2].split(",")
    # the town is told by y less what the height is to it
    tells = ("height",) if target == "y_*" else ("height", "y_a", "y_b", "y_c")
    assert counts[0].split()[0] in tells
    okl(
        *("predict", tmp_path / "out" / "model.skops", related_csv),
        *("--out", tmp_path / "predicted.csv"),
    )
    predicted = pd.read_csv(tmp_path / "predicted.csv")
    kernel = load_model(tmp_path / "out" / "model.skops").pipeline[-1].kernel_
    parameters = kernel.get_params().items()
    # of classes a mean of two kernels, of which one has a length scale
    names = ("length_scale", "gamma") if target == "y_*" else ("length_scale",)
    (widths,) = [value for name, value in parameters if name.endswith(names)]
    assert np.all(np.isfinite(widths))
    assert len(predicted) == len(related)


def test_a_second_fit_replaces_the_first_and_keeps_other_files(
    okl, related_csv, tmp_path
):
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    (out / "report.txt").write_text("old")
    first = okl("fit", related_csv, "--target", "y_[ab]", "--out", out, *SMALL)
    assert "earlier fit" not in first.stderr
    assert (out / "notes.txt").read_text() == "mine"
    assert "report of a fit" in (out / "report.txt").read_text()
    assert {path.name for path in out.iterdir()} == {*FILES, "notes.txt"}
    # one output has no relations: the pictures of the first fit are not of this one
    again = okl("fit", related_csv, "--target", "y_a", "--out", out, *SMALL)
    assert "out has results of an earlier fit, which are going to" in again.stderr
    found = {path.name for path in out.iterdir()}
    assert found == {*FILES, "notes.txt"} - {*OF_RELATIONS}
    assert "output_graph.png" not in (out / "report.txt").read_text()


def test_a_support_vector_machine_from_a_table(okl, related, tmp_path):
    table = related[["height", "width"]].assign(kind=related["y_a"] > 0)
    table.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "kind", "--loss", "hinge"),
        *("--structure", "identity", "--out", tmp_path / "out", *SMALL),
    )
    assert result.exit_code == 0, result.stderr
    model = load_model(tmp_path / "out" / "model.skops")
    estimator = model.pipeline[-1]
    assert estimator.loss_.name == "hinge"
    assert np.abs(estimator.dual_point_).max() <= 1
    assert np.mean(model.predict(table)["kind"] == table["kind"]) > 0.7


@pytest.mark.parametrize(
    "said", [["--loss", "huber"], ["--set", "loss=huber"]], ids=str
)
def test_a_loss_with_parameters(okl, related_csv, tmp_path, said):
    result = okl(
        *("fit", related_csv, "--target", "y_a", "--set", "loss__delta=3", *said),
        *("--out", tmp_path / "out", *SMALL),
    )
    assert result.exit_code == 0, result.stderr
    model = load_model(tmp_path / "out" / "model.skops").pipeline[-1]
    assert model.loss_.delta == 3


@pytest.mark.parametrize(
    ("quantile", "error"),
    [(0.9, "pinball loss of the quantile 0.9"), (0.5, "absolute error")],
)
def test_a_report_of_quantiles(okl, related_csv, tmp_path, quantile, error):
    result = okl(
        *("fit", related_csv, "--target", "y_a", "--target", "y_b", *SMALL),
        *("--loss", "quantile", "--set", f"loss__quantile={quantile}"),
        *("--structure", "frobenius", "--out", tmp_path / "out"),
    )
    assert result.exit_code == 0, result.stderr
    report = (tmp_path / "out" / "report.txt").read_text()
    assert f"held-out D^2 ({error}) of the targets" in report
    assert f"Held-out scores of the outputs: D^2 ({error})" in report
    assert f"The change is that of the {error}" in " ".join(report.split())


def test_a_report_of_quantiles_that_are_not_predicted(okl, related, tmp_path):
    rng = np.random.default_rng(1)
    table = related[["height", "width"]].assign(y=rng.normal(size=len(related)))
    table.to_csv(tmp_path / "table.csv", index=False)
    options = ("--target", "y", "--loss", "huber", "--structure", "identity", *SMALL)
    okl("fit", tmp_path / "table.csv", *options, "--out", tmp_path / "out")
    report = " ".join((tmp_path / "out" / "report.txt").read_text().split())
    assert "The median of the training rows predicts each output as well" in report


def test_few_rows_choose_the_alpha_of_the_search():
    rng = np.random.default_rng(8)
    y = np.arange(10) % 2
    table = pd.DataFrame(rng.normal(size=(10, 3)) + y[:, None], columns=list("abc"))
    data = take_apart(table.assign(kind=y), ["kind"], "classification", None)
    settings = parse_settings(["rbf"], ["identity"], ["kernel__gamma=0.3"])
    X = data.features.to_numpy()
    outcome = search_structures(data, X, prepare(data, settings, None))
    (found,), search = outcome.candidates, outcome.search
    assert found.column < np.argmax(found.path.mean(axis=-1))
    assert found.model.alpha == search.alpha_
    assert found.score == search.best_score_
    assert found.model.temperature == search.temperature_
    assert abs(np.log(search.temperature_)) > 0.05
    assert_allclose(found.model.predict_proba(X), search.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ({"y": [0, 1, 2] * 8}, True),
        ({"y": [0.0, 1.0, np.nan] * 8}, True),
        ({"y": [0, 1, 2] * 8, "y2": [0, 1, 2] * 8}, False),
        ({"y": [0.5, 1, 2] * 8}, False),
        ({"y": range(24)}, False),
    ],
)
def test_few_whole_numbers_may_be_classes(targets, said):
    table = pd.DataFrame({"x": np.arange(24.0), **targets})
    data = take_apart(table, ["y*"], None, None)
    assert data.task == "regression"
    assert ("--task classification" in data.reason) == said


def test_a_score_that_is_no_better_than_the_mean_is_called_so(tmp_path):
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(30, 4)), columns=["a", "b", "y1", "y2"])
    for name, noise in [("noise", 1.0), ("signal", 0.0)]:
        table["y1"] = noise * table["y1"] + (1 - noise) * table["a"]
        table["y2"] = noise * table["y2"] - (1 - noise) * table["a"]
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        fit = fit_table(
            *(tmp_path / f"{name}.csv", ["y?"], tmp_path / name),
            kernels=["linear"],
            assignments=["alphas=[1.0, 0.1]"],
        )
        told = "The mean of the training rows predicts" in fit.report
        assert told == (fit.kept.score <= 0) == (name == "noise")


def test_weights_of_classes_and_a_temperature_may_be_set():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 2)), columns=list("ab"))
    data = take_apart(table.assign(kind=["x"] * 30 + ["y"] * 10), ["kind"], None, None)
    said = ["class_weight=balanced", "temperature=2.0", "alphas=[1.0]"]
    settings = parse_settings(["rbf"], ["identity"], said)
    X = data.features.to_numpy()
    (found,) = search_structures(data, X, prepare(data, settings, None)).candidates
    assert found.model.class_weight == "balanced"
    assert found.model.temperature == 2.0


def test_labels_have_the_temperatures_of_the_search():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    table = pd.DataFrame(X, columns=list("abc")).assign(
        exact=(X[:, 0] > 0).astype(int), noisy=rng.integers(2, size=40)
    )
    data = take_apart(table, ["exact", "noisy"], "classification", None)
    settings = parse_settings(["rbf"], ["identity"], ["kernel__gamma=0.3"])
    outcome = search_structures(data, X, prepare(data, settings, None))
    (found,), search = outcome.candidates, outcome.search
    assert search.temperature_[0] < search.temperature_[1]
    assert_allclose(found.model.predict_proba(X), search.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("loss", ["quantile", "huber"])
def test_a_report_says_whether_predictions_are_moved(tmp_path, loss):
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "y"])
    table.to_csv(tmp_path / "table.csv", index=False)
    options = ["alphas=[1.0]", f"loss={loss}"]
    how = {"kernels": ["rbf"], "assignments": options}
    fit = fit_table(tmp_path / "table.csv", ["y"], tmp_path / "fit", **how)
    assert ("moved by errors of held-out rows" in fit.report) == (loss == "quantile")


@pytest.mark.parametrize("said", [[], ["shift=1.0"]], ids=["found", "given"])
def test_quantiles_have_the_shift_of_the_search(said):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    table = pd.DataFrame(X, columns=list("abc")).assign(
        y=X[:, 0] + rng.normal(size=60), z=X[:, 1] + rng.normal(size=60)
    )
    data = take_apart(table, ["y", "z"], None, None)
    options = ["kernel__gamma=0.3", "loss=quantile", "loss__quantile=0.9", *said]
    settings = parse_settings(["rbf"], ["identity"], options)
    outcome = search_structures(data, X, prepare(data, settings, None))
    (found,), search = outcome.candidates, outcome.search
    assert_allclose(found.model.shift_, search.shift_)
    assert np.all(search.shift_ > 0)
    assert_allclose(found.model.predict(X), search.predict(X), rtol=1e-6)


def test_an_alpha_for_each_output(okl, related, tmp_path):
    related.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "y_*", "--target", "other"),
        *("--out", tmp_path / "out", "--kernel", "rbf", "--set", "alphas=9"),
        *("--structure", "mean", "--alpha-per-output"),
    )
    assert result.exit_code == 0, result.stderr
    report = (tmp_path / "out" / "report.txt").read_text(encoding="utf-8")
    assert "9 for each structure, the geometric mean" in report
    lines = report.split("Held-out scores of the outputs")[1].splitlines()
    names = ["y_a", "y_b", "y_c", "other"]
    rows = [words for words in map(str.split, lines) if words[:1] and words[0] in names]
    alphas = {words[0]: float(words[-1]) for words in rows}
    assert list(alphas) == names
    # it has the most noise
    assert alphas["other"] == max(alphas.values()) > min(alphas.values())
    model = load_model(tmp_path / "out" / "model.skops").pipeline[-1]
    np.testing.assert_allclose(model.alpha, list(alphas.values()), rtol=1e-2)
    refused = okl(
        *("fit", tmp_path / "table.csv", "--target", "town", "--alpha-per-output"),
        *("--out", tmp_path / "other"),
    )
    assert refused.exit_code == 2
    assert "'softmax' couples all outputs" in refused.stderr


@pytest.mark.parametrize("others", [["1"], *later([])], ids=["and 1", "alone"])
def test_classes_and_tasks_keep_their_zeros(okl, tmp_path, others):
    rng = np.random.default_rng(0)
    names = np.array(["001", "02", *others])[np.arange(45) % (2 + len(others))]
    table = pd.DataFrame(rng.normal(size=(45, 2)), columns=["a", "b"])
    table["a"] += 4 * (names == "001")
    path, out = tmp_path / "codes.csv", tmp_path / "fit"
    table.assign(code=names).to_csv(path, index=False)
    arguments = ("--target", "code", "--task", "classification", *SMALL)
    assert okl("fit", path, *arguments, "--out", out).exit_code == 0
    okl("predict", out / "model.skops", path, "--out", tmp_path / "p.csv")
    found = pd.read_csv(tmp_path / "p.csv", dtype=str)["code"]
    assert set(found) <= set(names)
    assert "001" in set(found)
    table.assign(y=table["a"], code=names).to_csv(path, index=False)
    arguments = ("--target", "y", "--task-column", "code", *SMALL)
    assert okl("fit", path, *arguments, "--out", out).exit_code == 0
    model = load_model(out / "model.skops")
    assert model.task_column == ("code", "text")


@pytest.mark.parametrize("n_empty", [0, 7])
def test_held_out_scores_are_those_of_the_folds_of_the_search(related, n_empty):
    table = related.copy()
    table.loc[table.index[:n_empty], ["y_a", "y_b"]] = np.nan
    data = take_apart(table, ["y_a", "y_b"], None)
    X = data.features[["height", "width"]].to_numpy()
    settings = parse_settings(["rbf"], [], ["alphas=[1.0]", "random_state=3"])
    outcome = search_structures(data, X, prepare(data, settings, None))
    for candidate in outcome.candidates:
        found = held_out_predictions(data, X, outcome, candidate).astype(float)
        truth = data.y.to_numpy()
        scores = [r2_score(truth[test], found[test]) for _, test in outcome.folds]
        np.testing.assert_allclose(scores, candidate.scores, rtol=5e-3)


@pytest.mark.parametrize(
    "said", [["loss=quantile"], ["alpha_per_output=True"]], ids=["shift", "alphas"]
)
def test_a_fold_without_a_task_predicts_the_others(said):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(46, 2)), columns=["a", "b"])
    table = table.assign(y=table["a"] + 0.1 * rng.normal(size=46))
    table["town"] = np.append(np.arange(45) % 3, 3)  # one row of the last
    data = take_apart(table, ["y"], None, "town")
    X = data.features.to_numpy()
    settings = parse_settings(["rbf"], ["mean"], ["alphas=[1.0, 0.1]", *said])
    outcome = search_structures(data, X, prepare(data, settings, 3))
    model = outcome.candidates[0].model
    assert np.shape(model.shift if said[0] == "loss=quantile" else model.alpha) == (4,)
    found = held_out_predictions(data, X, outcome, outcome.candidates[0])
    missing = np.isnan(found.astype(float).ravel())
    assert np.flatnonzero(missing).tolist() == [45]


def test_folds_that_nobody_could_draw_again_are_those_of_the_search(related):
    data = take_apart(related, ["y_a", "y_b"], None)
    X = data.features[["height", "width"]].to_numpy()
    settings = parse_settings(["rbf"], [], ["alphas=[1.0]", "random_state=None"])
    search = prepare(data, settings, None)
    folds = search.cv
    assert search_structures(data, X, search).folds is folds is not None


def test_one_output_keeps_independent_outputs(related):
    table = related[["height", "width"]].assign(tall=related["y_a"] > 0)
    data = take_apart(table, ["tall"], None)
    X = data.features.to_numpy()
    assert len(prepare(data, parse_settings(["rbf"], [], []), 2).structures) == 1
    settings = parse_settings(["rbf"], ["frobenius"], ["alphas=[1.0]"])
    outcome = search_structures(data, X, prepare(data, settings, 2))
    better = replace(outcome.candidates[0], path=outcome.candidates[0].path + 10.0)
    outcome = replace(outcome, candidates=[better, outcome.baseline])
    assert answer(better, outcome) == "yes"
    assert to_keep(outcome) is to_compare(outcome) is outcome.baseline
