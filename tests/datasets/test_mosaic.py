"""One recorded colour a pixel: which, where, and the error of a picture."""

import numpy as np
import pytest

from okl.datasets import load_mosaic

CHANNELS = ["red", "green", "blue"]


def test_one_value_of_each_pixel_is_recorded():
    mosaic = load_mosaic(size=9, random_state=0)
    assert np.all(mosaic.recorded.sum(axis=2) == 1)
    assert set(mosaic.task) == set(CHANNELS)
    row, column = mosaic.X.astype(int).T
    channel = [CHANNELS.index(name) for name in mosaic.task]
    np.testing.assert_array_equal(mosaic.y, mosaic.image[row, column, channel])
    assert mosaic.recorded[row, column, channel].all()
    assert 0 <= mosaic.image.min() < mosaic.image.max() <= 1


def test_the_square_is_where_it_was_asked_for():
    whole = load_mosaic((20, 30), 8, random_state=0)
    part = load_mosaic((22, 33), 5, random_state=0)
    np.testing.assert_array_equal(part.image, whole.image[2:7, 3:])


def test_the_seed_draws_the_channels():
    first, same, other = (load_mosaic(size=9, random_state=s).task for s in (0, 0, 1))
    assert np.all(first == same)
    assert np.any(first != other)


def test_the_error_is_that_of_hidden_values():
    mosaic = load_mosaic(size=9, random_state=0)
    wrong_where_recorded = np.where(mosaic.recorded, -1.0, mosaic.image)
    assert mosaic.error(wrong_where_recorded) == 0
    assert mosaic.error(mosaic.image + 0.25) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("corner", "size"), [((388, 0), 40), ((0, 601), 40), ((-1, 0), 40), ((0, 0), 0)]
)
def test_a_square_outside_the_photograph_is_refused(corner, size):
    with pytest.raises(ValueError, match="not inside the photograph of 427 x 640"):
        load_mosaic(corner, size)
