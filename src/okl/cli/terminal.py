"""What a command says, and where: the terminal as users see it.

Results go to stdout, notes, warnings and errors to stderr. A `UserError` is one line,
and exit code 2; so are too little memory and numbers that no float can hold, wherever
they come up.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from numpy.linalg import LinAlgError

from okl.cli.errors import UserError, one_line, refusing


def note(text: object) -> None:
    """Print a line beside the results."""
    typer.echo(f"okl: {one_line(text)}", err=True)


def say(text: str) -> None:
    """Print a result; a full disk behind stdout is no bug of ours."""
    try:
        typer.echo(text)
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader has seen enough; typer knows
            raise
        # What waits in the buffer must not fail once more when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise UserError(
            f"cannot print: {error.strerror}. Files that were written are complete."
        ) from error


def destination(text: str) -> Path:
    """Read --out. An empty one, of a variable that is not set, is not this folder."""
    if not text.strip():
        raise UserError("--out is empty; give a name, or . for the current folder.")
    return Path(text)


@contextmanager
def refusals_and_warnings() -> Iterator[None]:
    """Print what the user got wrong, and warnings, as one line each, none twice."""
    said: set[str] = set()

    def show(message: Any, *args: Any, **kwargs: Any) -> None:
        if str(message) not in said:
            note(f"warning: {message}")
        said.add(str(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        # of scikit-learn, about folds of targets that were said to be classes
        warnings.filterwarnings("ignore", "The number of unique classes is greater")
        try:
            with (
                refusing("not enough memory", MemoryError),
                refusing(
                    "a number is too large or too small to compute with; choose other "
                    "alphas or parameters, or other units",
                    OverflowError,
                    LinAlgError,
                ),
            ):
                yield
        except UserError as error:
            note(f"error: {error}")
            raise typer.Exit(2) from None
