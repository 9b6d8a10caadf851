# One environment, made by whichever target needs it first.
PYTHON ?= python3
BIN := .venv/bin
# The checks must not depend on how many cores a machine has.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.PHONY: demo docs site test test-long fuzz golden mutants lint check release bench coverage federated reproduce clean

# The library alone is enough for the demo; the tools of developers take twice the room. Without
# --quiet, because pip shows how far it is.
.venv/library: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --editable .
	touch $@

# flwr needs old versions of typer, rich and others, so it is no part of dev. Without it the rest is
# tested.
.venv/installed: .venv/library
	@$(BIN)/python -m pip install --disable-pip-version-check --editable ".[dev,flower]" \
	|| { echo "*** NO FLWR for $$($(BIN)/python --version): its tests will be LEFT OUT ***" >&2 \
	&& $(BIN)/python -m pip install --disable-pip-version-check --editable ".[dev]"; }
	touch $@

# Without the stamp the next run tries again.
.venv/long: .venv/installed
	@$(BIN)/python -m pip install --disable-pip-version-check --editable ".[dev,flower,ray]" \
	&& touch $@ \
	|| echo "*** NO RAY for $$($(BIN)/python --version): its tests will be SKIPPED ***" >&2

demo: .venv/library  ## value the ten wine providers, compare three methods, save demo.png and demo.html
	$(BIN)/python examples/demo.py

# Two processes, because the suite is made for two cores.
test: .venv/installed  ## the ordinary tests
	$(BIN)/python -m pytest --quiet --numprocesses 2 --dist loadgroup

test-long: .venv/long  ## the full-size statistical checks, load tests, and a real Ray cluster
	$(BIN)/python -m pytest --quiet -m long tests

# BESIDE=out/before.json lists the differences to a record made before.
golden: .venv/installed  ## record the numbers of every way to play games
	$(BIN)/python -m tests.golden.record out/golden.json $(if $(BESIDE),--beside $(BESIDE))

# FAMILY="naive Bayes" tries some of the cases, and CASE=38 repeats one of them.
fuzz: .venv/installed  ## compare utilities and solvers with references in 60 digits
	$(BIN)/python -m tests.differential.run $(if $(FAMILY),--family "$(FAMILY)") \
		$(if $(CASE),--case $(CASE))

.venv-mutants/installed: pyproject.toml mutation/requirements.txt
	$(PYTHON) -m venv --clear .venv-mutants
	.venv-mutants/bin/python -m pip install --quiet --disable-pip-version-check \
		--editable ".[dev]" --requirement mutation/requirements.txt
	touch $@

# MUTANTS="shapband.estimate*" tries only those; SAMPLE=60 tries 60 of each package, chosen at
# random, and SEED=1 another 60.
mutants: .venv-mutants/installed  ## change the code, and count the changes that no test notices
	.venv-mutants/bin/python mutation/run.py $(if $(SAMPLE),--sample $(SAMPLE)) \
		$(if $(SEED),--seed $(SEED)) $(MUTANTS)

lint: .venv/installed  ## format, lint, strict types, import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test site  ## all that CI runs

docs: .venv/installed  ## write the pages that follow from the code
	$(BIN)/python docs/generate.py

# A warning, such as a link that leads nowhere, is an error.
site: .venv/installed  ## build the documentation in out/site
	$(BIN)/python -m sphinx --quiet --fail-on-warning --builder html docs out/site

# PYTHON=python3.13 uses another Python.
release:  ## build wheel and sdist in out/release/dist, and check all that a user would install
	rm -rf out/release
	$(PYTHON) release/release.py out/release

# ONLY=solvers measures some of the groups again.
bench:  ## measure beside the peers in .venv-bench, and write benchmarks/RESULTS.md
	$(PYTHON) benchmarks/run.py $(ONLY)

reproduce: .venv/installed  ## run the paper's experiments, and write docs/reproduction.md
	$(BIN)/python -m reproduction --docs docs

# ONLY=gaussian measures some of the settings.
JOBS ?= $(shell nproc)
coverage: .venv/installed  ## measure how often the intervals hold, and write docs/coverage.md
	$(BIN)/python -m coverage_study --out out/coverage --docs docs/coverage.md \
		--jobs $(JOBS) $(if $(ONLY),--only $(ONLY))

federated: .venv/installed  ## measure values from recorded updates, and write docs/federated-errors.md
	$(BIN)/python -m federated_study --out out/federated --docs docs/federated-errors.md \
		--package src/shapband/federated/measured.json --jobs $(JOBS)

clean:
	rm -rf .venv .venv-bench .venv-peers .venv-mutants mutants
