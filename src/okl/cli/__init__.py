"""The command line: ``okl fit``, ``okl predict`` and ``okl demo``.

The commands turn tables into models and models into tables; everything they know of
learning is in the estimators. `okl.cli.commands` only parse arguments: the work is done
by plain functions that need no command line, `fit_table` in `okl.cli.fit`,
`predict_table` in `okl.cli.predict`, and `load_model` in `okl.cli.storage`.

The libraries of the command line (typer, pandas, skops, ...) are an extra. They are
imported when a command runs, so ``import okl`` needs none of them.
"""

from __future__ import annotations

import signal
import sys
from io import TextIOWrapper
from typing import NoReturn


def main() -> None:
    """Run the command line; say how to install its libraries if one is missing."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot show must not end in a traceback.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Clean up as after Ctrl-C when a scheduler, or `kill`, ends the process.
    signal.signal(signal.SIGTERM, _stop)
    try:
        from okl.cli.app import app

        app()
    except ImportError as error:
        # A missing part of okl is a broken installation, and its traceback is needed.
        if (error.name or "").partition(".")[0] == "okl":
            raise
        reason = " ".join(str(error).split())
        print(f"okl: {reason}. The command line needs its extra:", file=sys.stderr)
        print('    pip install "okl[cli]"', file=sys.stderr)
        sys.exit(2)


def _stop(number: int, frame: object) -> NoReturn:
    """Leave all work, with the exit code that shells give a process so ended."""
    sys.exit(128 + number)
