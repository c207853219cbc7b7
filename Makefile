# Needs Python 3.11 or newer, make, and a package index on the first run.
# PYTHON=… chooses another Python, VENV=… another virtualenv, PYTEST_ARGS=… what pytest runs,
# WORKERS=… how many processes share the tests (0: none but pytest's own, for a debugger).

VENV        ?= .venv
PYTHON      ?=
PYTEST_ARGS ?=
WORKERS     ?= 2
SLOW_ARGS   ?=
BIN         := $(VENV)/bin
CODE        := src tests tools bench

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.DEFAULT_GOAL := help
.PHONY: help demo test check proof bench generate clean

help:  ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

demo: $(VENV)/local  ## install, start the embedded server, and answer four questions on screen
	@$(BIN)/veraz demo

test: check  ## install, then everything static and every test but the slow ones
	@$(BIN)/python -m pytest -m "not slow" -n $(WORKERS) --dist loadfile $(PYTEST_ARGS)

check: $(VENV)/test  ## style, types, imports between folders, generated files
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/python tools/lint_imports.py
	$(BIN)/python tools/generate_sync.py --check

proof: $(VENV)/test  ## the slow tests: minutes
	@$(BIN)/python -m pytest -m slow $(SLOW_ARGS)

bench: $(VENV)/test  ## every script of bench/ that runs without arguments
	@set -e; for script in $$(grep -l '^# make bench' bench/*.py || true); do \
	    echo "== $$script"; $(BIN)/python "$$script"; done

generate: $(VENV)/test  ## write the generated files again
	$(BIN)/python tools/generate_sync.py
	$(BIN)/python -m veraz.cli.reference > docs/reference/cli.md
	$(BIN)/python -m veraz.cli.reference configuration > docs/reference/configuration.md

clean:  ## remove the virtualenv and caches; documents and the embedded server stay
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests tools bench -name __pycache__ -prune -exec rm -rf {} +

# A stamp is newer than pyproject.toml when nothing has to be installed.
$(VENV)/local: pyproject.toml tools/make_venv.sh
	@sh tools/make_venv.sh "$(VENV)" local "$(PYTHON)"

$(VENV)/test: pyproject.toml tools/make_venv.sh
	@sh tools/make_venv.sh "$(VENV)" test "$(PYTHON)"
