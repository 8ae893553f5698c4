"""The commands as typer sees them, a file each: arguments, their help, what is printed.

Each imports what it needs when it runs, so ``okl --help`` is quick, and a missing
library is noticed before any work.
"""

from okl.cli.commands.demo import demo
from okl.cli.commands.evaluate import evaluate
from okl.cli.commands.fit import fit
from okl.cli.commands.impute import impute
from okl.cli.commands.predict import predict

__all__ = ["demo", "evaluate", "fit", "impute", "predict"]
