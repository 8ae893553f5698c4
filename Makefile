# Everything here needs Python 3.11 or newer, pip and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Stamps: an environment; okl in it with what its users need; and with what developers do.
ENVIRONMENT := $(VENV)/.environment
USER := $(VENV)/.user
DEVELOPER := $(VENV)/.developer

# Workers, and processes that tests start, would compile the tests and okl each anew.
test test-all test-slow test-cpus test-oldest: export PYTHONDONTWRITEBYTECODE =

.NOTPARALLEL:
.PHONY: demo test test-all test-slow test-cpus test-oldest wheel-check lint types bench reproduce docs clean

demo: $(USER)
	$(BIN)/okl demo --out okl-demo

test: $(DEVELOPER)
	$(BIN)/python -m pytest -m "not slow and not product" -n auto --dist worksteal

# All cases of every product of parameters, of which the above has every pair.
test-all: $(DEVELOPER)
	$(BIN)/python -m pytest -m "not slow" -n auto --dist worksteal

test-slow: $(DEVELOPER)
	$(BIN)/python -m pytest -m slow --timeout 0

# The claims with the arithmetic of other processors, on one thread and on two. Not all
# tests: the others check formulas and messages, which no processor changes. Not the slow
# ones: the same claims on more cases. Kernels that two processors share run once.
test-cpus: $(DEVELOPER)
	$(BIN)/python -m tests.processors

# The fast tests with the oldest versions of other libraries that pyproject.toml allows.
test-oldest: $(DEVELOPER)
	$(BIN)/python -m tests.oldest

# Build a wheel, and use it where nothing is installed but what it requires, as old as
# may be.
wheel-check: $(DEVELOPER)
	$(BIN)/python -m tests.wheel

lint: $(DEVELOPER)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEVELOPER)
	$(BIN)/mypy

bench: $(DEVELOPER)
	$(BIN)/python -m benchmarks

reproduce: $(DEVELOPER)
	$(BIN)/python -m reproductions

docs: $(DEVELOPER)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build

$(ENVIRONMENT):
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	  2>/dev/null || { \
	  echo 'okl needs Python 3.11 or newer with its venv module; $(PYTHON) is:' \
	    "$$($(PYTHON) --version 2>&1 | tail -n 1)" >&2; \
	  echo 'Install one (Debian and Ubuntu: with python3-venv), or name another:' \
	    'make $(MAKECMDGOALS) PYTHON=python3.12' >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)
	touch $@

$(USER): pyproject.toml $(ENVIRONMENT)
	$(BIN)/python -m pip install --quiet --editable ".[all]"
	touch $@

$(DEVELOPER): pyproject.toml $(ENVIRONMENT)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(USER) $@

clean:
	rm -rf $(VENV) okl-demo
