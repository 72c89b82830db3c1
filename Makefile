# The same commands locally and in CI. Run `make` for the list; `make V=1 <target>` shows every command.
#
# requirements.lock pins every package of every extra and of the dev group by version and hash, and names no
# index: the same file works with a mirror, a proxy or an offline folder, chosen in the usual pip or uv settings.
# That is why it is an exported requirements file and not uv.lock, which writes an index address on each entry.

UV_VERSION := 0.13.7
UV         := .tools/uv-$(UV_VERSION)/bin/uv
PYTHON     ?= python3
BIN        := .venv/bin
STAMP      := .venv/.setup-stamp
FUZZ_STAMP := .venv/.fuzz-stamp
DBT_STAMP  := .venv-dbt/.setup-stamp
CLICKHOUSE_STAMP := .venv-clickhouse/.setup-stamp
FUZZ_TIME  ?= 60
SEEDS      ?= 20000

# uv's own settings, quiet and from this machine only: never fetch another Python.
export UV_NO_PROGRESS := 1
export UV_PYTHON_DOWNLOADS := never
ifneq ($(wildcard /etc/ssl/certs/ca-certificates.crt),)
export UV_SYSTEM_CERTS := 1
endif
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

ifndef V
.SILENT:
endif
.DEFAULT_GOAL := help
.PHONY: help setup demo dist site check check-ui quick test browser mariadb sshd podman dbt clickhouse bench bench-peers fuzz simulate histories lock ui clean

help: ## show this list
	sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

# ---- setup ----------------------------------------------------------------------------------------------

setup: $(STAMP) ## make .venv with every locked dependency and the CLI at .venv/bin/noetl

# A machine has pip, or the venv module that brings it. `--target` needs no rights outside this folder.
PIP = $$($(PYTHON) -m pip --version >/dev/null 2>&1 && echo $(PYTHON) || echo .tools/pip/bin/python) -m pip

$(UV):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "setup: Python 3.11 or newer is needed; choose one with: make setup PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .tools/pip >/dev/null 2>&1 \
	  || { echo "setup: $(PYTHON) has neither pip nor venv; on Debian: apt-get install -y python3-pip" >&2; exit 1; }
	echo "setup: installing uv $(UV_VERSION) into .tools"
	$(PIP) install -qq --upgrade --target .tools/uv-$(UV_VERSION) uv==$(UV_VERSION)

# uv is fast but has its own index and certificate settings; where only pip is configured, pip does the work.
$(STAMP): requirements.lock pyproject.toml | $(UV)
	echo "setup: installing locked dependencies into .venv"
	$(BIN)/python -c '' 2>/dev/null || $(UV) venv -q --clear --python "$$(command -v $(PYTHON))" .venv
	$(UV) pip sync -q --python $(BIN)/python --require-hashes requirements.lock \
	  || { echo "setup: uv could not install; trying pip" >&2; \
	       $(PIP) --python $(BIN)/python install -q --require-hashes -r requirements.lock; }
	$(UV) pip install -q --python $(BIN)/python --no-deps --no-build-isolation --offline --editable .
	touch $@
	echo "setup: done, the CLI is $(BIN)/noetl"

lock: $(UV) ## resolve the dependencies again and rewrite the lock files
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
	  --all-extras --group dev $(LOCK_FLAGS) --output-file requirements.lock pyproject.toml
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
	  --group fuzz $(LOCK_FLAGS) --output-file requirements-fuzz.lock
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
	  --group dbt $(LOCK_FLAGS) --output-file requirements-dbt.lock
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
	  --extra sql --extra duckdb --extra parquet --group clickhouse --constraint requirements.lock $(LOCK_FLAGS) \
	  --output-file requirements-clickhouse.lock pyproject.toml
	echo "lock: wrote requirements.lock and requirements-{fuzz,dbt,clickhouse}.lock (upgrade with LOCK_FLAGS=--upgrade)"

clean: ## remove everything that setup and the tools have made
	rm -rf .venv .venv-peers .venv-dbt .venv-clickhouse .tools .noetl .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage bench/out ui/node_modules

# ---- use ------------------------------------------------------------------------------------------------

demo: setup ## run an example: three paged endpoints of a busy API, in parallel, into SQLite
	$(BIN)/python examples/demo.py

check: setup ## lint, formatting, strict types, import contract, house rules
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check . || { echo "check: format with: $(BIN)/ruff format ." >&2; exit 1; }
	$(BIN)/mypy & types=$$!; \
	  $(MAKE) -s check-ui && $(BIN)/lint-imports --no-logo && $(BIN)/pytest -q tests/test_tidy.py; others=$$?; \
	  wait $$types && exit $$others

