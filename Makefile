# Everything here needs Python 3.11, pip and make, nothing else.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow lint types bench reproduce docs clean

demo: $(STAMP)
	$(BIN)/okl demo --out okl-demo

test: $(STAMP)
	$(BIN)/python -m pytest -m "not slow" -n auto

test-slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m benchmarks

reproduce: $(STAMP)
	$(BIN)/python -m reproductions

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	$(BIN)/sphinx-build -q -b html docs docs/_build

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) okl-demo
