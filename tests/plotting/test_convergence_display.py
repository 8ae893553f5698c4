import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from okl.plotting import ConvergenceDisplay

GAPS = [1.0, 1e-2, 1e-8]
HISTORY = [
    {"primal": 2.0, "dual": 1.0, "relative_gap": gap, "seconds": 0.5 * i}
    for i, gap in enumerate(GAPS)
]


@pytest.mark.parametrize(
    ("x", "expected"), [("iteration", [1, 2, 3]), ("seconds", [0, 0.5, 1])]
)
def test_curve(x, expected):
    display = ConvergenceDisplay(HISTORY).plot(x=x)
    np.testing.assert_array_equal(display.line_.get_xdata(), expected)
    np.testing.assert_array_equal(display.line_.get_ydata(), GAPS)
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_xlabel() == x
    assert display.tol_line_ is None
    assert display.ax_.get_legend() is None


def test_iterations_are_whole_numbers():
    ticks = ConvergenceDisplay(HISTORY).plot().ax_.get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))


def test_from_estimator_draws_the_tolerance(fitted):
    _, ax = plt.subplots()
    estimator = fitted(history_=HISTORY, tol=1e-6)
    display = ConvergenceDisplay.from_estimator(estimator, ax=ax, x="seconds")
    assert display.ax_ is ax
    np.testing.assert_array_equal(display.tol_line_.get_ydata(), [1e-6, 1e-6])
    np.testing.assert_array_equal(display.line_.get_xdata(), [0, 0.5, 1])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["Fitted", "tol = 1e-06"]


@pytest.mark.parametrize("gap", [0.0, -1e-17, 1e-30])
def test_gaps_lost_to_a_logarithm_are_drawn_at_the_floor(gap):
    history = [*HISTORY, {"relative_gap": gap, "seconds": 2.0}]
    display = ConvergenceDisplay(history).plot()
    np.testing.assert_array_equal(
        display.line_.get_ydata(), [*GAPS, np.finfo(float).eps]
    )


def test_unknown_gap_leaves_a_hole():
    history = [{"relative_gap": np.nan, "seconds": 0.0}, *HISTORY]
    gaps = ConvergenceDisplay(history).plot().line_.get_ydata()
    np.testing.assert_array_equal(gaps, [np.nan, *GAPS])


def test_structured_array():
    dtype = [("relative_gap", float), ("seconds", float)]
    history = np.array([(1.0, 0.1), (0.1, 0.2)], dtype=dtype)
    display = ConvergenceDisplay(history).plot(x="seconds")
    np.testing.assert_array_equal(display.line_.get_ydata(), [1, 0.1])
    np.testing.assert_array_equal(display.line_.get_xdata(), [0.1, 0.2])
    with pytest.raises(ValueError, match="no 'relative_gap'"):
        ConvergenceDisplay(history[["seconds"]]).plot()


def test_errors(fitted):
    with pytest.raises(ValueError, match="history is empty"):
        ConvergenceDisplay([])
    with pytest.raises(ValueError, match=r"x must be one of .*; got 'time'"):
        ConvergenceDisplay(HISTORY).plot(x="time")
    with pytest.raises(ValueError, match="no 'seconds'; expected rows"):
        ConvergenceDisplay([{"relative_gap": 1.0}]).plot(x="seconds")
    with pytest.raises(NotFittedError, match="has no history_"):
        ConvergenceDisplay.from_estimator(fitted())
