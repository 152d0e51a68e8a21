# Two commands do everything on a machine with only git, make and Python: `make demo` and `make test`.

PYTHON ?= python3
EXTRAS ?= dev
JOBS   ?= 2
VENV   := .venv
PY     := $(VENV)/bin/python

# One thread for the linear algebra: sums in a fixed order, and no fight among test workers.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS      := 1
export MKL_NUM_THREADS      := 1
# Bytecode is kept, also where the user's settings say otherwise: a test run would compile everything in each process.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test quick nightly versions torch-versions bench mutate fuzz notebooks lessons docs clean chromium office
.DELETE_ON_ERROR:

# One half of the tests for each worker, in order, so that a file's fixtures and caches serve all of it; who ends early
# takes over from the other.
PYTEST := $(PY) -m pytest -q -n $(JOBS) --dist worksteal

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 23

demo: $(VENV)/.installed-plot,sheets $(VENV)/.installed-notebook  ## set up, then run the main job and the lessons: results go to out/
	$(PY) -m examples.demo
	$(PY) -m notebooks build

test: $(VENV)/.installed-$(EXTRAS) chromium $(VENV)/node/.installed  ## set up, then lint, types and every test (EXTRAS=dev,torch adds a second judge)
	$(PY) -m ruff check .
	$(PY) -m tools.lines
	@echo "$(PY) -m mypy, beside the tests"; $(PY) -m mypy > $(VENV)/mypy.txt & types=$$!; \
	HYPOTHESIS_PROFILE=ci $(PYTEST); tests=$$?; \
	wait $$types; typed=$$?; cat $(VENV)/mypy.txt; exit $$((tests + typed))

quick: $(VENV)/.installed-$(EXTRAS)  ## the inner loop: lint and the tests that are not slow, in under 30 s
	$(PY) -m ruff check .
	HYPOTHESIS_PROFILE=dev $(PYTEST) -x -m "not slow and not page"

nightly: $(VENV)/.installed-$(EXTRAS) chromium $(VENV)/node/.installed  ## every test, with those that try everything: every width, theme and host, long fuzzing
	HANDGRAD_NIGHTLY=1 HYPOTHESIS_PROFILE=intense $(PYTEST)

versions: $(VENV)/.installed-$(EXTRAS)  ## the quick tests under each Python from 3.11 to 3.14 that is here, and under the lowest versions
	$(PY) -m tools.versions $(VERSIONS) --jobs $(JOBS)

torch-versions: $(VENV)/.installed-$(EXTRAS)  ## the tests of capture under each torch from 2.11 to 2.15 (pip has to know an index of wheels for the CPU)
	$(PY) -m tools.versions torch --jobs $(JOBS)

bench: $(VENV)/.installed-bench  ## the speed tables, beside micrograd, MyGrad, torch and jax
	$(PY) -m benchmarks

MINUTES ?= 5
PROGRAMS ?= 10000

mutate: $(VENV)/.installed-$(EXTRAS)  ## one small mistake at a time in every rule and formula: do our tests notice?
	$(PY) -m tools.mutate --log tools/mutate.md

fuzz: $(VENV)/.installed-$(EXTRAS)  ## random graphs against torch and JAX, random functions compiled (MINUTES=60, PROGRAMS=100000, EXTRAS=dev,torch)
	$(PY) -W error -m tools.fuzz --minutes $(MINUTES) --log tools/fuzz.log
	$(PY) -m tools.fuzz_compile --count $(PROGRAMS) --log tools/fuzz_compile.log

notebooks: $(VENV)/.installed-notebook  ## open the lessons in JupyterLab
	$(PY) -m notebooks open

lessons: $(VENV)/.installed-notebook  ## run the lessons and write them as pages: out/notebooks/
	$(PY) -m notebooks build

docs: $(VENV)/.installed-$(EXTRAS)  ## the API reference, from the docstrings: out/api.md; and docs/ops.md, from the table
	@mkdir -p out
	$(PY) -m tools.reference out/api.md
	$(PY) -m tools.ops_table

office:  ## install LibreOffice, which recomputes our workbooks in a test (large; root on Debian or Ubuntu)
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq libreoffice-calc

clean:  ## remove what make made, the environment too
	rm -rf $(VENV) out build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- set-up ----------------------------------------------------------------------------------------------

$(PY):
	@command -v $(PYTHON) >/dev/null || \
	    { echo "handgrad needs Python 3.11 or newer; '$(PYTHON)' is not on PATH. Try: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("handgrad needs Python 3.11 or newer; \
	$(PYTHON) is %d.%d. Try: make PYTHON=python3.12" % sys.version_info[:2])'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of extras; a change of pyproject.toml makes it stale.
$(VENV)/.installed-%: pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

# The pages' JavaScript is linted, and pages are checked for people who cannot see them, with tools from npm.
$(VENV)/node/.installed: tests/package.json | $(PY)
	@mkdir -p $(@D) && cp tests/package.json $(@D)
	@if command -v npm >/dev/null; then \
	    npm install --prefix $(@D) --silent --no-audit --no-fund >/dev/null 2>&1 \
	        || echo "npm could not install eslint and axe-core; the tests that use them will be skipped"; \
	fi
	@touch $@

# Tests marked `page` drive a real browser. Root on a Debian system gets one; elsewhere those tests say why they skip.
chromium: $(VENV)/.installed-$(EXTRAS)
	@if ! $(PY) -c 'import sys; from autograd.saving.browser import find_chromium; sys.exit(find_chromium() is None)' \
	    && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    echo "installing Chromium for the page tests"; \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } >/dev/null 2>&1 \
	        || echo "Chromium could not be installed; the page tests will be skipped"; \
	fi
