"""``python -m okl.cli``: the command line, where ``okl`` is not on the path."""

from okl.cli import main

main()
