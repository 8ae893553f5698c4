"""GPyTorch's Gaussian processes of several outputs: targets complete, and with holes.

These are the models of its tutorials: a kernel of inputs, with a width for each column,
times one of outputs, of low rank plus a diagonal, and a noise for each output (and one
for all where targets are complete). All are learned by the marginal likelihood with
Adam. GPyTorch is not among the extras: ``pip install gpytorch``.
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


class HoledProcess:
    """Multitask Gaussian process of single targets, each a row with its output.

    GPyTorch calls it the Hadamard multitask process. Cholesky factorisations, cubic in
    the number of targets observed.

    Parameters
    ----------
    rank, n_steps, rate
        As in `MultitaskProcess`.
    """

    def __init__(self, rank: int = 2, n_steps: int = 100, rate: float = 0.1) -> None:
        self.rank = rank
        self.n_steps = n_steps
        self.rate = rate

    def fit(self, X: np.ndarray, Y: np.ndarray) -> HoledProcess:
        """Learn the kernels from the targets that are not NaN."""
        import gpytorch
        import torch

        torch.manual_seed(0)
        torch.set_num_threads(1)
        (n_inputs, n_tasks), self._known = (X.shape[1], Y.shape[1]), (X, Y)
        inputs, targets = _long(X, Y, ~np.isnan(Y))
        likelihood = gpytorch.likelihoods.HadamardGaussianLikelihood(
            n_tasks, task_feature_index=n_inputs
        ).double()
        rank = min(self.rank, n_tasks)

        class Process(gpytorch.models.ExactGP):
            def __init__(self) -> None:
                super().__init__(inputs, targets, likelihood)
                self.mean = gpytorch.means.ConstantMean()
                self.width = gpytorch.kernels.RBFKernel(ard_num_dims=n_inputs)
                self.width.lengthscale = n_inputs**0.5
                self.outputs = gpytorch.kernels.IndexKernel(n_tasks, rank)

            def forward(self, rows: Any) -> Any:
                tasks = rows[..., n_inputs:].long()
                kernel = self.width(rows[..., :n_inputs]) * self.outputs(tasks)
                distribution = gpytorch.distributions.MultivariateNormal
                return distribution(self.mean(rows), kernel)

        process = Process().double()
        process.train()
        likelihood.train()
        optimizer = torch.optim.Adam(process.parameters(), lr=self.rate)
        likelihood_of = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, process)
        with gpytorch.settings.max_cholesky_size(10**4):
            for _ in range(self.n_steps):
                optimizer.zero_grad()
                loss = -likelihood_of(process(inputs), targets, inputs)
                loss.backward()
                optimizer.step()
        process.eval()
        likelihood.eval()
        self.process_ = process
        return self

    def filled(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Fill in the NaN of new rows, given all targets that are known."""
        import gpytorch
        import torch

        rows, table = (
            np.vstack(pair) for pair in zip(self._known, (X, Y), strict=True)
        )
        observed, targets = _long(rows, table, ~np.isnan(table))
        self.process_.set_train_data(observed, targets, strict=False)
        missing = np.isnan(Y)
        result = Y.copy()
        with (
            torch.no_grad(),
            gpytorch.settings.max_cholesky_size(10**4),
            gpytorch.settings.skip_posterior_variances(),
        ):
            asked, _ = _long(X, Y, missing)
            result[missing] = self.process_(asked).mean.numpy()
        return result


def _long(X: np.ndarray, Y: np.ndarray, chosen: np.ndarray) -> tuple[Any, Any]:
    """Return inputs beside the number of the output, and targets, of chosen entries."""
    import torch

    rows, tasks = np.nonzero(chosen)
    return torch.as_tensor(np.column_stack([X[rows], tasks])), torch.as_tensor(
        Y[chosen]
    )
