"""A photograph in which only one colour was recorded at each pixel.

Every digital camera has this problem: the sensor of a pixel measures red, green or
blue, and the other two colours have to be computed from neighbouring pixels. The
colours are three outputs, and each row, a pixel, has one of them observed: data in long
form. The colours rise and fall together, especially at edges; this relation is what can
be learned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.utils import check_random_state

CHANNELS = ("red", "green", "blue")


@dataclass(frozen=True)
class Mosaic:
    """A picture, and the one value that was recorded at each pixel.

    Attributes
    ----------
    image : array (size, size, 3)
        The true picture: red, green and blue from 0 to 1.
    X : array (size ** 2, 2)
        Row and column of each pixel, in pixels, in the order of ``image``.
    task : array of str (size ** 2,)
        The channel that was recorded: ``"red"``, ``"green"`` or ``"blue"``.
    y : array (size ** 2,)
        Its value.
    recorded : array of bool (size, size, 3)
        True at the values in y, one for each pixel; False at the two hidden values.
    """

    image: np.ndarray
    X: np.ndarray
    task: np.ndarray
    y: np.ndarray
    recorded: np.ndarray

    def error(self, picture: np.ndarray) -> float:
        """Return the root mean square error of a picture in the hidden values."""
        return float(np.sqrt(np.mean((picture - self.image)[~self.recorded] ** 2)))


def load_mosaic(
    corner: tuple[int, int] = (280, 300),
    size: int = 40,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> Mosaic:
    """Cut a square out of scikit-learn's ``china.jpg``, and record colours at random.

    Parameters
    ----------
    corner : tuple of two ints, default=(280, 300)
        Row and column of the upper left pixel, in a photograph of 427 x 640 pixels.
        The default is a red gallery of the pagoda.
    size : int, default=40
        Length of a side in pixels.
    random_state : int, RandomState or None, default=None
        Draws the channel of each pixel, as in scikit-learn.

    Returns
    -------
    Mosaic

    Raises
    ------
    ValueError
        If the square is not inside the photograph.
    ImportError
        If Pillow, which reads the photograph, is not installed (matplotlib installs
        it).
    """
    photograph = load_sample_image("china.jpg")
    height, width, n_channels = photograph.shape
    row, column = corner
    if size < 1 or not (0 <= row <= height - size and 0 <= column <= width - size):
        raise ValueError(
            f"a square of {size} x {size} pixels with the corner {tuple(corner)} is "
            f"not inside the photograph of {height} x {width} pixels; choose another "
            "corner, or a smaller size."
        )
    image = photograph[row : row + size, column : column + size] / 255.0
    channel = check_random_state(random_state).randint(n_channels, size=(size, size))
    recorded = channel[..., None] == np.arange(n_channels)
    return Mosaic(
        image=image,
        X=np.indices((size, size)).reshape(2, -1).T.astype(float),
        task=np.array(CHANNELS)[channel.ravel()],
        y=image[recorded],
        recorded=recorded,
    )
