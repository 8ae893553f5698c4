from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from okl import OutputKernelRegressor
from okl.kernels import Gaussian, Row
from okl.plotting import OutputGraphDisplay, OutputKernelDisplay


def correlation(L):
    scale = np.sqrt(np.diag(L))
    return L / np.outer(scale, scale)


def image(display):
    return np.asarray(display.im_.get_array())


def row_labels(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def test_heat_map_shows_the_reordered_correlation(clustered):
    L = clustered(12)
    display = OutputKernelDisplay(L).plot()
    assert sorted(display.order_) == list(range(12))
    expected = correlation(L)[np.ix_(display.order_, display.order_)]
    np.testing.assert_allclose(image(display), expected, atol=1e-12)
    strongest = np.abs(expected - np.eye(12)).max()
    np.testing.assert_allclose(display.im_.get_clim(), (-strongest, strongest))
    assert row_labels(display) == [str(i) for i in display.order_]


def test_heat_map_of_the_covariance_in_its_own_order(clustered):
    L = clustered(7)
    display = OutputKernelDisplay(L).plot(kind="covariance", reorder=False)
    np.testing.assert_array_equal(image(display), L)
    low, high = display.im_.get_clim()
    assert high == -low == np.abs(L - np.diag(np.diag(L))).max()
    assert display.colorbar_.extend == "max"  # larger variances have the last colour


def rendered(display):
    """Return the colours of the entries, as they come out on the axes."""
    display.figure_.canvas.draw()
    pixels = np.asarray(display.figure_.canvas.buffer_rgba())[..., :3] / 255
    n = len(display.order_)
    rows, columns = np.indices((n, n))
    centres = np.column_stack([columns.ravel(), rows.ravel()])
    x, y = display.ax_.transData.transform(centres).round().astype(int).T
    return pixels[len(pixels) - 1 - y, x].reshape(n, n, 3)


def test_weak_relations_have_all_colours_and_the_diagonal_none():
    L = np.eye(3)
    L[0, 1] = L[1, 0] = 0.2
    L[1, 2] = L[2, 1] = -0.1
    display = OutputKernelDisplay(L).plot(reorder=False)
    assert display.im_.get_clim() == (-0.2, 0.2)
    assert display.colorbar_.extend == "neither"
    colours = rendered(display)
    for entry, value in [((0, 1), 1.0), ((1, 2), 0.25), ((0, 2), 0.5)]:
        expected = plt.get_cmap("RdBu_r")(value)[:3]
        np.testing.assert_allclose(colours[entry], expected, atol=0.01)
    diagonal = colours[np.arange(3), np.arange(3)]
    np.testing.assert_allclose(diagonal, 0.8, atol=0.01)  # grey


def test_relations_of_no_account_stay_pale():
    L = np.eye(3)
    L[0, 1] = L[1, 0] = 1e-3
    for kind in ("correlation", "covariance"):
        display = OutputKernelDisplay(5 * L).plot(kind=kind)
        limit = 0.1 if kind == "correlation" else 0.5
        np.testing.assert_allclose(display.im_.get_clim(), (-limit, limit))


def test_order_brings_groups_together_and_ignores_scales():
    group = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
    L = 0.2 * np.eye(9) + (group[:, np.newaxis] == group)
    scale = np.logspace(-2, 2, 9)
    order = OutputKernelDisplay(L * np.outer(scale, scale)).plot().order_
    assert np.count_nonzero(np.diff(group[order])) == 2
    np.testing.assert_array_equal(order, OutputKernelDisplay(L).plot().order_)


@pytest.mark.parametrize("variance", [0.0, 1e-17, -1e-17])
def test_outputs_without_variance_are_related_to_nothing(clustered, variance):
    L = clustered(5)
    L[2] = L[:, 2] = variance
    display = OutputKernelDisplay(L).plot(reorder=False)
    expected = np.zeros((5, 5))
    kept = np.ix_([0, 1, 3, 4], [0, 1, 3, 4])
    expected[kept] = correlation(L[kept])
    np.testing.assert_allclose(image(display), expected, atol=1e-12)


def test_tiny_output_kernels_do_not_overflow():
    display = OutputKernelDisplay(1e-310 * np.array([[1, 0.5], [0.5, 1]])).plot()
    np.testing.assert_allclose(image(display), [[1, 0.5], [0.5, 1]])


def test_zero_output_kernel():
    display = OutputKernelDisplay(np.zeros((3, 3))).plot(kind="covariance")
    assert display.im_.get_clim() == (-1, 1)
    np.testing.assert_array_equal(image(display), np.zeros((3, 3)))


def test_single_output():
    display = OutputKernelDisplay([[2.0]], output_names=["only"]).plot()
    np.testing.assert_allclose(image(display), [[1]])
    assert row_labels(display) == ["only"]


def test_labels_are_thinned_when_they_do_not_fit(clustered):
    display = OutputKernelDisplay(clustered(250)).plot()
    labels = display.ax_.get_yticklabels()
    ticks = display.ax_.get_yticks()
    assert 20 <= len(labels) < 250
    assert [t.get_text() for t in labels] == [str(i) for i in display.order_[ticks]]
    display.figure_.draw_without_rendering()
    boxes = [label.get_window_extent() for label in labels]
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))


