"""Documents of classes in a tree."""

import numpy as np
import pytest

from okl.datasets import make_text_tree


def test_sizes_and_relatives():
    X, y, tree = make_text_tree(300, (2, 4, 12), n_words=800, random_state=1)
    assert X.shape == (300, 800)
    assert [len(tree.nodes(level)) for level in range(4)] == [1, 2, 4, 12]
    assert sorted(set(y)) == tree.classes_.tolist()
    np.testing.assert_allclose(np.sqrt((X.multiply(X)).sum(axis=1)), 1)
    # documents share more words with their relatives
    means = np.array([X[y == c].mean(axis=0) for c in tree.classes_])
    means -= means.mean(axis=0)  # words that all have
    similar = means @ means.T
    parents = tree.parents[tree.leaves]
    related = parents[:, None] == parents
    np.fill_diagonal(similar, np.nan)
    assert np.nanmean(similar[related]) > 0 > np.nanmean(similar[~related])
    again = make_text_tree(300, (2, 4, 12), n_words=800, random_state=1)
    assert (again[0] != X).nnz == 0
    assert np.array_equal(y, again[1])


@pytest.mark.parametrize(("n_samples", "n_nodes"), [(10, (3, 12)), (50, (12, 3))])
def test_bad_sizes(n_samples, n_nodes):
    with pytest.raises(ValueError, match="must not decrease"):
        make_text_tree(n_samples, n_nodes)
