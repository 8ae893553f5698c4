"""The alpha that is chosen by log likelihoods of held-out rows."""

import numpy as np

from okl.selection.cautious_alpha import cautious_alpha

ALPHAS = 10.0 ** np.arange(4, -5, -1)  # 1e4 to 1e-4


def chosen(log_likelihoods, n_rows=10.0):
    """Choose by the sum over all rows of each alpha."""
    return ALPHAS[cautious_alpha(ALPHAS, np.array(log_likelihoods) / n_rows, n_rows)]


def test_rows_that_tell_alphas_apart_choose_the_likeliest():
    for likeliest in range(len(ALPHAS)):
        likelihoods = np.full(len(ALPHAS), -30.0)
        likelihoods[likeliest] = 0.0
        assert chosen(likelihoods) == ALPHAS[likeliest]


def test_it_is_the_mean_logarithm_by_the_likelihoods():
    likelihoods = np.full(len(ALPHAS), -np.inf)
    likelihoods[[0, 3, 6]] = np.log([1.5, 1.0, 4.0])
    # of 4, 1 and -2, which is likeliest: -1 / 6.5
    assert chosen(likelihoods) == 1.0


def test_rows_that_say_nothing_do_not_choose_the_smallest_alpha():
    likelihoods = np.linspace(0.0, 1e-3, len(ALPHAS))  # the smallest is likeliest
    assert chosen(likelihoods) == 1.0


def test_it_is_never_smaller_than_the_likeliest():
    likelihoods = np.linspace(1e-3, 0.0, len(ALPHAS))
    assert chosen(likelihoods) == ALPHAS[0]


def test_the_same_mean_of_more_rows_says_more():
    means = np.linspace(-0.1, 0.0, len(ALPHAS))
    few, many = (ALPHAS[cautious_alpha(ALPHAS, means, n)] for n in (10, 10000))
    assert many == ALPHAS[-1] < few


def test_smaller_alphas_that_were_left_out_count_like_the_last_one():
    means = np.zeros(len(ALPHAS))
    means[-4] = 1e-6
    whole = cautious_alpha(ALPHAS, means, 10.0)
    means[-3:] = np.nan
    assert cautious_alpha(ALPHAS, means, 10.0) == whole == 4
    means[-5:] = np.nan  # the middle is among those that have a score
    means[3] = 1e-6
    assert cautious_alpha(ALPHAS, means, 10.0) == 3


def test_other_alphas_without_a_score_have_no_say():
    means = np.zeros(len(ALPHAS))
    means[-1] = 1e-6
    means[:4] = np.nan
    assert cautious_alpha(ALPHAS, means, 10.0) == 6
