# Two commands on a fresh machine with Python and make:
#   make demo    a humanoid leans on a table to reach past its feet: torque control in MuJoCo, a summary, report.html
#   make test    everything that must hold: lint, types, tests, the README's code
# Each sets itself up in .venv; a second run starts at once. `docs`, `package` and `slow` add what only they need.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# modules are compiled when they are first imported: most of what is installed never is
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

.PHONY: demo test test-all lint types unit delicate slow docs gallery package release bench accuracy mistakes setup clean

demo: $(READY)
	@$(BIN)/equipoise demo

test: lint types unit delicate

test-all: test slow

lint: $(READY)
	@echo "== ruff: lint and format"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY)
	@echo "== mypy: types of the package"
	@$(BIN)/mypy

unit: $(READY)
	@echo "== pytest"
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

delicate: $(READY)
	@echo "== pytest, the delicate tests with the arithmetic of other processors"
	@$(BIN)/python tests/processors.py

slow: $(VENV)/.ready-types
	@echo "== pytest, the slow suites"
	@$(BIN)/python -m pytest -q -n 2 -m slow

docs: $(VENV)/.ready-docs
	@echo "== documentation: site/, strict, and in a browser"
	@$(BIN)/python docs/site/build.py
	@$(BIN)/python -m pytest -q docs/site/test_site.py

gallery: $(READY)
	@echo "== runs of docs/gallery.md: gallery/"
	@$(BIN)/python docs/site/gallery_page.py gallery

package: $(VENV)/.ready-package
	@echo "== wheel and sdist, tried in a clean environment"
	@$(BIN)/python tests/package/newcomer.py

# make release: everything that must hold before a version is published; TAG=1 also tags it, and needs a version
# without .dev and a clean tree
release: package
	@$(BIN)/python tests/package/release.py $(if $(TAG),--tag)

bench: $(READY)
	@$(BIN)/equipoise bench dynamics
	@$(BIN)/python -m bench derivatives
	@$(BIN)/python -m bench start

# benches of whole behaviours and of others' files: make bench-commands, make bench-courses ARGS="--folder …"
bench-%: $(READY)
	@$(BIN)/python -m bench $* $(ARGS)

# a random change of one line at a time: make mistakes ARGS="--seed 7 --count 6 --in papers/qo21 -- equipoise reproduce Q3"
mistakes: $(READY)
	@$(BIN)/python tools/mistakes.py $(ARGS)

accuracy: $(READY)
	@$(BIN)/python tests/equations/accuracy.py

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@echo "== setting up $(VENV) (once; some minutes of downloads)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --editable ".[test,lint]"
	@touch $@

$(VENV)/.ready-%: $(READY)
	@$(PIP) --editable ".[$*]"
	@touch $@

clean:
	rm -rf $(VENV) dist site gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis
