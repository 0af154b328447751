# Set-up happens inside the project's own virtual environment; second calls skip what is done.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

PYTEST  = $(BIN)/pytest --numprocesses 2 --durations 10
ROUNDS ?= 3

.PHONY: demo test check lint fast coverage docs machines fuzz faults mutants bench clean

demo: $(VENV)/.installed  ## train GIN and PF-GNN on CSL, print the table, write the pictures
	$(BIN)/pfgnn demo

test: $(VENV)/.installed-dev  ## set up, then the linters and all tests
	@$(MAKE) --no-print-directory lint
	$(PYTEST)

check: lint fast  ## the linters and the fast tests, in under two minutes, where it is already set up

lint:  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fast:  ## the tests that are not marked slow
	$(PYTEST) -m 'not slow'

coverage: $(VENV)/.installed-dev  ## the coverage of all tests, which take half as long again
	$(PYTEST) --cov

docs: $(VENV)/.installed-dev  ## build the documentation site into site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

machines: $(VENV)/.installed-dev  ## all tests as other machines would run them, in random orders, ROUNDS times
	$(BIN)/python -m tests.machines --rounds $(ROUNDS) --numprocesses 2

fuzz: $(VENV)/.installed-dev  ## ten minutes of wrong inputs
	$(BIN)/python -m reliability.fuzz

faults: $(VENV)/.installed-dev  ## kill commands, fill the disk and so on, and compare the results
	$(BIN)/python -m reliability.faults

mutants: $(VENV)/.installed-dev  ## change the code at random places, and see whether the fast tests notice
	$(BIN)/python -m reliability.mutants

bench: $(VENV)/.installed-dev  ## measure on this CPU, and write results/bench/
	$(BIN)/python -m benchmarks.graphs
	$(BIN)/python -m benchmarks.data
	$(BIN)/python -m benchmarks.convert
	$(BIN)/python -m benchmarks.cpu --rounds 7

clean:  ## remove the environment and everything the tools left behind
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* build site src/*.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("pfgnn needs Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0] + "; try: make PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing into $(VENV), which takes a minute or two ..."
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing into $(VENV), which takes a minute or two ..."
	$(INSTALL) --editable '.[dev]'
	@touch $(VENV)/.installed $@
