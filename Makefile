# Everything runs from .venv, which is made from requirements.lock and nothing else.
PYTHON ?= python3
BIN := .venv/bin
UV := 0.13.9

.PHONY: setup demo test test-fast test-real check format lock docs clean

setup: .venv/ready

.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
	  || { echo "Recrawl needs Python 3.11 to 3.13; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check uv==$(UV)
	$(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

demo: setup
	@$(BIN)/recrawl demo

test: setup
	$(BIN)/pytest --ignore=tests/real

# Debian's manuals behind Debian's nginx: apt-get install nginx-light python3.11-doc postgresql-doc-15
test-real: setup
	$(BIN)/pytest -s tests/real

test-fast: setup
	$(BIN)/pytest tests/common tests/frontier tests/scheduler tests/fetcher tests/parser

check: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock:
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	  --no-header --group dev pyproject.toml -o requirements.lock

docs: setup
	$(BIN)/python -m services.docs

clean:
	rm -rf .venv .recrawl
