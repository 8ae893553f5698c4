"""The code that the pages show uses only what it imports, or what is the reader's."""

import ast
import builtins
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = {
    page.name: re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    for page in PAGES
}
# Data, and functions, of the reader.
THEIRS = {"X", "Y", "y", "labels", "noisy", "school", "minus_log_posterior", "theta"}


@pytest.mark.parametrize("page", [page for page, blocks in BLOCKS.items() if blocks])
def test_every_name_is_imported_or_defined(page):
    known = THEIRS | set(dir(builtins))
    for block in BLOCKS[page]:
        nodes = list(ast.walk(ast.parse(block)))
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                known |= {(one.asname or one.name).split(".")[0] for one in node.names}
        names = [node for node in nodes if isinstance(node, ast.Name)]
        known |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
        assert {name.id for name in names} <= known, block


@pytest.mark.parametrize("page", [page for page, blocks in BLOCKS.items() if blocks])
def test_every_import_is_there(page):
    for block in BLOCKS[page]:
        tree = ast.parse(block)
        imports = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
        exec(compile(ast.Module(imports, []), page, "exec"), {})
