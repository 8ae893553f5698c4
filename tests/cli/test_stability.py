"""What relations change for each output, and how sure they are."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, cross_val_predict

from okl.cli.change import Change
from okl.cli.fit import fit_table
from okl.cli.report import FILES
from okl.cli.sureness import FILE
from okl.inspection import output_kernel_stability
from tests.cli.conftest import FEW

NAMES = ["y_a", "y_b", "y_c"]


@pytest.fixture(scope="module")
def sure(related, tmp_path_factory):
    """A fit that was asked how sure it is, with few rows, where relations pay."""
    folder = tmp_path_factory.mktemp("sure")
    related[:50].to_csv(folder / "table.csv", index=False)
    fit = fit_table(
        folder / "table.csv",
        [*NAMES, "other"],
        folder / "out",
        structures=["low_rank"],
        kernels=["rbf"],
        assignments=["alphas=[3.0, 1.0]"],
        stability=8,
    )
    return folder / "out", fit


def rows_of(report, title, names):
    """Return the words of the lines of a section that begin with a name."""
    section = report.split(title)[1].split("\n\n")[0]
    lines = [line.split() for line in section.splitlines() if line.split()]
    return {words[0]: words[1:] for words in lines if words[0] in names}


def test_the_change_of_each_output_is_that_of_its_held_out_error(sure):
    _, fit = sure
    assert fit.kept is not fit.outcome.baseline
    folds = KFold(5, shuffle=True, random_state=0)
    X = fit.models[0].pipeline[0].transform(fit.data.features)
    Y = fit.data.y.to_numpy()
    errors = [
        (Y - cross_val_predict(candidate.model, X, Y, cv=folds)) ** 2
        for candidate in (fit.outcome.baseline, fit.kept)
    ]
    expected = errors[1].mean(axis=0) / errors[0].mean(axis=0) - 1
    written = rows_of(fit.report, "Held-out scores", [*NAMES, "other"])
    changes = [float(words[3].rstrip("%")) / 100 for words in written.values()]
    np.testing.assert_allclose(changes, expected, atol=6e-4)


def test_the_error_of_a_change_is_that_of_a_ratio_of_means():
    """What the ratio of two means varies by, in many tables of as many rows."""
    rng = np.random.default_rng(0)
    others = rng.chisquare(2, size=(200, 2000))
    errors = 0.5 * others + rng.chisquare(1, size=(200, 2000))
    found = Change.of(errors, others)
    varies = np.std(errors.mean(0) / others.mean(0))
    np.testing.assert_allclose(np.mean(found.error), varies, rtol=0.1)
    np.testing.assert_allclose(found.relative.mean(), 0.0, atol=0.01)
    errors[::2] = np.nan
    some = Change.of(errors, others)
    alone = Change.of(errors[1::2], others[1::2])
    np.testing.assert_allclose(some.relative, alone.relative)
    np.testing.assert_allclose(some.error, alone.error)
    assert Change.of(np.ones((3, 1)), np.zeros((3, 1))).of_output(0) == "-"
    # one wrong answer less is nothing sure
    one = np.eye(50)[:, :1]
    assert Change.of(0 * one, one).of_output(0) == "-100.0% ± 101.0%"


def test_stability_is_that_of_the_saved_model(sure):
    folder, fit = sure
    X = fit.models[0].pipeline[0].transform(fit.data.features)
    found = output_kernel_stability(fit.kept.model, X, fit.data.y, n_resamples=8)
    table = pd.read_csv(folder / FILE)
    names = [*NAMES, "other"]
    i, j = (table[name].map(names.index) for name in ("first", "second"))
    assert len(table) == 10
    np.testing.assert_array_equal(table["stable"], found.stable[i, j])
    for kind in ("correlation", "covariance"):
        entries = getattr(found, kind)
        np.testing.assert_allclose(table[kind], entries.estimate[i, j])
        for part in ("std", "lower", "upper"):
            np.testing.assert_allclose(
                table[f"{kind}_{part}"], getattr(entries, part)[i, j]
            )
    pairs = found.stable[np.triu_indices(4, 1)]
    assert f"{pairs.sum()} of 6 pairs of outputs have a" in " ".join(fit.report.split())
    section = fit.report.split("Strongest relations")[1].split("How sure")[0]
    for line in section.splitlines()[3:]:
        if " -- " in line:
            first, second = line.split(" -- ")
            marked = found.stable[names.index(first.split()[-1]), names.index(second)]
            assert ("*" in line) == marked
    assert {path.name for path in folder.iterdir()} == {*FILES, FILE}
    assert FILE in fit.report.split("Files")[-1]


def test_relations_that_are_not_saved_may_be_asked_for(okl, related, tmp_path):
    """As when independent outputs are kept: one by one they are all noise here."""
    table = related[["height", "width"]].assign(
        y_a=np.random.default_rng(0).normal(size=len(related)), y_b=related["y_b"]
    )
    table.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "y_*", "--out", tmp_path / "out"),
        *("--stability", "4", *FEW),
    )
    said = " ".join(result.stdout.split())
    assert "stability: 5 more fits of frobenius" in result.stderr
    assert "relations are those of frobenius, which is not saved. Corr" in said
    assert "These are relations of frobenius. None of 1 pairs" in said
    # what none is saved of is compared output by output all the same
    written = rows_of(result.stdout, "Held-out scores", NAMES)
    assert len(written["y_a"]) == len(written["y_b"]) == 6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--target", "y_a"], "There is one output, so there are no relations."),
        (["--target", "y_*", "--structure", "mean"], "mean learns no relations"),
        (
            ["--target", "y_*", "--structure", "identity"],
            "identity learns no relations",
        ),
    ],
)
def test_where_there_is_nothing_to_be_sure_of(
    okl, related_csv, tmp_path, options, said
):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("report.txt", FILE):
        (out / name).write_text("of a fit before")
    result = okl("fit", related_csv, *options, "--out", out, "--stability", "3", *FEW)
    assert result.exit_code == 0, result.stderr
    assert said in " ".join(result.stdout.split())
    assert not (out / FILE).exists()


@pytest.mark.parametrize("number", [-1, 1, 121])
def test_numbers_of_no_use_are_refused_before_any_work(
    okl, related_csv, tmp_path, number
):
    result = okl(
        *("fit", related_csv, "--target", "y_*", "--out", tmp_path / "out"),
        *("--stability", number),
    )
    assert result.exit_code == 2
    assert f"--stability {number} does not fit" in result.stderr


def test_what_would_be_lost_is_refused_before_any_work(okl, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 2)), columns=list("ab"))
    table["site"] = np.arange(40) // 5
    signs = np.where(table["a"] > 0, "x", "y")
    classes = np.where(table["site"] == 3, "w", signs)
    numbers = table["a"].where(table["site"] == 2)
    options = (tmp_path / "table.csv", "--out", tmp_path / "out", "--stability", "4")
    for targets, lost in (
        ({"kind": classes}, "a class"),
        ({"u": numbers, "v": table["b"]}, "an output"),
    ):
        table.assign(**targets).to_csv(tmp_path / "table.csv", index=False)
        given = [word for name in targets for word in ("--target", name)]
        result = okl("fit", *options, *given, "--group-column", "site", *FEW)
        assert result.exit_code == 2
        assert f"leaving out one of the parts loses {lost}" in result.stderr
        assert "5 of the 40 rows, or all of it in one site" in result.stderr
    assert "search:" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_refits_are_made_in_parallel_as_the_folds_are(related, tmp_path, monkeypatch):
    asked = {}

    def recorded(*args, **options):
        asked.update(options)
        raise ValueError("enough is known")

    monkeypatch.setattr("okl.cli.sureness.output_kernel_stability", recorded)
    related[:30].to_csv(tmp_path / "table.csv", index=False)
    fit_table(
        tmp_path / "table.csv",
        NAMES,
        tmp_path / "out",
        kernels=["linear"],
        assignments=["alphas=[1.0]", "n_jobs=1"],
        stability=4,
    )
    assert asked["n_jobs"] == 1
    assert asked["n_resamples"] == 4
