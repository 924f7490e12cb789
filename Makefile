# The two that matter: `make demo` and `make test`. Each sets up what it needs; a second run costs a second.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST_ARGS ?=
# Tests that need no broker and no database run side by side; the others own ports, processes and the machine's time.
QUICK := not integration and not slow and not chaos and not apache and not postgres
SIDE_BY_SIDE := -n auto --maxprocesses 4 --dist loadgroup
BENCH_ARGS ?=

.PHONY: help setup lock demo test test-quick check format bench bench-nli bench-clinical chaos clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## make .venv from the hashed lock

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "touchstone: Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "touchstone: python3 cannot make a virtual environment (on Debian: apt-get install python3-venv)"; exit 1; }
	@test -e $@ || echo "Installing into $(VENV): about 6 GB, some minutes the first time …"
	@# uv comes from the same lock; it then installs the rest, with hashes, in seconds.
	@test -x $(BIN)/uv || { sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.lock && { $(BIN)/python -m pip --version > /dev/null 2>&1 || $(BIN)/python -m ensurepip > /dev/null; } && $(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r $(VENV)/uv.lock; }
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip sync -q --require-hashes requirements.lock
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --no-deps --no-build-isolation -e .
	@touch $@

lock: $(READY) ## resolve pyproject.toml again into requirements.lock
	@$(BIN)/uv lock -q --upgrade
	@$(BIN)/uv export -q --frozen --all-extras --all-groups --no-emit-index-url --no-emit-project --no-header --no-annotate -o requirements.lock > /dev/null
	@! grep -nE 'https?://' requirements.lock

demo: $(READY) ## score the sample batches live on the embedded broker and show the results
	@$(BIN)/touchstone demo

test: $(READY) ## every test: quick, integration, chaos in small
	@# 5 is pytest's word for "no test chosen": with PYTEST_ARGS one of the two parts may be empty, but not both.
	@quick=0; $(BIN)/pytest -m "$(QUICK)" $(SIDE_BY_SIDE) $(PYTEST_ARGS) || quick=$$?; \
	 rest=0; $(BIN)/pytest -m "not ($(QUICK))" $(PYTEST_ARGS) || rest=$$?; \
	 if [ $$quick = 5 ]; then exit $$rest; elif [ $$rest = 5 ]; then exit $$quick; else exit $$((quick | rest)); fi

test-quick: $(READY) ## tests that need no broker and no database
	@$(BIN)/pytest -m "$(QUICK)" $(SIDE_BY_SIDE) $(PYTEST_ARGS)

check: $(READY) ## lint, format, types, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }

format: $(READY) ## format and mend what can be mended
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format -q .

bench: $(READY) ## measure: ratios against baselines of the same run
	@$(BIN)/python -m touchstone.ops.bench

bench-nli: $(READY) ## measure the NLI engine and the summary suite; the GPU part where there is one
	@$(BIN)/python -m touchstone.ops.bench.nli $(BENCH_ARGS)
	@$(BIN)/python -m touchstone.ops.bench.nli_gpu

bench-clinical: $(READY) ## measure HL7 v2 and FHIR validation; BENCH_ARGS="--data DIR" for real documents
	@$(BIN)/python -m touchstone.ops.bench.clinical $(BENCH_ARGS)

chaos: $(READY) ## kill workers and brokers while 20,000 events flow; prints lost, doubled, dead, duplicates, lag
	@$(BIN)/python -m touchstone.ops.verify.chaos

clean: ## remove what these targets made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
