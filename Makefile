# Every command of the suite. `make` without a target lists them.
# The local stack takes its flags as variables: make run TIDEMARK_PORT=3001 TIDEMARK_IN_MEMORY=1

SHELL := bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test verify test-engine test-deploy sim sim-rollups sim-games sim-shop sim-reminders soak attack scale fuzz bench lint build dist invoke watch screenshots pictures deploy delete tools page binaries requires

# The port of `make run`. `make invoke` and `make watch` connect to it.
TIDEMARK_PORT ?= 3000
# The stage to deploy or delete. It names tables, functions, secrets and the CloudFormation stack.
STAGE ?= dev
STACK ?= tidemark-$(STAGE)
# The processor of the functions: arm64 or x86_64. Empty keeps the stack's; a new stack gets arm64.
ARCHITECTURE ?=
# Other parameters of the template: PARAMETERS="ClickDateShards=4 AlarmEmail=you@example.org"
PARAMETERS ?=
# A folder with the functions' binaries for `make deploy`. Empty: it makes a release build.
BINARIES ?=
# What `make delete` does with the tables and the two kept secrets: `keep` or `delete`.
DATA ?= keep
# The folder that `make screenshots` writes to.
SCREENSHOTS ?= target/screenshots
# The number of histories of `make sim`, or the seed of one (also for `make soak` and
# `make attack`), and the way of counting: tidemark, usual-handler, idempotency-layer, ...
SEEDS ?= 1000
SEED ?=
IMPLEMENTATION ?= tidemark
# How many minutes `make soak` injects faults.
MINUTES ?= 10
# One system of `make test`: clicks, game, shop, journal or okusuri. Empty: all.
SYSTEM ?=
# The parts of `make verify`. Empty: all.
PART ?=
# What `make sim-rollups` plays.
PLAY ?= rollups hazards activities feedback
# A rule that `make sim-shop` or `make sim-reminders` weakens: lock-on-value, snooze-forgotten, ...
# Empty: none.
WEAKNESS ?=
# The number of random requests of `make attack` for each operation and attacker, and the seconds
# that `make fuzz` runs each target.
EXAMPLES ?= 50
SECONDS ?= 60
# The fuzz targets to run, the targets of `make dist`, or the sections of the bench. Empty: all.
TARGETS ?=
ONLY ?=
# The cargo profile of the stack and the functions in `make run`.
TIDEMARK_PROFILE ?= dev
# More binaries that `make binaries` builds, besides the stack and the functions.
MORE ?=
# Set: the parts of the local stack that the template does not need are built too.
ALL_FEATURES ?=
export STAGE STACK ARCHITECTURE PARAMETERS BINARIES DATA

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: requires ## Build and start everything on this machine: the page, the API and a DynamoDB
	@# npm builds the page while cargo builds all binaries. (With -j2, make begins one after the other.)
	@$(MAKE) --no-print-directory page & page=$$!; \
		$(MAKE) --no-print-directory binaries; built=$$?; wait $$page && exit $$built
	exec "$${CARGO_TARGET_DIR:-target}/$(subst dev,debug,$(TIDEMARK_PROFILE))/tidemark-local" --no-build

