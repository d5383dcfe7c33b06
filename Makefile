# Two commands for a fresh machine: `make demo` and `make test`. Both make .venv first.
PYTHON ?= python3
VENV := .venv
DALI := .venv-dali
PURELIB := import sysconfig; print(sysconfig.get_path("purelib"))
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DATA ?=
SOAK ?= 180

.PHONY: demo test test-dali test-lab docs soak check format clean bench bench-quick bench-report \
	test-gpu bench-gpu

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(STAMP)  ## write a sample recording, train on it, print a table and a picture; DATA=path for your own
	$(BIN)/python -m genlock.demo $(if $(DATA),--data '$(DATA)')

test: $(STAMP)  ## the whole test suite
	$(BIN)/python -m pytest

# DALI pins packages that others pin otherwise, so it gets an environment of its own, over this one
$(DALI)/.installed: $(STAMP)
	$(PYTHON) -m venv $(DALI)
	$(BIN)/python -c '$(PURELIB)' > "$$($(DALI)/bin/python -c '$(PURELIB)')/over.pth"
	$(DALI)/bin/pip install --quiet --constraint constraints.txt nvidia-dali-cuda120
	touch $@

ifeq ($(shell uname -s),Linux)
test-dali: $(DALI)/.installed  ## the optional decoder of JPEGs by NVIDIA DALI, on a CPU
	GENLOCK_DALI=1 PYTHONPATH=src $(DALI)/bin/python -m pytest tests/decoders/test_with_dali.py
else
test-dali:
	@echo "skipped: DALI has wheels for Linux alone"
endif

docs: $(STAMP)  ## the documentation as a site in site/
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet

soak: $(STAMP)  ## loaders under random faults and kills, for SOAK seconds
	$(BIN)/python -W error tests/soak.py $(SOAK)

check: $(STAMP)  ## style, types, levels, exports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-gpu: $(STAMP)  ## what needs CUDA; on a machine with a GPU, PYTHON's own torch serves too
	$(BIN)/python -m pytest tests/gpu tests/test_device.py tests/test_color.py tests/test_loader.py \
		tests/test_changes.py tests/test_failures.py tests/test_state.py tests/test_closing.py

$(VENV)/.lab: $(STAMP)
	$(BIN)/pip install --quiet --constraint constraints.txt jupyterlab
	touch $@

test-lab: $(VENV)/.lab  ## the notebook explore in a JupyterLab that runs, in Chromium
	$(BIN)/python -m pytest tests/notebook/test_jupyterlab.py

bench-gpu: $(STAMP)  ## bandwidth, overlap and step time on a GPU
	$(BIN)/python benchmarks/gpu.py

$(VENV)/.bench: $(STAMP)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $@

bench: $(VENV)/.bench  ## every goal, measured side by side with the peers: a quiet machine, 25 minutes
	$(BIN)/python benchmarks/harness.py

bench-quick: $(VENV)/.bench  ## one short round of each
	$(BIN)/python benchmarks/harness.py --quick

bench-report: $(VENV)/.bench  ## a plot per goal and the table of docs/performance.md, from the last run
	$(BIN)/python benchmarks/report.py

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(DALI) out build site
