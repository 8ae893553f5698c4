"""Denoising digits: the kernel autoencoder beside kernel PCA and PCA.

The 2011 low-rank paper proposes the two-layer machine with y = x for denoising without
a pre-image (section 3.2) and shows no experiment; this one is of our own design. The
data are USPS digits, grey levels in [0, 1], with Gaussian noise (standard deviation
0.5) or with 30 % of the pixels replaced by black or white. As in scikit-learn's example
of kernel PCA, every method is fitted to 1000 *noisy* digits and never sees a clean one;
it then compresses and reconstructs other noisy digits, and the error is the mean
squared difference to the clean ones.

gamma and alpha are chosen for each number of components, from the same six gammas and
from eleven alphas each, by the error on 500 validation digits (against the clean ones,
as in the test). Five further draws of 1000 training and 500 test digits, none of which
overlap, give test errors ± one standard error over the draws; differences are paired.
The autoencoder with a linear kernel, which is PCA with shrunken codes, separates what
the shrinkage does from what the Gaussian kernel does.

Trivial rivals: the mean of the noisy training digits, and two filters of neighbouring
pixels, which learn from no other digit; their width is chosen on the validation digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from benchmarks.measure import alternately, machine
from scipy.stats import ttest_rel
from sklearn.decomposition import PCA, KernelPCA

from okl import KernelAutoencoder, output_kernel_path
from okl.kernels import Gaussian
from okl.structures import LowRank
from reproductions.filters import rival_table
from reproductions.noisy_digits import NOISES, digits, parts, plus_minus
from reproductions.report import save_figure, table, write_page

COMPONENTS = (8, 16, 32, 64, 128, 256)
GAMMAS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)


class Method(NamedTuple):
    """How to make a model, and how to denoise held-out rows at all settings.

    ``make(n_components, *setting)``; ``tried(n_components, train, held_out)`` yields
    each setting with the denoised rows.
    """

    make: Callable[..., Any]
    tried: Callable[[int, Any, Any], Iterator[tuple[tuple[float, ...], Any]]]


def autoencoder(n_components, gamma, alpha):
    return KernelAutoencoder(n_components, Gaussian(gamma), alpha)


def autoencoders(n_components, train, held_out):
    for gamma in GAMMAS:
        alphas = np.geomspace(1e-3, 1e2, 11)
        for alpha, denoised in path(
            Gaussian(gamma), n_components, alphas, train, held_out
        ):
            yield (gamma, alpha), denoised


def linear_autoencoder(n_components, alpha):
    return KernelAutoencoder(n_components, "linear", alpha)


def linear_autoencoders(n_components, train, held_out):
    alphas = np.geomspace(1e-1, 1e4, 11)
    for alpha, denoised in path("linear", n_components, alphas, train, held_out):
        yield (alpha,), denoised


def path(kernel, n_components, alphas, train, held_out):
    """Yield alpha and what the autoencoder of that alpha makes of held-out rows.

    The autoencoder is the regressor of the rows on themselves, and a path of
    regressors shares one decomposition of the kernel matrix.
    """
    models = output_kernel_path(
        train,
        train,
        kernel=kernel,
        structure=LowRank(n_components),
        alphas=alphas,
        normalize_y=False,
    )
    for alpha, model in zip(models.alphas, models, strict=True):
        yield alpha, model.predict(held_out)


def kernel_pca(n_components, gamma, alpha):
    return KernelPCA(
        n_components, kernel="rbf", gamma=gamma, alpha=alpha, fit_inverse_transform=True
    )


def kernel_pcas(n_components, train, held_out):
    for setting in product(GAMMAS, np.geomspace(1e-6, 1e-1, 11)):
        model = kernel_pca(n_components, *setting).fit(train)
        yield setting, denoise(model, held_out)


def pca(n_components):
    return PCA(n_components, svd_solver="full")


def pcas(n_components, train, held_out):
    yield (), denoise(pca(n_components).fit(train), held_out)


METHODS = {
    "PCA": Method(pca, pcas),
    "KernelPCA": Method(kernel_pca, kernel_pcas),
    "KernelAutoencoder": Method(autoencoder, autoencoders),
    "the same, linear": Method(linear_autoencoder, linear_autoencoders),
}
RIVALS = ("KernelAutoencoder", "KernelPCA")


def denoise(model, noisy):
    return model.inverse_transform(model.transform(noisy))


def error(denoised, clean):
    return np.mean((denoised - clean) ** 2)


def tuned(method, train, held_out, clean):
    """Return the least error and its setting, for each number of components."""
    return {
        p: min(
            (error(denoised, clean), setting)
            for setting, denoised in method.tried(p, train, held_out)
        )
        for p in COMPONENTS
    }


def verdict(noise, ours, theirs):
    """Say which of the two kernel methods has the smaller error, if it is clear."""
    difference = np.subtract(ours, theirs)
    mean, p_value = difference.mean(), ttest_rel(ours, theirs).pvalue
    winner = RIVALS[0] if mean < 0 else RIVALS[1]
    winner = f"{winner} wins" if p_value < 0.05 else "no clear winner"
    return (
        f"- *{noise}:* {winner}; KernelAutoencoder minus KernelPCA is "
        f"{plus_minus(difference, sign='+')}, {100 * mean / np.mean(theirs):+.1f} % "
        f"(paired t-test over the draws: p = {p_value:.3f})."
    )


def seconds(models, train, test):
    """Return the seconds of fitting, and of denoising the test rows, per method."""
    fits = alternately(5, *(lambda m=m: m.fit(train) for m in models.values()))
    uses = alternately(5, *(lambda m=m: denoise(m, test) for m in models.values()))
    return dict(zip(models, zip(fits, uses, strict=True), strict=True))


def study(noise, clean, labels):
    """Return rows of both tables, a verdict, and the pictures of one noise."""
    noisy = NOISES[noise](clean, np.random.default_rng(1))
    (train, held_out), *draws = parts()
    best = {
        name: tuned(method, noisy[train], noisy[held_out], clean[held_out])
        for name, method in METHODS.items()
    }

    def model(name, p):
        _, setting = best[name][p]
        return METHODS[name].make(p, *setting)

    tests = {
        (name, p): [
            error(
                denoise(model(name, p).fit(noisy[train]), noisy[test]),
                clean[test],
            )
            for train, test in draws
        ]
        for name in METHODS
        for p in COMPONENTS
    }
    curve = [
        (
            noise,
            p,
            *(plus_minus(tests[name, p]) for name in METHODS),
            plus_minus(np.subtract(*(tests[name, p] for name in RIVALS)), sign="+"),
        )
        for p in COMPONENTS
    ]
    chosen = {name: min(best[name], key=best[name].get) for name in METHODS}
    models = {name: model(name, p) for name, p in chosen.items()}
    train, test = draws[0]
    spent = seconds(models, noisy[train], noisy[test])
    summary = [
        (
            noise,
            name,
            plus_minus(tests[name, p]),
            p,
            ", ".join(f"{value:.3g}" for value in best[name][p][1]) or "none",
            *(f"{time:.3f}" for time in spent[name]),
        )
        for name, p in chosen.items()
    ]
    untouched = [error(noisy[test], clean[test]) for _, test in draws]
    summary.insert(0, (noise, "noisy digits", plus_minus(untouched), *[""] * 4))
    ours, theirs = (tests[name, chosen[name]] for name in RIVALS)
    shown = [test[labels[test] == digit][0] for digit in range(10)]
    images = {"clean": clean[shown], "noisy": noisy[shown]} | {
        name: denoise(models[name], noisy[shown])
        for name in ("KernelPCA", "PCA", "KernelAutoencoder")
    }
    return summary, curve, verdict(noise, ours, theirs), images


def draw(axes, images, title):
    """Show one row of ten digits for each of the images."""
    axes.imshow(
        np.vstack(
            [np.hstack(list(rows.reshape(-1, 16, 16))) for rows in images.values()]
        ),
        cmap="gray",
        vmin=0,
        vmax=1,
    )
    axes.set(xticks=[], title=title)
    axes.set_yticks(8 + 16 * np.arange(len(images)), list(images))
    axes.tick_params(length=0)


def run() -> None:
    clean, labels = digits()
    summary, curve, verdicts = [], [], []
    figure, axes = plt.subplots(2, 1, figsize=(8, 8.4), layout="constrained")
    for noise, place in zip(NOISES, axes, strict=True):
        rows, by_components, words, images = study(noise, clean, labels)
        summary += rows
        curve += by_components
        verdicts.append(words)
        draw(place, images, noise)
    header = ["noise", "method", "test error", "components", "gamma, alpha"]
    write_page(
        "denoising",
        f"""# Denoising digits

`python -m reproductions denoising`. {__doc__.split(chr(10) * 2, 1)[1]}
Errors are 1000 times the mean squared error of a pixel. Settings as chosen on the
validation digits:

{table([*header, "fit, s", "denoise 500, s"], summary)}

{chr(10).join(verdicts)}

The trivial rivals:

{rival_table(clean)}

With nothing learned from other digits the median of 3 x 3 pixels is far better under
salt and pepper than any of the methods above, and a Gaussian filter comes near them
under Gaussian noise. Neighbouring pixels are alike, which none of the methods is told.

By the number of components, each with its own gamma and alpha; the difference is
KernelAutoencoder minus KernelPCA:

{table(["noise", "components", *METHODS, "difference"], curve)}

With few components KernelPCA is better, with many KernelAutoencoder, whose alpha keeps
the small codes from bringing the noise back. Much of that is shrinkage: the linear
autoencoder is ahead of both under Gaussian noise, and about as good as KernelPCA under
salt and pepper. KernelPCA is faster to fit.

Seconds are the best of five, on {machine()}.

{save_figure(figure, "denoising")}
""",
    )