# The rules of the language, what decides, the engine, and one run through the CLI; types meanwhile.
QUICK := tests/unit/dsl/test_rule_fixtures.py tests/unit/dsl/test_load.py tests/unit/dsl/grammar \
         tests/unit/core/deciding tests/unit/core/pipeline tests/engine/test_first_eight.py tests/engine/test_loops.py \
         tests/engine/test_routing.py tests/engine/test_pipeline.py tests/engine/test_children.py \
         tests/acceptance/test_run.py::test_the_output_is_data_and_the_story_is_not

quick: setup ## lint, types and the tests that tell most: within a minute on two cores
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check . || { echo "quick: format with: $(BIN)/ruff format ." >&2; exit 1; }
	$(BIN)/mypy & types=$$!; $(BIN)/pytest -q -n auto --dist worksteal $(QUICK); tests=$$?; \
	  wait $$types && exit $$tests

# Tests are long and short: a worker that is done takes some of another's. Many wait for other processes: three
# workers keep two cores busy.
CORES  := $(shell getconf _NPROCESSORS_ONLN)
SPREAD := -q -rs -n $(shell expr $(CORES) \* 3 / 2) --dist worksteal --durations 20

# As CI runs them: with every one of the 5,000 simulated clusters, of which a single file plays the first 125.
test: export CI := true
test: check browser mariadb sshd podman dbt clickhouse ## check, then every test, and which took longest; those of the core must reach every branch of it
	$(BIN)/pytest $(SPREAD) --ignore tests/test_tidy.py --ignore tests/unit/core
	$(BIN)/pytest $(SPREAD) tests/unit/core --cov noetl/core --cov-report term-missing --cov-fail-under 100

# The web pages are tested in a real browser, kind sql on a real MariaDB, kinds ssh and sftp on OpenSSH's server, kind
# container on Podman. All are Debian's; nothing else is taken from outside .venv.
ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

browser:
	command -v chromium >/dev/null || { echo "test: installing chromium"; \
	  { $(ROOT) apt-get update -qq && $(ROOT) env DEBIAN_FRONTEND=noninteractive \
	      apt-get install -y -qq --no-install-recommends chromium; } >/dev/null \
	  || { echo "test: the web pages are tested in Chromium; install it: apt-get install chromium" >&2; exit 1; }; }

mariadb:
	PATH=$$PATH:/usr/sbin command -v mariadbd >/dev/null || { echo "test: installing mariadb"; \
	  { $(ROOT) apt-get update -qq && $(ROOT) env DEBIAN_FRONTEND=noninteractive \
	      apt-get install -y -qq --no-install-recommends mariadb-server-core; } >/dev/null \
	  || { echo "test: kind sql is tested on MariaDB; install it: apt-get install mariadb-server-core" >&2; exit 1; }; }

sshd:
	PATH=$$PATH:/usr/sbin command -v sshd >/dev/null || { echo "test: installing openssh-server"; \
	  { $(ROOT) apt-get update -qq && $(ROOT) env DEBIAN_FRONTEND=noninteractive \
	      apt-get install -y -qq --no-install-recommends openssh-server; } >/dev/null \
	  || { echo "test: ssh is tested against sshd; install it: apt-get install openssh-server" >&2; exit 1; }; }

podman:
	PATH=$$PATH:/usr/sbin; command -v podman >/dev/null && command -v runc >/dev/null && command -v busybox >/dev/null \
	  || { echo "test: installing podman"; \
	  { $(ROOT) apt-get update -qq && $(ROOT) env DEBIAN_FRONTEND=noninteractive \
	      apt-get install -y -qq --no-install-recommends podman runc busybox-static; } >/dev/null \
	  || { echo "test: kind container is tested on Podman; install it: apt-get install podman runc busybox-static" >&2; exit 1; }; }

# Kind dbt runs a dbt of the machine, which has dependencies of its own: an environment beside .venv.
dbt: $(DBT_STAMP)

$(DBT_STAMP): requirements-dbt.lock | $(UV)
	echo "test: installing dbt into .venv-dbt"
	$(UV) venv -q --clear --python "$$(command -v $(PYTHON))" .venv-dbt
	$(UV) pip sync -q --python .venv-dbt/bin/python --require-hashes requirements-dbt.lock \
	  || { echo "test: uv could not install; trying pip" >&2; \
	       $(PIP) --python .venv-dbt/bin/python install -q --require-hashes -r requirements-dbt.lock; }
	touch $@

# Kind sql meets ClickHouse as chDB, the same engine inside a process: 200 MB to fetch, which .venv is spared.
clickhouse: $(CLICKHOUSE_STAMP)

