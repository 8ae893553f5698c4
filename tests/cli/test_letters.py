"""Letters that the font of the pictures does not have."""

import io
import warnings

import matplotlib.pyplot as plt

from okl.cli.letters import missing_letters_said_once


def test_one_warning_of_all_letters_that_are_missing():
    figure = plt.figure()
    figure.text(0, 0, "日本語の名前")

    @missing_letters_said_once()
    def draw():
        figure.savefig(io.BytesIO())
        warnings.warn("another", stacklevel=1)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        draw()
    plt.close(figure)
    assert [str(one.message).split(" of ")[0] for one in said] == [
        "another",
        "The font",
    ]
    assert "font.family" in str(said[1].message)


def test_nothing_is_said_where_none_is_missing():
    with warnings.catch_warnings(), missing_letters_said_once():
        warnings.simplefilter("error")
        plt.close(plt.figure())
