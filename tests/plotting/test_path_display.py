import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from okl import OutputKernelRegressorCV
from okl.estimators.search.candidates import for_tasks
from okl.kernels import Linear
from okl.plotting import RegularizationPathDisplay
from okl.structures import Identity, LowRank

ALPHAS = np.array([[10.0, 1.0, 0.1], [20.0, 2.0, 0.2]])
SCORES = np.random.RandomState(0).uniform(size=(2, 3, 5))


def test_curves_are_mean_scores_in_bands_of_one_standard_error():
    display = RegularizationPathDisplay(ALPHAS, SCORES).plot()
    assert len(display.lines_) == len(display.bands_) == 2
    for structure in range(2):
        line, band = display.lines_[structure], display.bands_[structure]
        mean = SCORES[structure].mean(axis=1)
        error = SCORES[structure].std(axis=1, ddof=1) / np.sqrt(5)
        np.testing.assert_allclose(line.get_xdata(), np.sort(ALPHAS[structure]))
        np.testing.assert_allclose(line.get_ydata(), mean[::-1])
        heights = band.get_paths()[0].vertices[:, 1]
        assert np.isclose(heights.max(), (mean + error).max())
        assert np.isclose(heights.min(), (mean - error).min())
    assert display.ax_.get_xscale() == "log"
    assert display.chosen_ is None


def test_alphas_without_a_score_of_some_fold_leave_the_curve():
    # a search leaves alphas that are too small in a fold: the mean over the others,
    # which may be easier, would stand out among means over all
    scores = SCORES.copy()
    scores[0, 1] = np.nan
    scores[1, 2, :3] = np.nan, -np.inf, np.nan
    display = RegularizationPathDisplay(ALPHAS, scores).plot()
    np.testing.assert_allclose(display.lines_[0].get_xdata(), [0.1, 10])
    np.testing.assert_allclose(
        display.lines_[0].get_ydata(), SCORES[0, [2, 0]].mean(axis=1)
    )
    np.testing.assert_allclose(display.lines_[1].get_xdata(), [2, 20])
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["structure 0", "structure 1"]


def test_structure_with_scores_of_some_folds_says_so():
    scores = SCORES.copy()
    scores[1, :, 1:] = np.nan
    display = RegularizationPathDisplay(ALPHAS, scores, chosen=(0, 1)).plot()
    np.testing.assert_allclose(display.lines_[1].get_ydata(), SCORES[1, ::-1, 0])
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[:2] == ["structure 0", "structure 1 (1 of 5 folds)"]


def test_chosen_point_is_marked_whatever_it_lacks():
    scores = SCORES.copy()
    scores[0, 1, 0] = np.nan
    display = RegularizationPathDisplay(ALPHAS, scores, chosen=(0, 1)).plot()
    np.testing.assert_allclose(display.chosen_.get_ydata(), [SCORES[0, 1, 1:].mean()])


def test_single_score_has_no_band():
    display = RegularizationPathDisplay(ALPHAS, SCORES[..., :1]).plot()
    np.testing.assert_allclose(display.lines_[0].get_ydata(), SCORES[0, ::-1, 0])
    heights = display.bands_[0].get_paths()[0].vertices[:, 1]
    assert set(heights) == set(SCORES[0, :, 0])


def _search(fitted, structures, alphas, scores, alpha):
    """Make a fitted search of two kernels, the first of which is dropped."""
    tried = [structure for structure in structures for _ in range(alphas.shape[1])]
    stages = np.repeat([1, 2, 2], [3, len(tried), len(tried)])
    means = scores.mean(axis=-1).ravel()
    means = np.concatenate([np.zeros(3), means - 1.0, means])
    return fitted(
        alphas_=alphas,
        scores_=scores,
        cv_results_={
            "stage": stages,
            "param_structure": np.array(["dropped"] * 3 + 2 * tried, dtype=object),
            "mean_test_score": means,
        },
        alpha_=alpha,
        scoring="r2",
    )


def test_from_estimator_marks_the_chosen_point(fitted):
    _, ax = plt.subplots()
    scores = SCORES.copy()
    scores[1, 1] += 1.0  # a larger alpha may be chosen than that of the best score
    estimator = _search(fitted, ["identity", "low\n  rank"], ALPHAS, scores, 20.0)
    display = RegularizationPathDisplay.from_estimator(estimator, ax=ax)
    assert display.ax_ is ax
    assert display.chosen == (1, 0)
    np.testing.assert_allclose(display.chosen_.get_xdata(), [20.0])
    np.testing.assert_allclose(display.chosen_.get_ydata(), [SCORES[1, 0].mean()])
    assert ax.get_ylabel() == "mean r2"
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["identity", "low rank", "chosen: alpha = 20"]


def test_same_alphas_for_all_structures(fitted):
    scores = SCORES.copy()
    scores[0] = scores[1] + 1.0
    scores[0, 2, 0] = np.nan  # left out in a fold, so that it cannot be chosen
    alphas = ALPHAS[[0, 0]]
    estimator = _search(fitted, ["first", "second"], alphas, scores, [0.5, 2.0])
    display = RegularizationPathDisplay.from_estimator(estimator)
    assert display.chosen == (0, 1)  # the geometric mean of alphas of outputs


@pytest.mark.parametrize("structures", [None, ("identity", LowRank(1))])
def test_structures_are_those_that_were_compared(structures):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(30, 2)), np.tile(["a", "b"], 15)
    search = OutputKernelRegressorCV(
        Linear() if structures else None, structures, alphas=2
    )
    search.fit(X, X[:, 0] + 0.1 * rng.normal(size=30), task=task)
    display = RegularizationPathDisplay.from_estimator(search)
    tried = [*(for_tasks(2) if structures is None else (Identity(), LowRank(1)))]
    # the best one may have been learned, with the kernel
    tried[display.chosen[0]] = search.structure_
    assert display.structure_labels == [str(structure) for structure in tried]
    assert display.structure_labels[display.chosen[0]] == str(search.structure_)
    assert display.alphas[display.chosen] == search.alpha_


@pytest.mark.parametrize(
    ("alphas", "scores", "match"),
    [
        (ALPHAS[0], SCORES[0], r"alphas has shape \(3,\) and scores \(3, 5\)"),
        (ALPHAS, SCORES[:, :2], r"scores \(2, 2, 5\); expected"),
        (ALPHAS - 0.1, SCORES, "alphas goes down to 0.0; expected positive"),
    ],
)
def test_bad_arrays(alphas, scores, match):
    with pytest.raises(ValueError, match=match):
        RegularizationPathDisplay(alphas, scores)


def test_bad_number_of_labels():
    with pytest.raises(ValueError, match="1 names but alphas has 2 structures"):
        RegularizationPathDisplay(ALPHAS, SCORES, structure_labels=["one"])


def test_unfitted(fitted):
    with pytest.raises(NotFittedError, match="fit a CV estimator first"):
        RegularizationPathDisplay.from_estimator(fitted())