$(CLICKHOUSE_STAMP): requirements-clickhouse.lock | $(UV)
	echo "test: installing chDB into .venv-clickhouse"
	$(UV) venv -q --clear --python "$$(command -v $(PYTHON))" .venv-clickhouse
	$(UV) pip sync -q --python .venv-clickhouse/bin/python --require-hashes requirements-clickhouse.lock \
	  || { echo "test: uv could not install; trying pip" >&2; \
	       $(PIP) --python .venv-clickhouse/bin/python install -q --require-hashes -r requirements-clickhouse.lock; }
	touch $@

ui: ## build the web pages again into noetl/server/static; needs node
	cd ui && npm ci --silent --no-fund --no-audit && npm run --silent build

# Neither users nor tests need node. Where it is, and whenever one of these files has changed, the pages' code is
# held to its layout, lint and types, its own tests pass, and the built pages are what it builds.
NODE_MAJOR := 20
UI_FILES   := $(shell git ls-files ui noetl/server/static 2>/dev/null)
UI_STAMP   := ui/node_modules/.check-stamp

check-ui:
	if ! node -e 'process.exit(Number(parseInt(process.versions.node) < $(NODE_MAJOR)))' 2>/dev/null; then \
	  echo "check: the code of the web pages is not checked: that needs node $(NODE_MAJOR) or newer"; \
	elif ! $(MAKE) -s ui/node_modules/.package-lock.json 2>/dev/null; then \
	  echo "check: the code of the web pages is not checked: npm could not install what ui/package-lock.json names"; \
	else $(MAKE) -s $(UI_STAMP); fi

# npm writes this file itself, after everything that it names is there.
ui/node_modules/.package-lock.json: ui/package-lock.json
	echo "check: installing the tools of the web pages into ui/node_modules"
	cd ui && npm ci --silent --no-fund --no-audit --fetch-retries=0
	touch $@

$(UI_STAMP): $(wildcard $(UI_FILES))
	cd ui && { report=$$(npm run --silent check 2>&1 && npm test --silent 2>&1 && npm run --silent rebuild 2>&1) \
	  || { echo "$$report" >&2; echo "check: layout and imports are put right with: cd ui && npm run format" >&2; exit 1; }; }
	diff -rq ui/node_modules/.rebuilt noetl/server/static >/dev/null \
	  || { echo "check: noetl/server/static is not what ui/ builds; renew it with: make ui" >&2; exit 1; }
	touch $@

site: setup ## write the documentation as a folder of pages, build/site: what a server shows at /docs
	$(BIN)/python deploy/site.py build/site

dist: setup ## build wheel, source archive and bill of materials into dist/
	$(BIN)/python deploy/dist.py dist --uv $(UV)

bench: setup ## measure, print a table, write bench/out/latest.json
	$(BIN)/python -m bench

bench-peers: setup ## measure six other engines beside NoETL, each in its own .venv-peers
	$(BIN)/python -m bench.peers

simulate: setup ## play SEEDS=20000 simulated clusters under faults, beyond those of make test
	$(BIN)/python -m tests.simulation.cluster_history 5000 $$((5000 + $(SEEDS)))

histories: setup ## record executions over every feature with this release, for later ones to read and carry on
	$(BIN)/python -m tests.histories

# Of the newest release that is not this one: a release is built once, and the next names its commit here. Its web pages
# are left out, since tests of upgrades look at none.
PREVIOUS := 596ebad3e0229fe1768afeb2a1e2651468ea1256

previous-release: setup ## build the wheel of the release before this one again, for the tests of upgrades
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT \
	  && git archive $(PREVIOUS) noetl pyproject.toml README.md LICENSE | tar -x -C "$$folder" \
	  && rm -r "$$folder/noetl/server/static" \
	  && SOURCE_DATE_EPOCH=$$(git show -s --format=%ct $(PREVIOUS)) $(BIN)/python -c \
	       'import os, sys; from hatchling.build import build_wheel; os.chdir(sys.argv[1]); print(build_wheel(sys.argv[2]))' \
	       "$$folder" "$(CURDIR)/tests/releases"

fuzz: $(FUZZ_STAMP) ## throw random bytes at the loader, and broken playbooks at loader and migrate: FUZZ_TIME=60 s each
	$(BIN)/python tests/fuzz/target.py -max_total_time=$(FUZZ_TIME)
	$(BIN)/python -m tests.fuzz.playbooks $(FUZZ_TIME)

$(FUZZ_STAMP): $(STAMP) requirements-fuzz.lock
	$(UV) pip install -q --python $(BIN)/python --require-hashes -r requirements-fuzz.lock
	touch $@
