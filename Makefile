# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The demo alone needs no more than the tools do.
EXTRAS := $(if $(filter-out demo,$(or $(MAKECMDGOALS),demo)),[test])
INSTALLED := $(VENV)/installed$(if $(EXTRAS),-with-tests)
RELEASED := out/released
# The type checker has one thread, so that something else runs beside it.
MAKEFLAGS += --jobs=2
# The tests start the tools some hundred times, and each would compile all modules of Python anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint lit unit nightly bench release clean

demo: $(INSTALLED)
	@$(BIN)/python -m bankwise.tools.demo

test: lint lit unit

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	mkdir -p out/typing && ln -sfn ../.. out/typing/bankwise
	$(BIN)/pyright --pythonpath $(BIN)/python

lit: $(INSTALLED)
	$(BIN)/lit -q test

unit: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not nightly"

nightly: $(INSTALLED)
	$(BIN)/python -m pytest -n auto

bench: $(INSTALLED)
	$(BIN)/python -m bankwise.bench.identity stock
	$(BIN)/python -m bankwise.bench.code_checks waits
	$(BIN)/python -m bankwise.bench.compile_time
	$(BIN)/python -m bankwise.bench.emulator_speed
	$(BIN)/python -m bankwise.bench.transpose_ladder
	$(BIN)/python -m bankwise.bench.timing_validation
	$(BIN)/python -m bankwise.bench.matmul_table --jobs -1 -o bench/results
	$(BIN)/python -m bankwise.bench.programs --jobs -1 -o bench/results

# Source distribution and wheel in dist/, the wheel made from the source distribution and tried in an
# empty environment. The version is `__version__` in __init__.py.
release: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	rm -rf dist build $(RELEASED)
	$(BIN)/python -m build
	$(PYTHON) -m venv $(RELEASED)
	$(RELEASED)/bin/python -m pip install --quiet dist/*.whl
	cd $(RELEASED) && bin/bankwise-compile --version && bin/python -P -m bankwise.tools.demo

# pip would spend most of its time on compiling modules, of which few are ever imported.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit('make: $(PYTHON) is older than Python 3.11; name another: \
	make $(or $(MAKECMDGOALS),demo) PYTHON=python3.12' if sys.version_info < (3, 11) else 0)"
	@echo "make: an environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@echo "make: Bankwise and what it needs; IREE's compiler is the largest download ..."
	@$(BIN)/python -m pip install --quiet --no-compile --editable '.$(EXTRAS)'
	@touch $@

clean:
	rm -rf $(VENV) out build dist *.egg-info
