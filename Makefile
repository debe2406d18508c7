# `make demo` and `make test` set themselves up: Python >= 3.11 and make are all they need.
#
# RELUFLOW_EXTRAS=all   also install the optional packages (JAX, python-flint, torch for the tests, ...)
# RELUFLOW_DATA=folder  where data sets are looked for: MNIST in $RELUFLOW_DATA/mnist/
# PYTHON=python3.12     the Python to build .venv with, if not the first recent one on PATH

BIN := .venv/bin
READY := .venv/.project-stamp
TOOLS := $(READY) .venv/.dev-stamp
ifeq ($(RELUFLOW_EXTRAS),all)
READY += .venv/.extras-stamp
TOOLS += .venv/.extras-stamp .venv/.torch-stamp .venv/.chromium-stamp
endif
export PYTHON RELUFLOW_EXTRAS RELUFLOW_DATA

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test gate exhaustive coverage lint format docs site bench venv lock clean distclean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/    make \1\t\2/p' Makefile | expand -t 24

demo: $(READY) ## set up, follow one network from e^-100000 to its limit, draw it
	@$(BIN)/reluflow demo

test: .venv/.project-stamp ## set up, check the style and the types, run the tests
	@echo "compiling the kernels, if they changed (about a minute); style and types meanwhile"
	@$(BIN)/python scripts/compile.py & kernels=$$!; \
	$(MAKE) --no-print-directory lint || { kill $$kernels 2>/dev/null; exit 1; }; \
	wait $$kernels
	@$(BIN)/pytest -q -n 2

gate: $(TOOLS) ## compare the engine's results bit for bit with those stored for this machine
	@$(BIN)/python tests/gates/bits.py

exhaustive: $(TOOLS) ## run the full counts behind every claim (long)
	@RELUFLOW_EXHAUSTIVE=1 $(BIN)/pytest -q -n 2 -m exhaustive

coverage: $(TOOLS) ## show which lines of the engine its small problems reach
	@$(BIN)/python tests/gates/pure.py

lint: $(TOOLS) ## check the style and the types only
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "Some files are not formatted: run \`make format\`."; exit 1; }
	@$(BIN)/mypy

format: .venv/.dev-stamp ## rewrite the source in the project's style
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format --quiet .

docs: $(READY) .venv/.extras-stamp ## build the documentation in docs/_build/html
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

site: $(READY) .venv/.extras-stamp ## build documentation, article and explorer in site/, for any web server
	@rm -rf site docs/_build/site/html
	@$(BIN)/sphinx-build -q -W --keep-going -t site -d docs/_build/site/doctrees -b html docs docs/_build/site/html
	@mv docs/_build/site/html site
	@$(BIN)/reluflow explore --export site/explorer

bench: $(READY) ## measure against the named peers
	@$(BIN)/reluflow bench

venv: $(TOOLS) ## set up .venv and stop there

lock: ## recompile the pinned requirements (needs uv)
	@scripts/lock.sh

clean: ## remove caches and built files
	@rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist docs/_build site
	@find src plugins tests benchmarks examples docs scripts -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## the same, and .venv
	@rm -rf .venv

.venv/.core-stamp: requirements/core.txt
	@scripts/env.sh core
	@touch $@

.venv/.project-stamp: pyproject.toml $(wildcard plugins/*/pyproject.toml) .venv/.core-stamp
	@scripts/env.sh project
	@touch $@

.venv/.dev-stamp: requirements/dev.txt .venv/.core-stamp
	@scripts/env.sh dev
	@touch $@

.venv/.extras-stamp: requirements/extras.txt .venv/.core-stamp
	@scripts/env.sh extras
	@touch $@

# Best effort: without the stamp the next run tries again.
.venv/.torch-stamp: requirements/torch.txt .venv/.extras-stamp
	@if scripts/env.sh torch; then touch $@; fi

.venv/.chromium-stamp: .venv/.extras-stamp
	@if scripts/env.sh chromium; then touch $@; fi
