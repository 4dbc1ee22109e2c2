PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test docs clean

# Train MG-GCN on Pubmed and leave a run folder with a page.
demo: .venv/demo
	$(BIN)/mggcn train pubmed

# Lint, types, import rules, all tests; two processes with one thread each are faster than one process with two.
test: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

# The documentation as a site in site/; Material's own notice about MkDocs 2 is not about this site.
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv site

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("mggcn needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/core: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable .
	@touch $@

.venv/demo: .venv/core
	$(INSTALL) --editable '.[report]'
	@touch $@

.venv/test: .venv/core
	$(INSTALL) --editable '.[test]'
	@touch $@

.venv/docs: .venv/core
	$(INSTALL) --editable '.[docs]'
	@touch $@
