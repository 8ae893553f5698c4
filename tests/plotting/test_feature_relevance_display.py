import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from okl.plotting import FeatureRelevanceDisplay

SHARES = [0.2, 0.7, 0.1, 0.0]


def labels(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def widths(display):
    return [bar.get_width() for bar in display.bars_]


def test_the_largest_is_on_top():
    display = FeatureRelevanceDisplay(SHARES).plot()
    np.testing.assert_array_equal(widths(display), sorted(SHARES))
    assert labels(display) == ["3", "2", "0", "1"]
    assert display.figure_ is display.ax_.figure


def test_the_least_may_be_left_out():
    display = FeatureRelevanceDisplay(SHARES).plot(n_features=2)
    assert widths(display) == [0.2, 0.7]
    with pytest.raises(ValueError, match="n_features must be an integer >= 1"):
        display.plot(n_features=0)


def test_from_estimator_takes_the_names_of_the_columns(fitted):
    names = np.array(["a", "$b$", "c", "d" * 40], dtype=object)
    estimator = fitted(feature_relevances_=SHARES, feature_names_in_=names)
    _, ax = plt.subplots()
    display = FeatureRelevanceDisplay.from_estimator(estimator, ax=ax, n_features=3)
    assert display.ax_ is ax
    assert labels(display) == ["c", "a", "$b$"]
    assert not any(text.get_parse_math() for text in ax.get_yticklabels())
    given = FeatureRelevanceDisplay.from_estimator(estimator, feature_names="wxyz")
    assert labels(given) == ["z", "y", "w", "x"]


def test_errors(fitted):
    with pytest.raises(ValueError, match="3 names for 4 columns"):
        FeatureRelevanceDisplay(SHARES, feature_names="abc")
    with pytest.raises(ValueError, match="one number >= 0 for each column"):
        FeatureRelevanceDisplay([[1.0]])
    with pytest.raises(NotFittedError, match="if kernel='auto' learned"):
        FeatureRelevanceDisplay.from_estimator(fitted(kernel_=None))
