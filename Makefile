# The verbs of the project; `make help` lists them. What is built is cached by content under build/cache, so every verb
# may be called at any time and does only what is missing. A verb installs what it needs: its groups of setup/groups.py.

ifneq ($(words $(CURDIR)$(INTERLOCK_BUILD)),1)
$(error '$(CURDIR)'$(if $(INTERLOCK_BUILD), or INTERLOCK_BUILD) has a blank in its path, where make cannot build: rename it)
endif

JOBS ?= $(shell nproc)
PYTEST_ARGS ?=

VENV := $(CURDIR)/.venv/bin
export PATH := $(VENV):$(PATH)
export OBJCACHE ?= ccache
# What one checkout has compiled, another finds again.
export CCACHE_BASEDIR ?= $(CURDIR)
# The compiler of the cluster's generator lives for a minute: neither C2 nor a parallel collector earns what it costs.
export MAVEN_OPTS ?= -XX:+UseSerialGC -XX:TieredStopAtLevel=1
unexport VERILATOR_ROOT

# Builds are cached under a lock, so tests may go to any worker; those of a file mostly stay together.
PYTEST = $(VENV)/python -m pytest --verbose --numprocesses $(JOBS) --dist worksteal --durations 15 $(PYTEST_ARGS)

.DEFAULT_GOAL := help
.PHONY: help setup run results bench-sim test test-unit test-hw test-kernel test-system test-boards bitstream bitstream-pic flash \
	docs boards lint format lock clean distclean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: ## install all that any verb needs: Debian packages (as root or with sudo), the Python environment in .venv, sources
	@setup/setup.sh all
	@$(VENV)/python -m sim.images.programs

# The headline of pic-latency in three layouts; `./interlock run pic-latency` has four harts, eight latencies and the link's ways.
RUN := layout=1,2,3 harts=1,2 link_latency=0,30,75,152,304,600 falls=none iterations=20000 sweep=3000

run: ## the main job: pic-latency's headline figures in three layouts, at most 10 minutes on two cores
	@setup/setup.sh run
	@./interlock run pic-latency $(RUN:%=--set %) --jobs $(JOBS)

results: ## measure the stale blocks of the results pages anew, ten hours for all (BLOCKS='pic-latency nnb')
	@setup/setup.sh run
	@$(VENV)/python -m sim.images.programs
	@./interlock results $(or $(BLOCKS),--stale) --jobs $(JOBS)

test: lint ## every test (PYTEST_ARGS='-k name' narrows, JOBS=1 runs them one after the other)
	@setup/setup.sh run test lint boards proofs browser
	@$(VENV)/python -m sim.images.programs
	$(PYTEST) tests

test-unit: ## only the Python tests, seconds
	@setup/setup.sh run test lint boards
	@$(VENV)/python -m sim.images.programs
	$(PYTEST) tests/unit

test-hw: ## only the cocotb tests of the cores
	@setup/setup.sh run test
	$(PYTEST) tests/hw

test-kernel: ## only the kernel's tests in simulation
	@setup/setup.sh run test
	@$(VENV)/python -m sim.images.programs
	$(PYTEST) tests/kernel

test-system: ## only the tests of the whole path: cluster, simulator, command line
	@setup/setup.sh run test browser
	@$(VENV)/python -m sim.images.programs
	$(PYTEST) tests/system

test-boards: ## the boards' long tests: each board's bitstream, and whole boards simulated (an hour or more)
	@setup/setup.sh run test boards
	@$(VENV)/python -m sim.images.programs
	$(PYTEST) tests -m board_long

bitstream: ## a board's bitstream, in build/boards (BOARD=ulx3s [DEVICE=45F] [HARTS=2] [CLOCK=60, MHz] [SEEDS=3])
	@setup/setup.sh run boards
	@$(VENV)/python -m soc.boards.bitstream $(or $(BOARD),$(error say which: make bitstream BOARD=ulx3s; 'make boards' \
		lists them)) $(if $(DEVICE),--device $(DEVICE)) $(if $(HARTS),--harts $(HARTS)) $(if $(CLOCK),--clock $(CLOCK)) \
		$(if $(SEEDS),--seeds $(SEEDS)) $(BITSTREAM_ARGS)

bitstream-pic: ## the interrupt controller's own board, for BOARD=ulx3s_pins (BOARD=colorlight_i5 [DEVICE=25F])
	@setup/setup.sh run boards
	@$(VENV)/python -m soc.boards.picchip $(or $(BOARD),$(error say which: make bitstream-pic BOARD=colorlight_i5)) \
		$(if $(DEVICE),--device $(DEVICE))

flash: ## load a board's bitstream into its FPGA (BOARD=ulx3s)
	@setup/setup.sh run boards
	@$(VENV)/python -m sim.board.flash $(or $(BOARD),$(error say which: make flash BOARD=ulx3s; 'make boards' lists them))

docs: ## build the site of the manuals with the generated references, build/docs/site/docs/index.html
	@setup/setup.sh run docs
	$(VENV)/python -m soc.docs
	$(VENV)/python -m support.parameters.reference
	$(VENV)/python -m typer sim.cli utils docs --name ./interlock --title Commands --output build/docs/commands.md
	$(VENV)/sphinx-build --quiet --fail-on-warning --keep-going -c docs . build/docs/site

bench-sim: ## the simulator's speed beside LiteX's own, about ten minutes the first time (BENCH_ARGS='--harts 1')
	@setup/setup.sh run test
	$(VENV)/python -m sim.bench $(BENCH_ARGS)

boards: ## list the boards there are targets for
	@setup/setup.sh run boards
	@$(VENV)/python -m soc.boards

C_SOURCES = git ls-files -z -- '*.c' '*.h' '*.cpp'

lint: ## check the sources: ruff, mypy, clang-format
	@setup/setup.sh run test lint
	$(VENV)/ruff check .
	$(VENV)/mypy --no-error-summary
	$(C_SOURCES) | xargs -0 clang-format-19 --dry-run --Werror

format: ## put the sources into the form that `make lint` wants
	@setup/setup.sh lint
	$(VENV)/ruff check --fix .
	$(C_SOURCES) | xargs -0 clang-format-19 -i

lock: ## renew setup/requirements.lock from setup/requirements.in
	@setup/setup.sh lint
	$(VENV)/python -m venv build/lock
	build/lock/bin/pip install --quiet pip-tools==7.6.2
	build/lock/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-header \
		--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options \
		--output-file setup/requirements.lock setup/requirements.in
	sed -i '1i # Made by `make lock` from setup/requirements.in; do not edit.' setup/requirements.lock

clean: ## remove what was built, results too
	rm -rf build

distclean: clean ## remove the Python environment as well
	rm -rf .venv
