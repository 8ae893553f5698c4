"""The output of commands, on stdout and stderr.

Results go to stdout, notes, warnings and errors to stderr. A `UserError` is printed as
one line, with exit code 2. So are errors for too little memory and for numbers that no
float can hold, wherever they occur.
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
    """Print a line to stderr, apart from the results."""
    typer.echo(f"okl: {one_line(text)}", err=True)


def say(text: str) -> None:
    """Print a result; a full disk behind stdout is a `UserError`."""
    try:
        typer.echo(text)
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader closed the pipe; typer handles it
            raise
        # The rest of the buffer must not fail again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise UserError(
            f"cannot print: {error.strerror}. Files that were written are complete."
        ) from error


def destination(text: str) -> Path:
    """Return --out as a path; if it is empty, as from a variable not set, refuse it."""
    if not text.strip():
        raise UserError("--out is empty; give a name, or . for the current folder.")
    return Path(text)


@contextmanager
def refusals_and_warnings() -> Iterator[None]:
    """Print errors of the user, and warnings, as one line each, and only once."""
    said: set[str] = set()

    def show(message: Any, *args: Any, **kwargs: Any) -> None:
        if str(message) not in said:
            note(f"warning: {message}")
        said.add(str(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        # a warning of scikit-learn about folds of targets that the user declared
        # classes
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