def test_labels_fit_inside_the_figure(clustered):
    names = [f"a rather long name {i}" for i in range(10)]
    display = OutputKernelDisplay(clustered(10), output_names=names).plot()
    assert len(row_labels(display)) == 10
    figure = display.figure_
    for _ in range(2):  # the layout is settled while drawing
        figure.draw_without_rendering()
    labels = display.ax_.get_yticklabels() + display.ax_.get_xticklabels()
    boxes = np.array([label.get_window_extent().extents for label in labels])
    assert boxes.min() >= -1  # pixels
    assert (boxes[:, 2:].max(axis=0) <= figure.bbox.size + 1).all()


def test_given_axes_colours_and_no_colorbar(clustered):
    _, ax = plt.subplots()
    display = OutputKernelDisplay(clustered(4)).plot(ax, cmap="PiYG", colorbar=False)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.colorbar_ is None
    assert display.im_.get_cmap().name == "PiYG"
    assert ax.figure.axes == [ax]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, ["0", "1"]),
        ({"output_names_": ["x", "y"], "classes_": ["c", "d"]}, ["x", "y"]),
        ({"classes_": np.array(["c", "d"])}, ["c", "d"]),
        ({"classes_": np.array([3, 7, 9])}, ["0", "1"]),
        ({"classes_": [np.array([0, 1]), np.array([0, 1, 2])]}, ["0", "1"]),
    ],
)
def test_names_known_to_the_estimator(fitted, attributes, expected):
    estimator = fitted(output_kernel_=np.eye(2), **attributes)
    display = OutputKernelDisplay.from_estimator(estimator, reorder=False)
    assert display.output_names == expected
    assert row_labels(display) == expected


def test_binary_classifier_has_one_output_and_two_classes(fitted):
    estimator = fitted(output_kernel_=np.eye(1), classes_=np.array(["no", "yes"]))
    assert OutputKernelDisplay.from_estimator(estimator).output_names == ["0"]


def test_from_estimator_passes_parameters_on(fitted, clustered):
    _, ax = plt.subplots()
    estimator = fitted(output_kernel_=clustered(3))
    display = OutputKernelDisplay.from_estimator(
        estimator, output_names=list("abc"), ax=ax, kind="covariance", reorder=False
    )
    np.testing.assert_array_equal(image(display), estimator.output_kernel_)
    assert row_labels(display) == ["a", "b", "c"]
    assert display.ax_ is ax


def test_names_are_shown_literally(clustered):
    names = ["$", "a_{$", "x" * 20 + "y" * 20]
    display = OutputKernelDisplay(clustered(3), output_names=names).plot(reorder=False)
    display.figure_.draw_without_rendering()
    assert row_labels(display)[:2] == names[:2]
    shortened = row_labels(display)[2]
    assert len(shortened) == 24
    assert shortened.startswith("xxxx")
    assert shortened.endswith("yyyy")


