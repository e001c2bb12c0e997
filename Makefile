# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed

.PHONY: demo test lint lit unit nightly bench clean

demo: $(INSTALLED)
	$(BIN)/python -m bankwise.tools.demo

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
	$(BIN)/python -m bankwise.bench.stock_identity
	$(BIN)/python -m bankwise.bench.compile_sweep
	$(BIN)/python -m bankwise.bench.wait_check
	$(BIN)/python -m bankwise.bench.register_layouts --jobs -1
	$(BIN)/python -m bankwise.bench.compile_time
	$(BIN)/python -m bankwise.bench.solver_speed
	$(BIN)/python -m bankwise.bench.decision_time
	$(BIN)/python -m bankwise.bench.emulator_speed
	$(BIN)/python -m bankwise.bench.transpose_ladder
	$(BIN)/python -m bankwise.bench.hand_written
	$(BIN)/python -m bankwise.bench.matmul_table --jobs -1 -o bench/results
	$(BIN)/python -m bankwise.bench.programs --jobs -1 -o bench/results

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

clean:
	rm -rf $(VENV) out build *.egg-info
