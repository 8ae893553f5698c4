"""The scripts behind figures fit the library as it is."""

import importlib
from pathlib import Path

import pytest

from tests.mutations import MUTATIONS

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("benchmarks", "reproductions")
    for path in (ROOT / folder).rglob("*.py")
    if not path.stem.startswith("__")
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_finds_what_it_imports(name):
    importlib.import_module(name)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.line)
def test_every_mutation_has_its_line(mutation):
    text = (ROOT / "src" / "okl" / mutation.file).read_text()
    assert text.count(mutation.line) == 1
    assert (ROOT / mutation.first.partition("::")[0]).exists()
