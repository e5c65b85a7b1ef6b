# `make` alone lists what there is. The set-up happens by itself, in .venv inside this folder, and nowhere else.

SCENARIO ?= box
HEADLESS ?=
ARGS ?=
# A sourced ROS workspace would put its own pinocchio before the one that tsid was built against.
unexport PYTHONPATH PYTHONHOME
export PYTHON

BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run test test-slow lint docs lock clean set-up

help:
	@echo 'make run                    open the viewer on the scenario "box"; stop with Ctrl-C'
	@echo 'make run SCENARIO=king      the same with another scenario (a name, or a path to a .yaml file)'
	@echo 'make run HEADLESS=1         run it to its end without the viewer and print the report'
	@echo 'make run ARGS="--seed 3"    pass more arguments to multi-qp run'
	@echo 'make test                   run the tests (ARGS="-k contact" chooses some)'
	@echo 'make test-slow              run those that take minutes: all seeds and masses, a fine time step'
	@echo 'make lint                   check style and types'
	@echo 'make docs                   build the documentation site with an API reference: site/index.html'
	@echo 'make lock                   resolve requirements-test.txt anew into requirements.lock'
	@echo 'make clean                  remove .venv and everything else that can be made again'
	@echo 'PYTHON=python3.12           with any of them: the interpreter (3.11, 3.12 or 3.13)'

set-up:
	@sh tools/set_up.sh

run: set-up
	@$(BIN)/multi-qp run "$(SCENARIO)" $(if $(filter-out 0 no false,$(HEADLESS)),--headless) $(ARGS)

# A process for each core, up to four; a file is run by one of them, for what it has set up. ARGS="-n 0" for a debugger.
# In the order of the folders, which ends with short files: those with few tests, which come last by default, are long.
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test: set-up
	@$(PYTEST) $(ARGS)

test-slow: set-up
	@$(PYTEST) -m slow $(ARGS)

lint: set-up
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy

# What it needs is installed with the first site, and anew when requirements-docs.txt has changed.
docs: set-up
	@cmp -s requirements-docs.txt .venv/requirements-docs.txt || \
	    { $(BIN)/python -m pip install --quiet --no-deps -r requirements-docs.txt && cp requirements-docs.txt .venv; }
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo 'The site is in site/index.html'

lock:
	@sh tools/lock.sh

clean:
	rm -rf .venv build dist site *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
