"""A tree as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np


def drawn(parents: np.ndarray, texts: Sequence[str]) -> str:
    """Return one line for each node: its text, indented below that of its parent.

    Parameters
    ----------
    parents : array of int (n_nodes,)
        The parent of each node, breadth first; -1 for the root.
    texts : sequence of str (n_nodes,)
        The text of each node.
    """
    children: list[list[int]] = [[] for _ in texts]
    for node, parent in enumerate(parents.tolist()[1:], start=1):
        children[parent].append(node)
    return "\n".join(_lines(children, texts))


def _lines(children: list[list[int]], texts: Sequence[str]) -> Iterator[str]:
    # a stack instead of a recursion: trees may be deeper than Python's recursion limit
    stack = [(0, "", "")]
    while stack:
        node, before, indent = stack.pop()
        yield before + texts[node]
        below = []
        for child in children[node]:
            last = child == children[node][-1]
            branch, further = ("`-- ", "    ") if last else ("|-- ", "|   ")
            below.append((child, indent + branch, indent + further))
        stack.extend(reversed(below))
