"""
Fill in what is missing in a table
==================================

A photograph is cut into squares of 8 x 8 pixels. Each is a row of a table of 64
columns, and of all entries half are unknown. `okl.OutputKernelImputer` learns from the
rows, with their holes, how pixels of a square go together, and fills in each of them
given those that are seen in its row. The trivial rivals put the mean of the column
there, or that of what is seen of the row; `sklearn.impute.KNNImputer` takes the mean of
the rows most alike.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.impute import KNNImputer, SimpleImputer

from okl import OutputKernelImputer

# %%
# Rows of the table are squares of the photograph.
SIDE = 8
photograph = load_sample_image("china.jpg")[100:292, 80:400].mean(axis=2)
n_down, n_across = (length // SIDE for length in photograph.shape)
squares = photograph.reshape(n_down, SIDE, n_across, SIDE).swapaxes(1, 2)
truth = squares.reshape(-1, SIDE**2)

unknown = np.random.default_rng(0).random(truth.shape) < 1 / 2
table = np.where(unknown, np.nan, truth)

# %%
# What was observed stays as it is; the rest is filled in.
imputers = {
    "mean of the column": SimpleImputer(),
    "neighbours": KNNImputer(),
    "okl": OutputKernelImputer(),
}
filled = {name: imputer.fit_transform(table) for name, imputer in imputers.items()}
of_rows = np.nanmean(table, axis=1, keepdims=True)
filled["mean of the row"] = np.where(unknown, of_rows, truth)

# %%
# The squared error over the variance, of unknown entries.
variance = np.var(truth[unknown])
errors = {
    name: np.mean((values - truth)[unknown] ** 2) / variance
    for name, values in filled.items()
}
for name, error in errors.items():
    print(f"{name}: {error:.3f}")


# %%
# The table as a photograph again.
def picture(rows):
    """Return rows put together (n_down * SIDE, n_across * SIDE)."""
    parts = rows.reshape(n_down, n_across, SIDE, SIDE).swapaxes(1, 2)
    return parts.reshape(n_down * SIDE, n_across * SIDE)


rows = {"given": table, "neighbours": filled["neighbours"], "okl": filled["okl"]}
rows["truth"] = truth
figure, axes = plt.subplots(2, 2, figsize=(9, 5.8), layout="constrained")
for (name, values), axis in zip(
    {**rows, "truth": truth}.items(), axes.flat, strict=True
):
    title = f"{name} ({errors[name]:.3f})" if name in errors else name
    axis.set(title=title, xticks=[], yticks=[], facecolor="tab:orange")
    axis.imshow(picture(values), cmap="gray", vmin=0, vmax=255)
figure.suptitle("Half of the pixels filled in; squared error over variance")
plt.show()
