"""okl demo: the mosaic, where relations pay, and the digits, where they do not."""

import shlex
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from okl import OutputKernelRegressor
from okl.cli.demos import mosaic as mosaic_demo
from okl.cli.demos.digits import run_digits
from okl.cli.demos.mosaic import run_mosaic, table_of
from okl.cli.demos.mosaic_report import by_hand, verdict
from okl.cli.demos.reconstruction import (
    FAMILIES,
    KERNELS,
    Family,
    best_model,
    interpolated,
    predicted,
    same_model,
)
from okl.cli.settings import parse_settings
from okl.cli.storage import load_model
from okl.datasets import load_mosaic
from okl.kernels import Gaussian, Matern
from okl.structures import as_structure

CORNERS = ((280, 300), (110, 280))


def with_image(mosaic, image):
    """Record another picture at the same places."""
    return replace(mosaic, image=image, y=image[mosaic.recorded])


@pytest.fixture(scope="module")
def mosaic():
    return load_mosaic(size=12, random_state=0)


@pytest.fixture(scope="module")
def small_demo(tmp_path_factory):
    """A demo of few pixels, so that the wiring is tested in the quick suite."""
    out = tmp_path_factory.mktemp("demo") / "out"
    few = {
        name: Family(family.structures[:1], family.alphas[:2])
        for name, family in FAMILIES.items()
    } | {"identity": FAMILIES["identity"]}
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(mosaic_demo, "FAMILIES", few)
        return out, run_mosaic(out, size=12, corners=CORNERS)


def commands_in(report):
    """Return the commands of a report as lists of arguments, without the program."""
    text = report.split("The same by hand")[1].partition("\n")[2].partition("\n")[2]
    lines = text.replace("\\\n", " ").strip().splitlines()
    commands = [shlex.split(line) for line in lines]
    assert [command[:2] for command in commands] == [["okl", "fit"], ["okl", "predict"]]
    return [command[1:] for command in commands]


def error_by_hand(okl, out, report):
    """Run the commands of a report; return the error of what they predict."""
    for command in commands_in(report):
        result = okl(*command)
        assert result.exit_code == 0, result.stderr
    hidden = pd.read_csv(out / "hidden.csv")
    predicted_values = pd.read_csv(out / "predicted.csv")["value"]
    return np.sqrt(np.mean((predicted_values - hidden["value"]) ** 2))


def test_interpolation_is_exact_on_planes(mosaic):
    row, column = np.indices((12, 12))
    planes = np.stack([0.01 * row, 0.3 + 0.02 * column, 0.04 * row - column], axis=2)
    picture = interpolated(with_image(mosaic, planes))
    np.testing.assert_allclose(picture[4:8, 4:8], planes[4:8, 4:8], atol=1e-12)
    np.testing.assert_allclose(picture[mosaic.recorded], planes[mosaic.recorded])
    assert np.all(np.isfinite(picture))


def test_predicted_channels_are_red_green_and_blue(mosaic):
    # each channel has a level of its own, and varies little around it
    levels = np.array([0.1, 0.5, 0.9])
    flat = with_image(mosaic, levels + 0.01 * mosaic.image)
    model = OutputKernelRegressor("rbf", "identity").fit(flat.X, flat.y, task=flat.task)
    np.testing.assert_allclose(predicted(flat, model) - levels, 0.005, atol=0.01)


def test_the_kernel_is_that_of_the_best_held_out_score(mosaic):
    alone = [best_model(mosaic, FAMILIES["identity"], [kernel]) for kernel in KERNELS]
    scores = [model.best_score_ for model in alone]
    best = best_model(mosaic, FAMILIES["identity"])
    assert best.best_score_ == max(scores) > min(scores)
    assert repr(best.kernel_) == repr(KERNELS[int(np.argmax(scores))])


