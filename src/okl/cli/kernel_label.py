"""A kernel in a line of text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from okl.cli.errors import one_line


def kernel_label(kernel: Any) -> str:
    """Return a kernel as a line, with numbers of three digits, lengths of arrays."""
    # of arrays only the number of entries is told
    with np.printoptions(threshold=10**9, formatter={"all": lambda entry: "0"}):
        text = one_line(kernel.__repr__(N_CHAR_MAX=10**9))
    text = re.sub(
        r"array\(\[([^()]*)\]\)", lambda a: f"[{a[1].count(',') + 1} numbers]", text
    )
    return re.sub(r"\d+\.\d+(e[+-]?\d+)?", lambda n: f"{float(n[0]):.3g}", text)
