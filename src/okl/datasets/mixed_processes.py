"""Many noisy time series that are mixtures of a few hidden ones.

In this setting the true output kernel is of low rank: every series is a combination of
the same hidden processes, so that values of one are informative about all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from okl.kernels import Laplacian


@dataclass(frozen=True)
class MixedProcesses:
    """Noisy series at all time points, with the time points for training.

    Attributes
    ----------
    time : array (n_times, 1)
        Evenly spaced on [-1, 1].
    noisy, clean : array (n_times, n_outputs)
        The series with and without noise.
    train, held_out : array of int
        Row numbers, disjoint, half of the time points each.
    """

    time: np.ndarray
    noisy: np.ndarray
    clean: np.ndarray
    train: np.ndarray
    held_out: np.ndarray


def make_mixed_processes(
    n_outputs: int = 200,
    *,
    n_processes: int = 50,
    n_times: int = 200,
    gamma: float = 10.0,
    random_state: int | np.random.RandomState | None = None,
) -> MixedProcesses:
    """Draw the data of experiments 1 and 2 of Dinuzzo & Fukumizu (2011), section 6.

    Hidden Gaussian processes with covariance ``exp(-gamma |t - t'|)`` are mixed
    with coefficients uniform on [0, 1] and observed with as much noise as signal.

    Parameters
    ----------
    n_outputs : int, default=200
        Number of series; 100 000 in experiment 2.
    n_processes : int, default=50
        Number of hidden processes.
    n_times : int, default=200
        Number of time points; half of them are for training.
    gamma : float, default=10.0
        Inverse length scale of the hidden processes.
    random_state : int, RandomState or None, default=None
        As in scikit-learn.
    """
    rng = check_random_state(random_state)
    time = np.linspace(-1, 1, n_times)[:, None]
    covariance = Laplacian(gamma=gamma)(time)
    hidden = np.linalg.cholesky(covariance) @ rng.normal(size=(n_times, n_processes))
    clean = hidden @ rng.uniform(size=(n_outputs, n_processes)).T
    noise = rng.normal(scale=np.sqrt(np.mean(clean**2)), size=clean.shape)
    order = rng.permutation(n_times)
    half = n_times // 2
    return MixedProcesses(
        time, clean + noise, clean, np.sort(order[:half]), np.sort(order[half:])
    )
