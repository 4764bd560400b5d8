# Every command of the suite. `make` alone lists them.
# The local stack takes its flags from the environment: make run TIDEMARK_PORT=3001 TIDEMARK_IN_MEMORY=1

SHELL := bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test test-quick test-engine test-deploy sim sim-games sim-shop soak attack scale fuzz bench lint build invoke watch screenshots deploy delete tools page binaries requires

# Where `make run` listens, and so where `make invoke` and `make watch` look for it.
TIDEMARK_PORT ?= 3000
# The deployed stage: it names tables, functions and secrets, and the CloudFormation stack.
STAGE ?= dev
STACK ?= tidemark-$(STAGE)
# arm64 or x86_64: what the functions are built for and run on. Empty: as the stack has it, arm64 for a new one.
ARCHITECTURE ?=
# More of the template's parameters: PARAMETERS="ClickDateShards=4 AlarmEmail=you@example.org"
PARAMETERS ?=
# A folder with the functions' binaries, for `make deploy`; without it they are built, with all optimizations.
BINARIES ?=
# What `make delete` does with the tables and kept secrets: keep them, or delete them with all that they hold.
DATA ?= keep
# Where `make screenshots` puts its pictures.
SCREENSHOTS ?= target/screenshots
# How many histories `make sim` plays, or the one (the seed is also `make attack`'s); and which implementation: tidemark, usual-handler, idempotency-layer, ...
SEEDS ?= 1000
SEED ?=
IMPLEMENTATION ?= tidemark
# How long `make soak` hurts the stack.
MINUTES ?= 10
# Where `make sim` has it count to: sums or buffers.
LAYOUT ?= sums
# Which rule of the shop `make sim-shop` weakens, if any: lock-on-value, no-idempotency-markers, ...
WEAKNESS ?=
# How many random requests `make attack` makes for each operation and attacker, and for how long `make fuzz` fuzzes each target, in seconds.
EXAMPLES ?= 50
SECONDS ?= 60
# Which fuzz targets; all when empty.
TARGETS ?=
# The profile of `make run`'s stack and functions, when it is not the development one.
TIDEMARK_PROFILE ?= dev
# What `make binaries` builds beside the stack and the functions.
MORE ?=
export STAGE STACK ARCHITECTURE PARAMETERS BINARIES DATA

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: requires ## Build and start everything on this machine: the page, the API and a DynamoDB
	@# All binaries in one call of cargo, and npm beside it.
	@$(MAKE) --no-print-directory -j2 page binaries
	exec "$${CARGO_TARGET_DIR:-target}/$(subst dev,debug,$(TIDEMARK_PROFILE))/tidemark-local" --no-build

binaries:
	@# Not one of make's jobs: cargo uses all processors. With --workspace the dependencies have the features that they have in the
	@# tests, and nobody compiles them twice.
	MAKEFLAGS= cargo build --locked --workspace --profile $(TIDEMARK_PROFILE) $(addprefix --bin ,tidemark-local $(notdir $(wildcard crates/functions/*)) $(MORE))

test: page ## Run every test; does its own set-up
	scripts/test

test-quick: ## Run the tests nearest to what has changed since the last commit
	scripts/test-quick

test-engine: ## Run the store's tests and the journeys on AWS's DynamoDB Local, or the engine at TIDEMARK_DYNAMODB_URL
	scripts/test-engine

test-deploy: page ## Test the template, and deploy and delete stages on an AWS that runs on this machine
	scripts/test-deploy

sim: ## Prove the statistics on random histories with faults: SEEDS=10000, or SEED=17 to play one again
	cargo run --locked --quiet --profile sim --package tidemark-sim -- --implementation $(IMPLEMENTATION) --layout $(LAYOUT) $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

sim-games: ## Prove the game on random games with faults: SEEDS=1000, or SEED=17 to play one again
	cargo run --locked --quiet --profile sim --package tidemark-sim -- --games $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

sim-shop: ## Prove the shop's ledgers with 64 writers and faults: SEEDS=1000, or SEED=17 to play one again
	cargo run --locked --quiet --profile sim --package tidemark-sim -- --shop $(if $(WEAKNESS),--weakness $(WEAKNESS)) $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

soak: ## Hurt the whole stack under traffic, and look whether every promise was kept: MINUTES=10, SEED=17
	@$(MAKE) --no-print-directory binaries MORE=soak
	target/debug/soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

attack: page ## Attack the API with requests made from its document: EXAMPLES=500, or SEED=17 to make the same again
	scripts/attack $(EXAMPLES) $(SEED)

scale: ## Simulate what is reached first, and what it costs, up to a million clicks a second: docs/capacity.md
	cargo run --locked --quiet --package tidemark-scale

fuzz: ## Fuzz what reads texts from outside: SECONDS=60 for each target, or TARGETS="csv_import ..."
	scripts/fuzz $(SECONDS) $(TARGETS)

bench: crates/verify/bench/node/node_modules/.package-lock.json ## Measure cost and speed beside the usual handler and Node.js: docs/benchmarks.md
	cargo build --locked --release $(addprefix --package ,$(notdir $(wildcard crates/functions/*)))
	npm --prefix crates/verify/bench/node run --silent build -- "$(abspath target/bench/node)"
	@# The functions that have no twin on Node.js run beside those that have one as they are.
	for name in $(notdir $(wildcard crates/functions/*)); do [ -e "target/bench/node/$$name" ] || ln -s "$(abspath target/release)/$$name" target/bench/node/; done
	cargo run --locked --profile sim --package tidemark-bench -- --functions target/release --node target/bench/node

lint: web/node_modules/.package-lock.json ## Check format, types, the template, dependencies and scripts
	scripts/lint

build: page binaries ## Build the page, the functions and the local stack

invoke: ## Send an event to a function of the running stack: FUNCTION=click-writer EVENT=usual
	@FUNCTION="$(FUNCTION)" EVENT="$(EVENT)" TIDEMARK_PORT=$(TIDEMARK_PORT) scripts/invoke

watch: tools ## Rebuild and serve the functions with `cargo lambda watch`, beside the running stack
	TIDEMARK_PORT=$(TIDEMARK_PORT) scripts/watch

screenshots: page ## Take pictures of every page, in every theme and size
	scripts/browser-test screenshots -- "$(abspath $(SCREENSHOTS))"

deploy: ## Deploy to AWS and upload the page: STAGE=dev
	scripts/deploy

delete: ## Delete a deployed stack; its tables and two secrets stay: STAGE=dev. DATA=delete deletes them too
	scripts/delete

tools: ## Install the tools (aws, boto3, SAM, cfn-lint, checkov, cargo-lambda, schemathesis, ...) into .tools
	@scripts/tools

# Rust, Node and a C compiler, new enough; everything else is installed by these targets.
requires:
	@scripts/requires

page: web/dist/index.html

# npm writes this file last, so it tells whether the dependencies are those of the lock file.
%/node_modules/.package-lock.json: %/package.json %/package-lock.json | requires
	npm --prefix $* ci --no-audit --no-fund
	@touch $@

WEB_SOURCES := $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/dist/*' -not -path 'web/.*' -not -path 'web/tests/*')

web/dist/index.html: web/node_modules/.package-lock.json $(WEB_SOURCES)
	npm --prefix web run build
