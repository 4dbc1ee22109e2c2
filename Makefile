PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test clean

# Train MG-GCN on Pubmed and leave a run folder.
demo: .venv/core
	$(BIN)/mggcn train pubmed

# Lint, types, import rules, all tests.
test: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest

clean:
	rm -rf .venv

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("mggcn needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/core: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable .
	@touch $@

.venv/test: .venv/core
	$(INSTALL) --editable '.[test]'
	@touch $@
