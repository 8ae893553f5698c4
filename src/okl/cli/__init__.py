"""The command line: ``okl fit``, ``okl predict``, ``okl evaluate`` and others.

The commands make models from tables, and tables from models; all learning is in the
estimators. `okl.cli.commands` only parses arguments. The work is done by functions that
can be called without a command line: `fit_table` in `okl.cli.fit`, `predict_table` in
`okl.cli.predict`, and `load_model` in `okl.cli.storage`.

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
        # A name that the terminal cannot show must not raise an error.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    # If a scheduler or `kill` ends the process, clean up as after Ctrl-C.
    signal.signal(signal.SIGTERM, _stop)
    try:
        from okl.cli.app import app

        app()
    except ImportError as error:
        # If a part of okl is missing the installation is broken: show the traceback.
        if (error.name or "").partition(".")[0] == "okl":
            raise
        reason = " ".join(str(error).split())
        print(f"okl: {reason}. The command line needs its extra:", file=sys.stderr)
        print('    pip install "okl[cli]"', file=sys.stderr)
        sys.exit(2)


def _stop(number: int, frame: object) -> NoReturn:
    """Exit with the code that shells give to a process ended by a signal."""
    sys.exit(128 + number)
