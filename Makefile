PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Python compiles the modules that it imports, which are a part of all that pip would compile.
INSTALL := $(PIP) install --no-compile

# The hashes of constraints.txt are those of the files for one kind of machine; VERIFY=no uses its versions alone.
VERIFY ?= $(shell $(PYTHON) -c 'import platform as p, sys; print("yes" if (p.system(), p.machine(), \
	sys.version_info[:2]) == ("Linux", "x86_64", (3, 11)) else "no")')

# Two processes with one thread each are faster than one process with two.
IN_TWO = --numprocesses 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo check quick test test-lowest fuzz docs constraints licences clean

# Train MG-GCN on Pubmed and leave a run folder with a page.
demo: .venv/demo
	$(BIN)/mggcn train pubmed

# Lint, types, import rules.
check: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# In less than a minute, while you work: all checks, and the tests of the core, or of TESTS, up to a first failure.
TESTS ?= tests/unit/test_*.py tests/unit/nn tests/unit/sampling tests/unit/methods tests/paper tests/fuzz
quick: check
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(IN_TWO) -m 'not slow' --exitfirst --quiet $(TESTS) $(PYTEST_FLAGS)

# All checks and the tests; only with ALL=yes, which .ci/run has, those marked slow and many examples for each property.
test: check
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(IN_TWO) $(if $(ALL),--hypothesis-profile ci,-m 'not slow') $(PYTEST_FLAGS)

# The tests with the lowest versions that pyproject.toml allows; torch is that of constraints.txt, unless TORCH names another
# version of which the index has a CPU wheel.
test-lowest: .venv-lowest/tested
	OMP_NUM_THREADS=1 .venv-lowest/bin/python -m pytest $(IN_TWO) \
		--ignore tests/docs --ignore tests/repository $(PYTEST_FLAGS)

# Read damaged and random files of every kind with every reader, for SECONDS.
SECONDS ?= 600
fuzz: .venv/test
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

# The documentation as a site in site/; Material's own notice about MkDocs 2 is not about this site.
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Resolve pyproject.toml again; UPGRADE=--upgrade takes the newest versions.
constraints: $(BIN)/python
	$(BIN)/python .ci/constraints.py $(UPGRADE)

# List the licences of the packages in constraints.txt.
licences: .venv/test
	$(BIN)/python .ci/licences.py

clean:
	rm -rf .venv .venv-lowest site dist

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("mggcn needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

ifeq ($(VERIFY),yes)
# pip checks a hash of every file; the package itself and pyspark, which has no wheel, are built with what is installed.
define install
	sed -n '1,/^# end of $*$$/p' constraints.txt > .venv/$*.txt
	$(INSTALL) --require-hashes --no-build-isolation --requirement .venv/$*.txt
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@
endef
else
define install
	sed 's/ --hash=.*//' constraints.txt > .venv/$*.txt
	$(INSTALL) --constraint .venv/$*.txt --editable '.[$(subst demo,report,$*)]'
	@touch $@
endef
endif

.venv/demo: .venv/%: $(BIN)/python pyproject.toml constraints.txt
	$(install)

.venv/docs .venv/test: .venv/%: .venv/demo
	$(install)

.venv-lowest/tested: pyproject.toml constraints.txt .ci/lowest.py
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) .ci/lowest.py $(TORCH) > .venv-lowest/versions.txt
	.venv-lowest/bin/python -m pip --quiet --disable-pip-version-check install --requirement .venv-lowest/versions.txt \
		--editable '.[test]'
	@touch $@
