"""The command line: its commands, and the options of all of them."""

from __future__ import annotations

from typing import Annotated

import typer

from okl import __version__
from okl.cli import commands
from okl.cli.terminal import refusals_and_warnings, say

app = typer.Typer(
    name="okl",
    help="Learn several outputs together, and how they are related.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        with refusals_and_warnings():
            say(f"okl {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Learn several outputs together, and how they are related."""


for command in (
    commands.fit,
    commands.predict,
    commands.evaluate,
    commands.impute,
    commands.demo,
):
    app.command()(command)