@pytest.mark.parametrize("display", [OutputKernelDisplay, OutputGraphDisplay])
class TestErrors:
    def test_shape(self, display):
        with pytest.raises(ValueError, match=r"shape \(2, 3\); expected \(n_outputs"):
            display(np.ones((2, 3)))

    def test_empty(self, display):
        with pytest.raises(ValueError, match=r"shape \(0, 0\)"):
            display(np.ones((0, 0)))

    def test_not_finite(self, display):
        with pytest.raises(ValueError, match="NaN or infinity"):
            display([[1, np.nan], [np.nan, 1]])

    def test_negative_variance(self, display):
        with pytest.raises(ValueError, match="negative variance -1"):
            display([[-1, 0.5], [0.5, 1]])

    def test_asymmetric(self, display):
        with pytest.raises(ValueError, match=r"differs from its transpose by 0\.5"):
            display([[1, 0.5], [0, 1]])

    def test_number_of_names(self, display):
        with pytest.raises(ValueError, match="3 names but output_kernel relates 2"):
            display(np.eye(2), output_names=list("abc"))

    def test_kind(self, display):
        with pytest.raises(ValueError, match=r"kind must be one of .*; got 'cosine'"):
            display(np.eye(2)).plot(kind="cosine")

    def test_unfitted(self, display, fitted):
        with pytest.raises(NotFittedError, match="has no output_kernel_: call fit"):
            display.from_estimator(fitted())


def test_relations_that_are_not_stable_are_grey(clustered):
    L = clustered(6)
    stable = np.abs(correlation(L)) > 0.3
    assert stable.sum() not in (6, 36)
    for kind in ("correlation", "covariance"):
        display = OutputKernelDisplay(L).plot(kind=kind, stable=stable)
        whole = OutputKernelDisplay(L).plot(kind=kind)
        order = display.order_
        np.testing.assert_array_equal(order, whole.order_)
        assert display.im_.get_clim() == whole.im_.get_clim()
        grey = ~stable[np.ix_(order, order)]
        if kind == "correlation":
            grey |= np.eye(6, dtype=bool)
        np.testing.assert_array_equal(np.ma.getmaskarray(display.im_.get_array()), grey)
        unstable = ~stable[np.ix_(order, order)]
        np.testing.assert_allclose(rendered(display)[unstable], 0.8, atol=0.01)
        label = f"{kind} (grey: sign not stable)"
        if kind == "correlation":
            itself = np.diag(rendered(display)[:, :, 0])
            np.testing.assert_allclose(itself, 0.3, atol=0.01)
            label = f"{kind} (grey: sign not stable, dark: itself)"
        assert display.colorbar_.ax.get_ylabel() == label
        assert whole.colorbar_.ax.get_ylabel() == kind


@pytest.mark.parametrize("stable", [np.ones((2, 2)), np.ones((3, 3), dtype=bool), True])
def test_what_is_stable_must_be_said_of_each_pair(stable):
    with pytest.raises(ValueError, match=r"array of bool of shape \(2, 2\), such as"):
        OutputKernelDisplay(np.eye(2)).plot(stable=stable)


def test_each_panel_has_its_own_stable_relations():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 3))
    model = OutputKernelRegressor([Gaussian(), Row()], ["frobenius"] * 2).fit(X, Y)
    stable = [np.ones((3, 3), dtype=bool), np.eye(3, dtype=bool)]
    panels = OutputKernelDisplay.from_estimator(model, stable=stable).panels_
    n_grey = [np.ma.getmaskarray(panel.im_.get_array()).sum() for panel in panels]
    assert n_grey == [3, 9]
    with pytest.raises(ValueError, match="sequence of 2 arrays, one for each kernel"):
        OutputKernelDisplay.from_estimator(model, stable=stable[:1])