def test_alphas_reach_beyond_those_of_independent_channels():
    # the fourth square of the demo has the largest; at the end of the grid a fit warns
    square = load_mosaic(mosaic_demo.CORNERS[3], mosaic_demo.SIZE, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = best_model(square, FAMILIES["identity"], [Matern(4.0)])
    assert model.alpha_ == 1.0


def test_hidden_values_take_no_part_in_the_choice(mosaic):
    other = replace(mosaic, image=np.where(mosaic.recorded, mosaic.image, 0.0))
    first, second = (best_model(m, FAMILIES["identity"]) for m in (mosaic, other))
    assert first.alpha_ == second.alpha_
    np.testing.assert_array_equal(predicted(mosaic, first), predicted(other, second))


def test_another_square_is_fitted_with_what_was_chosen(mosaic):
    chosen = best_model(mosaic, FAMILIES["identity"], KERNELS[:1])
    model = same_model(load_mosaic(size=10, random_state=1), chosen)
    assert model.alpha == chosen.alpha_
    assert repr(model.kernel_) == repr(KERNELS[0])


@pytest.mark.parametrize(
    ("related", "answer"),
    [
        ([0.5, 0.6, 0.5], "yes"),
        ([1.5, 1.6, 1.5], "no"),
        ([0.5, 1.0, 1.4], "not shown"),
        ([0.995, 0.995, 0.995], "not shown"),  # certain, and too little
    ],
)
def test_the_verdict(related, answer):
    errors = {"identity": [1.0] * 3, "mean": [1.0] * 3, "interpolation": [1.0] * 3}
    lines = verdict("cluster", errors | {"cluster": related})
    assert lines[0].startswith(f"cluster: {answer}. ")
    change = f"{100 * (np.mean(related) - 1):+.1f}"
    (line,) = (line for line in lines if line.startswith("  cluster"))
    assert change in line


@pytest.mark.parametrize("kernel", [Matern(2.0), Gaussian(0.5)])
def test_the_kernel_by_hand_is_that_of_standardised_columns(mosaic, tmp_path, kernel):
    model = best_model(mosaic, FAMILIES["identity"], [kernel])
    (fit, *_) = by_hand(model, mosaic, tmp_path)
    words = shlex.split(fit.replace("\\\n", " "))
    assigned = [word for word in words if word.startswith("kernel__")]
    settings = parse_settings([words[words.index("--kernel") + 1]], [], assigned)
    scaled = (mosaic.X - mosaic.X.mean(axis=0)) / mosaic.X.std(axis=0)
    np.testing.assert_allclose(settings.kernels[0](scaled), kernel(mosaic.X), atol=1e-3)


def test_the_mosaic_leaves_tables_pictures_and_a_report(small_demo):
    out, report = small_demo
    mosaic = load_mosaic(CORNERS[0], 12, random_state=0)
    assert (out / "report.txt").read_text() == report
    for picture in ("mosaic.png", "output_kernel.png"):
        assert (out / picture).read_bytes().startswith(b"\x89PNG")
    recorded, hidden = (pd.read_csv(out / f"{n}.csv") for n in ("mosaic", "hidden"))
    assert len(recorded) == 144
    assert len(hidden) == 288
    pd.testing.assert_frame_equal(recorded, table_of(mosaic, mosaic.recorded))
    np.testing.assert_array_equal(recorded["channel"], mosaic.task)
    L = pd.read_csv(out / "output_kernel.csv", index_col=0)
    assert list(L.columns) == list(L.index) == ["blue", "green", "red"]
    assert np.linalg.eigvalsh(L).min() > -1e-10


def test_the_report_names_identity_and_its_error(small_demo):
    out, report = small_demo
    recorded = pd.read_csv(out / "mosaic.csv")
    mosaic = load_mosaic(CORNERS[0], 12, random_state=0)
    independent = best_model(mosaic, FAMILIES["identity"])
    error = mosaic.error(predicted(mosaic, independent))
    assert f"  identity      {error:.4f} " in report
    assert f"  interpolation {mosaic.error(interpolated(mosaic)):.4f} " in report
    assert len(recorded) == len(mosaic.y)
    assert "\n* " in report


def test_the_commands_of_the_report_work(okl, small_demo):
    out, report = small_demo
    assert error_by_hand(okl, out, report) < 0.25


def test_digits_take_the_path_of_fit(monkeypatch, tmp_path):
    """A demo with few digits, so that the wiring is tested in the quick suite."""
    monkeypatch.setattr("okl.cli.demos.digits._N_TRAIN", 60)
    text = run_digits(tmp_path / "demo")
    L = pd.read_csv(tmp_path / "demo" / "output_kernel.csv", index_col=0)
    assert list(L.columns) == [str(digit) for digit in range(10)]
    assert np.linalg.eigvalsh(L).min() > -1e-10
    assert "Accuracy on the 1737 digits" in text


def test_an_unknown_demo_is_refused(okl, tmp_path):
    result = okl("demo", "letters", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "mosaic" in result.stderr
    assert "digits" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_mosaic_shows_why(okl, tmp_path):
    out = tmp_path / "demo"
    result = okl("demo", "--out", out)
    assert result.exit_code == 0, result.stderr
    report = result.stdout
    chosen = next(line for line in report.splitlines() if line.startswith("* "))
    name, error = chosen.split()[1:3]
    assert f"{name}: yes." in report
    changes = {
        line.split()[0]: float(line.split()[1])
        for line in report.splitlines()
        if line.startswith("  ") and line.endswith(" %")
    }
    assert changes[name] < -30 < 0 < changes["interpolation"]
    assert error_by_hand(okl, out, report) == pytest.approx(float(error), rel=0.1)


@pytest.mark.slow
def test_digits(okl, tmp_path):
    out = tmp_path / "demo"
    result = okl("demo", "digits", "--out", out)
    assert result.exit_code == 0, result.stderr
    unseen = pd.read_csv(out / "digits_test.csv")
    model = load_model(out / "model.skops")
    right = model.predict(unseen)["digit"] == unseen["digit"]
    assert len(unseen) == 797
    assert right.mean() > 0.95
    lines = result.stdout.partition("that no fit has seen:")[2].splitlines()[1:4]
    scores = {name: float(score) for name, score in map(str.split, lines)}
    assert set(scores) == {"frobenius", "low_rank", "identity"}
    chosen = type(model.pipeline[-1].structure_)
    [name] = [each for each in scores if type(as_structure(each)) is chosen]
    assert scores[name] == round(right.mean(), 4)
    assert str(out / "output_graph.png") in result.stdout
