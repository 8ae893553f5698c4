"""Documents of classes in a tree, as counts of words.

Texts on one topic share words with texts on related topics, and most words carry no
information on the topic. Classes have few documents each, as in a patent or library
classification.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import scipy.sparse
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from okl.trees import ClassTree

# The probability that a word of a document is one of its class or of a node above, and
# the number of such words of each node.
_OF_TOPICS, _WORDS_OF_NODE = 0.4, 30


def make_text_tree(
    n_samples: int = 1140,
    n_nodes: Sequence[int] = (7, 20, 160),
    *,
    n_words: int = 10000,
    length: int = 120,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[scipy.sparse.csr_array, np.ndarray, ClassTree]:
    """Draw documents whose classes are the leaves of a tree.

    Every node of the tree has words of its own. A word of a document is one of its
    class, or of a node above that, all equally likely, with probability 0.4; else it is
    any word, the r-th one with a probability proportional to 1 / r. Each node above has
    at least one child, and each class at least one document; the parents of all further
    nodes, and the classes of all further documents, are drawn at random, so that some
    have many and others few.

    Parameters
    ----------
    n_samples : int, default=1140
        Number of documents, at least that of the classes.
    n_nodes : sequence of int, default=(7, 20, 160)
        The number of nodes of each depth from 1, not decreasing; the last are the
        classes. The defaults have the size of section D of the patents in Seeger
        (2006), section 8.2; ``make_text_tree(9794, (34, 113, 1172))`` has that of
        section B.
    n_words : int, default=10000
        Size of the vocabulary.
    length : int, default=120
        Mean number of words of a document.
    random_state : int, RandomState or None, default=None
        As in scikit-learn.

    Returns
    -------
    X : sparse array (n_samples, n_words)
        Counts of words, rows of unit length.
    y : array of str (n_samples,)
        The full path of the class of each document.
    class_tree : ClassTree

    Raises
    ------
    ValueError
        If there are more classes than documents, or fewer nodes below than above.
    """
    rng = check_random_state(random_state)
    sizes = [1, *n_nodes]
    if sorted(sizes) != sizes or sizes[-1] > n_samples:
        raise ValueError(
            "n_nodes must not decrease, and n_samples must be at least its last entry; "
            f"got n_nodes={tuple(n_nodes)} and n_samples={n_samples}."
        )
    paths, topics = [""], [np.empty(0, dtype=np.intp)]
    for above, size in pairwise(sizes):
        parents = np.sort(
            np.r_[np.arange(above), rng.randint(above, size=size - above)]
        )
        paths = [f"{paths[p]}/{i}" for i, p in enumerate(parents)]
        topics = [
            np.r_[topics[p], rng.randint(n_words, size=_WORDS_OF_NODE)] for p in parents
        ]
    classes = np.r_[
        np.arange(len(paths)), rng.randint(len(paths), size=n_samples - len(paths))
    ]
    common = 1 / np.arange(1.0, n_words + 1)
    lengths = np.maximum(rng.poisson(length, size=n_samples), 1)
    words = rng.choice(n_words, size=lengths.sum(), p=common / common.sum())
    rows = np.repeat(np.arange(n_samples), lengths)
    chosen = np.flatnonzero(rng.uniform(size=len(words)) < _OF_TOPICS)
    of_row = np.array(topics)[classes[rows[chosen]]]
    words[chosen] = of_row[
        np.arange(len(chosen)), rng.randint(of_row.shape[1], size=len(chosen))
    ]
    counts = scipy.sparse.coo_array(
        (np.ones(len(words)), (rows, words)), shape=(n_samples, n_words)
    )
    names = np.array([path[1:] for path in paths])
    return normalize(counts.tocsr()), names[classes], ClassTree.from_paths(names)