binaries:
	@# cargo uses all processors itself, so it gets no job server from make. --workspace gives the
	@# dependencies the same features as in the tests; otherwise both would compile them.
	MAKEFLAGS= cargo build --locked --workspace $(if $(ALL_FEATURES),,--no-default-features) --profile $(TIDEMARK_PROFILE) $(addprefix --bin ,tidemark-local tidemark $(notdir $(wildcard crates/functions/*/*)) $(MORE))

test: requires ## Test each behaviour once, or one system: SYSTEM=game
	scripts/test $(SYSTEM)

verify: ## Run everything else that proves the suite: PART="migration deploy", SEEDS=new
	$(if $(filter new,$(SEEDS)),SEEDS=new) scripts/verify $(PART)

test-engine: ## Run store tests and journeys on DynamoDB Local or at TIDEMARK_DYNAMODB_URL
	scripts/test-engine

test-deploy: page ## Test the template, then deploy and delete stages on MiniStack, a local AWS
	scripts/test-deploy

sim: ## Simulate click counting and other rollups with faults: SEEDS=10000, or SEED=17 repeats one of clicks
	cargo run --locked --quiet --profile sim --package sim -- --implementation $(IMPLEMENTATION) $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))
	$(if $(SEED)$(filter-out tidemark,$(IMPLEMENTATION)),,$(MAKE) --no-print-directory sim-rollups)

sim-rollups: ## Simulate random declarations, activities and the example: SEEDS=10000, PLAY=feedback SEED=17
	for system in $(PLAY); do cargo run --locked --quiet --profile sim --package sim -- --system $$system $(if $(SEED),--seed $(SEED),--seeds $(SEEDS)) || exit 1; done

sim-games: ## Simulate drawing games with faults: SEEDS=1000, or SEED=17 repeats one
	cargo run --locked --quiet --profile sim --package sim -- --system games $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

sim-shop: ## Simulate 64 writers in the shop with faults: SEEDS=1000, or SEED=17 repeats one
	cargo run --locked --quiet --profile sim --package sim -- --system shop $(if $(WEAKNESS),--weakness $(WEAKNESS)) $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

sim-reminders: ## Simulate reminders of doses with faults: SEEDS=1000, or SEED=17 repeats one
	cargo run --locked --quiet --profile sim --package sim -- --system reminders $(if $(WEAKNESS),--reminder-weakness $(WEAKNESS)) $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

soak: ## Run all systems under load, faults and kills: MINUTES=10, SEED=17
	@$(MAKE) --no-print-directory binaries MORE=soak
	target/debug/soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

attack: page ## Attack the API with requests made from docs/openapi.yaml: EXAMPLES=500, SEED=17
	scripts/attack $(EXAMPLES) $(SEED)

scale: ## Model limits and cost up to a million clicks a second: docs/capacity.md
	cargo run --locked --quiet --package scale

fuzz: ## Fuzz all parsers of outside input: SECONDS=60 for each target, TARGETS="csv_import ..."
	scripts/fuzz $(SECONDS) $(TARGETS)

ifeq ($(ONLY),ink)
# From the pen of one browser to the screen of another, on the local stack.
bench: page
	chromium=$$(scripts/chromium) && CHROMIUM_PATH=$$chromium scripts/with-stack npm --prefix web run --silent ink
else ifeq ($(ONLY),attack-cost)
# What each public request costs, as `make test` compares it with docs/capacity.md.
bench:
	cargo test --locked --workspace --test suite -- public_costs --nocapture
else
bench: tools crates/verify/bench/node/node_modules/.package-lock.json ## Measure cost and speed, and compare them: docs/benchmarks.md
	cargo build --locked --release $(addprefix --package ,$(notdir $(wildcard crates/functions/*/*)))
	npm --prefix crates/verify/bench/node run --silent build -- "$(abspath target/bench/node)"
	@# Functions without a Node.js version run as Rust binaries in both stacks.
	for name in $(notdir $(wildcard crates/functions/*/*)); do [ -e "target/bench/node/$$name" ] || ln -s "$(abspath target/release)/$$name" target/bench/node/; done
	cargo run --locked --profile sim --package bench -- --functions target/release --node target/bench/node $(if $(ONLY),--only $(ONLY))
	$(if $(ONLY),,@$(MAKE) --no-print-directory bench ONLY=ink)
endif

lint: web/node_modules/.package-lock.json ## Check format, types, the template, dependencies and scripts
	scripts/lint

dist: ## Build a release of tidemark-local: static binaries and wheels: TARGETS=aarch64-unknown-linux-musl
	scripts/dist $(TARGETS)

build: page binaries ## Build the page, the functions and the local stack

invoke: ## Send an event to a function of the running stack: FUNCTION=click-writer EVENT=usual
	@FUNCTION="$(FUNCTION)" EVENT="$(EVENT)" TIDEMARK_PORT=$(TIDEMARK_PORT) scripts/invoke

watch: requires page ## Like run, and rebuild the functions on each change
	@# With the features of `make run`, so that only the stack itself is compiled again.
	MAKEFLAGS= cargo run --locked --quiet --workspace --no-default-features --features tidemark-local/watch --bin tidemark-local -- --watch

screenshots: page ## Take a picture of every page in every theme and size
	chromium=$$(scripts/chromium) && CHROMIUM_PATH=$$chromium scripts/with-stack npm --prefix web run screenshots -- "$(abspath $(SCREENSHOTS))"

pictures: page ## Fill a stack with the demo, and take the README's pictures from it
	chromium=$$(scripts/chromium) && CHROMIUM_PATH=$$chromium scripts/with-stack node web/tests/demo-pictures.mjs docs/images

deploy: ## Deploy to AWS and upload the page: STAGE=dev
	scripts/deploy

delete: ## Delete a stage: STAGE=dev. DATA=delete also deletes its tables and kept secrets
	scripts/delete

tools: ## Install aws, SAM, cargo-lambda, cfn-lint, schemathesis and others into .tools
	@scripts/tools

# Checks the versions of Rust and Node.js, and that there is a C compiler. Nothing here installs
# these.
requires:
	@scripts/requires

page: web/dist/index.html

# npm writes this file last. If it is newer than the lock file, the dependencies are up to date.
%/node_modules/.package-lock.json: %/package.json %/package-lock.json | requires
	npm --prefix $* ci --no-audit --no-fund
	@touch $@

WEB_SOURCES := $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/dist/*' -not -path 'web/.*' -not -path 'web/tests/*') $(wildcard crates/domain/src/game/words_*.txt)

web/dist/index.html: web/node_modules/.package-lock.json $(WEB_SOURCES)
	npm --prefix web run build
