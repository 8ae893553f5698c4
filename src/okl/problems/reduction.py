"""Many outputs cost nothing extra: reduce them to the rank of the targets.

With a quadratic loss and a rotation invariant structure the optimum lives in the
span of the rows of Y: with Q an orthonormal basis of that span, L = Q L1 Q' and
Theta = Theta1 Q' solve the problem if (L1, Theta1) solves the one with targets
Y Q, which has rank(Y) <= min(n_samples, n_outputs) outputs.
"""

from __future__ import annotations

from okl.numerics.arrays import Array, count, eigh, epsilon, namespace


def reduce_outputs(targets: Array) -> tuple[Array, Array | None]:
    """Return (Y Q, Q) with as many columns as Y has rank; Q is None for Q = I.

    Parameters
    ----------
    targets : array (n_samples, n_outputs)
        Y.

    Returns
    -------
    reduced : array (n_samples, r)
    basis : array (n_outputs, r) or None
        Orthonormal columns.
    """
    n, m = targets.shape
    return _reduce_wide(targets) if m > n else _reduce_tall(targets)


def _reduce_wide(targets: Array) -> tuple[Array, Array]:
    """Decompose YY', the smaller side: a QR of Y' would take ten times as long."""
    xp = namespace(targets)
    n = targets.shape[0]
    values, vectors = eigh(targets @ targets.T)
    largest = float(values[-1])
    kept = values > epsilon(targets) * n * max(largest, 0.0)
    first = n - max(count(kept), 1)
    scale = xp.sqrt(xp.clip(values[first:], 0.0, None))
    if largest <= 0:  # Y = 0: any direction will do
        basis = xp.eye(targets.shape[1], 1, dtype=targets.dtype)
        return targets @ basis, basis
    return vectors[:, first:] * scale, targets.T @ (vectors[:, first:] / scale)


def _reduce_tall(targets: Array) -> tuple[Array, Array | None]:
    """Rotate only if there is something to drop, seen in the singular values."""
    xp = namespace(targets)
    n, m = targets.shape
    _, triangle = xp.linalg.qr(targets, mode="reduced")
    _, values, right = xp.linalg.svd(triangle, full_matrices=False)
    kept = values > epsilon(targets) * n * values[0]
    rank = max(count(kept), 1)
    if rank == m:
        return targets, None
    basis = right[:rank, :].T
    return targets @ basis, basis
