"""``okl demo``: what relations are worth, on data of scikit-learn."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from okl.cli.terminal import destination, note, refusals_and_warnings, say


class Demo(StrEnum):
    """What a demo shows."""

    mosaic = "mosaic"
    digits = "digits"


def demo(
    name: Annotated[
        Demo,
        typer.Argument(
            help="mosaic: three colours from one recorded per pixel, where learned "
            "relations help; digits: scikit-learn's, where they do not."
        ),
    ] = Demo.mosaic,
    out: Annotated[
        str, typer.Option(metavar="PATH", help="Folder for the results.")
    ] = "okl-demo",
) -> None:
    """Show what learning the relations is worth, on data of scikit-learn."""
    with refusals_and_warnings():
        if name is Demo.mosaic:
            from okl.cli.demos.mosaic import run_mosaic

            report = run_mosaic(destination(out), note=note)
        else:
            from okl.cli.demos.digits import run_digits

            report = run_digits(destination(out), note=note)
        say(report)
