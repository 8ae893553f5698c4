"""A given L of many outputs is refused before anything of its size is allocated."""

import numpy as np
import pytest

from okl import OutputKernelRegressor
from okl.structures import Graph, Mean


def test_too_many_outputs_for_a_matrix():
    Y = np.random.default_rng(0).normal(size=(5, 400_000))
    model = OutputKernelRegressor("linear", Mean(), normalize_y=False)
    with pytest.raises(MemoryError, match=r"400000 x 400000 .* needs about .*low_rank"):
        model.fit(np.eye(5), Y)


@pytest.mark.parametrize("structure", [Mean(), Graph(np.ones((3, 3)))], ids=repr)
def test_few_outputs_are_no_matter(structure):
    assert structure.known(np.zeros((2, 3))).eigenvalues.shape == (3,)
