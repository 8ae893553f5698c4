"""From the one recorded colour of each pixel to all three, with and without relations.

Channels may be independent, all alike, or have learned relations: a family of
structures for each case. In each family the kernel, the structure and alpha are those
that predict a held-out quarter of the recorded values best. Hidden values are used only
for the error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy.interpolate import griddata
from sklearn.model_selection import ShuffleSplit

from okl import OutputKernelRegressor, OutputKernelRegressorCV
from okl.datasets import Mosaic
from okl.datasets.mosaic import CHANNELS
from okl.kernels import Gaussian, Kernel, Matern
from okl.structures import Cluster, Frobenius, Identity, LowRank, Mean, Structure

# Lengths in pixels.
KERNELS: tuple[Kernel, ...] = (
    Matern(length_scale=2.0),
    Matern(length_scale=4.0),
    Gaussian(gamma=0.5),
)


@dataclass(frozen=True)
class Family:
    """The structures and alphas to choose from.

    Attributes
    ----------
    structures : sequence of Structure
        The structures.
    alphas : sequence of float
        The strengths of regularisation.
    """

    structures: Sequence[Structure]
    alphas: Sequence[float]


# The values have no noise, so that alpha may be small where the size of L is bounded.
# Colours differ little from grey: the weight of the average of channels is 1, that of
# clusters around it 10 or 30, and that of channels within a cluster ten times that.
FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "identity": Family([Identity()], [3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003]),
        "mean": Family([Mean(10.0), Mean(50.0)], [0.1, 0.01, 0.001, 0.0001]),
        "frobenius": Family([Frobenius()], [1.0, 0.3, 0.1]),
        "low_rank": Family([LowRank()], [3.0, 1.0, 0.3]),
        "cluster": Family(
            [
                Cluster(2, within=100.0, between=10.0),
                Cluster(2, within=300.0, between=30.0),
            ],
            [0.1, 0.01, 0.001, 0.0001],
        ),
    }
)
LEARNED = ("frobenius", "low_rank", "cluster")
_TOLERANCE = 1e-3


def best_model(
    mosaic: Mosaic,
    family: Family,
    kernels: Sequence[Kernel] = KERNELS,
) -> OutputKernelRegressorCV:
    """Return the model that predicts held-out recorded values best.

    Parameters
    ----------
    mosaic : Mosaic
        The recorded values.
    family : Family
        Structures and alphas to choose from.
    kernels : sequence of Kernel
        The kernels to choose from.

    Returns
    -------
    OutputKernelRegressorCV
        The search of the best kernel, fitted to all recorded values.
    """
    quarter = ShuffleSplit(1, test_size=0.25, random_state=0)
    search = OutputKernelRegressorCV(
        structures=family.structures,
        kernels=list(kernels),
        alphas=family.alphas,
        cv=quarter,
        search="full",
        tol=_TOLERANCE,
    )
    return search.fit(mosaic.X, mosaic.y, task=mosaic.task)


def same_model(
    mosaic: Mosaic, chosen: OutputKernelRegressorCV
) -> OutputKernelRegressor:
    """Fit another mosaic with the kernel, structure and alpha chosen on the first."""
    model = OutputKernelRegressor(
        chosen.kernel_, chosen.structure_, chosen.alpha_, tol=chosen.tol
    )
    return model.fit(mosaic.X, mosaic.y, task=mosaic.task)


def predicted(
    mosaic: Mosaic, model: OutputKernelRegressor | OutputKernelRegressorCV
) -> np.ndarray:
    """Return the picture that a model predicts, of the shape of the true one."""
    columns = [list(model.output_names_).index(channel) for channel in CHANNELS]
    return model.predict(mosaic.X)[:, columns].reshape(mosaic.image.shape)


def interpolated(mosaic: Mosaic) -> np.ndarray:
    """Interpolate each channel linearly, or by the nearest pixel outside its pixels."""
    picture = np.empty((len(mosaic.y), len(CHANNELS)))
    for column, channel in enumerate(CHANNELS):
        own = mosaic.task == channel
        places, values = mosaic.X[own], mosaic.y[own]
        linear = griddata(places, values, mosaic.X, method="linear")
        nearest = griddata(places, values, mosaic.X, method="nearest")
        picture[:, column] = np.where(np.isnan(linear), nearest, linear)
    return picture.reshape(mosaic.image.shape)
