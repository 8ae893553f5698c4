"""GPyTorch's Gaussian process of several outputs, as a scikit-learn regressor.

The model of its tutorial: the kernel of inputs times one of outputs of low rank plus a
diagonal, a noise for each output and one for all, and a width for each column, by the
marginal likelihood with Adam. GPyTorch is not among the extras:
``pip install gpytorch``.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

INSTALLED = find_spec("gpytorch") is not None


class MultitaskProcess(RegressorMixin, BaseEstimator):
    """Gaussian process with a Gaussian kernel and a learned output kernel.

    Parameters
    ----------
    rank : int, default=2
        Of the output kernel, without its diagonal; at most the number of outputs.
    n_steps : int, default=100
        Of Adam.
    rate : float, default=0.1
        Its learning rate.
    """

    def __init__(self, rank: int = 2, n_steps: int = 100, rate: float = 0.1) -> None:
        self.rank = rank
        self.n_steps = n_steps
        self.rate = rate

    def fit(self, X: np.ndarray, y: np.ndarray) -> MultitaskProcess:
        import gpytorch
        import torch

        torch.manual_seed(0)
        torch.set_num_threads(1)
        inputs, targets = torch.as_tensor(X), torch.as_tensor(y)
        n_tasks = y.shape[1]
        rank = min(self.rank, n_tasks)
        likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(n_tasks).double()

        class Process(gpytorch.models.ExactGP):
            def __init__(self) -> None:
                super().__init__(inputs, targets, likelihood)
                constant = gpytorch.means.ConstantMean()
                self.mean = gpytorch.means.MultitaskMean(constant, n_tasks)
                width = gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1])
                width.lengthscale = X.shape[1] ** 0.5
                self.kernel = gpytorch.kernels.MultitaskKernel(width, n_tasks, rank)

            def forward(self, rows: Any) -> Any:
                distribution = gpytorch.distributions.MultitaskMultivariateNormal
                return distribution(self.mean(rows), self.kernel(rows))

        process = Process().double()
        process.train()
        likelihood.train()
        optimizer = torch.optim.Adam(process.parameters(), lr=self.rate)
        likelihood_of = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, process)
        for _ in range(self.n_steps):
            optimizer.zero_grad()
            loss = -likelihood_of(process(inputs), targets)
            loss.backward()
            optimizer.step()
        process.eval()
        likelihood.eval()
        self.process_ = process
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        import torch

        with torch.no_grad():
            return self.process_(torch.as_tensor(X)).mean.numpy()
