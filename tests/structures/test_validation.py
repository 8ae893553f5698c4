"""Parameters that make no sense are refused before any work, with advice."""

import numpy as np
import pytest

from okl import OutputKernelRegressor
from okl.structures import (
    Cluster,
    Diagonal,
    Fixed,
    Frobenius,
    Graph,
    LowRank,
    Mean,
    Sparse,
    TraceBall,
    as_structure,
)
from tests.instances import STRUCTURES, ring
from tests.samples import draw, psd

M = 3


def changed(matrix, index, value):
    matrix = np.array(matrix, dtype=float)
    matrix[index] = value
    return matrix


BAD = [
    (LowRank(0), r"rank must be an integer of at least 1.*got 0"),
    (LowRank(-2), "got -2"),
    (LowRank(1.5), "got 1.5"),
    (LowRank(True), "got True"),
    (LowRank("two"), "got 'two'"),
    (LowRank(np.nan), "got nan"),
    (Fixed(np.eye(2)), r"\(3, 3\); got an array of shape \(2, 2\)"),
    (Fixed(np.ones((3, 2))), r"got an array of shape \(3, 2\)"),
    (Fixed(np.ones(3)), r"got an array of shape \(3,\)"),
    (Fixed(changed(np.eye(3), (0, 1), 0.1)), r"not symmetric; pass \(L \+ L.T\) / 2"),
    (Fixed(changed(np.eye(3), (1, 1), -0.5)), "smallest eigenvalue is -0.5"),
    (Fixed(changed(np.eye(3), (1, 1), np.nan)), "NaN or infinite"),
    (Fixed(changed(np.eye(3), (1, 1), np.inf)), "NaN or infinite"),
    (Diagonal([1.0, 2.0]), r"for each output.*: 3; got an array of shape \(2,\)"),
    (Diagonal([1.0, -1.0, 1.0]), "finite and >= 0; got"),
    (Diagonal([1.0, np.nan, 1.0]), "finite and >= 0; got"),
    (Mean(0.0), "gamma must be a finite number > 0, got 0.0"),
    (Mean(-0.5), "gamma must be a finite number > 0, got -0.5"),
    (Mean(np.inf), "gamma must be a finite number > 0, got inf"),
    (Mean("all"), "gamma must be a finite number > 0, got 'all'"),
    (Sparse(mu=-0.1), r"mu must be a number from 0 .* to 1 .*got -0.1"),
    (Sparse(mu=1.1), "got 1.1"),
    (Sparse(mu=np.nan), "got nan"),
    (Sparse(mu="half"), "got 'half'"),
    (Sparse(mu=True), "got True"),
    (Sparse(eps=0.0), "eps must be a finite number > 0, got 0.0"),
    (Sparse(eps=-1.0), "eps must be a finite number > 0, got -1.0"),
    (Sparse(eps=np.inf), "eps must be a finite number > 0, got inf"),
    (TraceBall(eps=-1e-3), r"eps must be a finite number >= 0 .*got -0.001"),
    (TraceBall(eps=np.nan), "got nan"),
    (TraceBall(eps="small"), "got 'small'"),
    (TraceBall(eps=False), "got False"),
    (Cluster(0), "n_clusters must be an integer >= 1, got 0"),
    (Cluster(4), "n_clusters must be at most the number of outputs, 3 here .*got 4"),
    (Cluster(1.5), "got 1.5"),
    (Cluster(None), "got None"),
    (Cluster(2, within=1.0, between=2.0), "within must be at least between"),
    (Cluster(2, within=-1.0), "within must be a finite number > 0"),
    (Cluster(2, between=0.0), "between must be a finite number > 0"),
    (Cluster(2, mean=0.0), "mean must be a finite number > 0"),
    (Graph(np.ones((2, 2))), r"\(3, 3\); got an array of shape \(2, 2\)"),
    (Graph(np.ones(3)), r"got an array of shape \(3,\)"),
    (Graph(changed(ring(3), (0, 1), -0.2)), "not negative, the smallest is -0.2"),
    (Graph(changed(ring(3), (0, 1), np.nan)), "finite"),
    (Graph(changed(ring(3), (0, 1), np.inf)), "finite"),
    (Graph(changed(ring(3), (0, 1), 7.0)), r"not symmetric; pass \(A \+ A.T\) / 2"),
    (Graph(ring(3), gamma=0.0), "gamma must be a finite number > 0, got 0.0"),
    (Graph(ring(3), gamma=-1.0), "gamma must be a finite number > 0, got -1.0"),
    (Graph(ring(3), gamma=np.nan), "gamma must be a finite number > 0, got nan"),
    (Graph(ring(3), gamma=np.inf), "gamma must be a finite number > 0, got inf"),
    (Graph(ring(3), gamma="large"), "gamma must be a finite number > 0, got 'large'"),
    (Graph(ring(3), gamma=None), "gamma must be a finite number > 0, got None"),
]


@pytest.mark.parametrize(("structure", "message"), BAD)
def test_message(structure, message):
    with pytest.raises(ValueError, match=message):
        structure.validate(M)


@pytest.mark.parametrize(("structure", "message"), BAD[::4])
def test_estimators_ask_before_they_fit(structure, message):
    X, Y, _ = draw(6, M)
    model = OutputKernelRegressor(structure=structure)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("case", STRUCTURES, ids=lambda case: case.label)
@pytest.mark.parametrize("m", [1, 2, 5])
def test_good_parameters_pass(case, m):
    case.make(m).validate(m)


def test_rank_may_be_a_numpy_integer_and_larger_than_the_outputs():
    structure = LowRank(np.int64(7))
    structure.validate(M)
    assert structure.max_rank(M) == M
    assert structure.max_rank(9) == 7
    assert LowRank().max_rank(M) == M


def test_rounding_in_a_given_kernel_is_no_error():
    L = psd(M, rank=2)
    L[0, 1] *= 1 + 1e-15
    Fixed(L).validate(M)
    Fixed(np.zeros((M, M))).validate(M)
    Fixed(psd(M).tolist()).validate(M)


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("lowrank", ValueError, "Unknown structure 'lowrank'.*'frobenius', 'identity'"),
        ("cluster", ValueError, r"no default for n_clusters: pass Cluster\(n_clusters"),
        (None, TypeError, "structure must be a name.*got None"),
        (Frobenius, TypeError, r"did you mean Frobenius\(\)\?"),
        (3, TypeError, "got 3"),
    ],
)
def test_what_is_no_structure(spec, error, message):
    with pytest.raises(error, match=message):
        as_structure(spec)
