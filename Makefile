# The verbs of the project; `make help` lists them. What is built is cached by content under build/cache, so every verb
# may be called at any time and does only what is missing.

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

setup: ## install what is missing: Debian packages (as root or with sudo), the Python environment in .venv, sources
	@setup/setup.sh
	@$(VENV)/python -m sim.images.programs

run: setup ## the main job: experiment pic-latency in its default size, at most 10 minutes on two cores
	@./interlock run pic-latency --jobs $(JOBS)

results: setup ## measure the stale blocks of the results pages anew, ten hours for all (BLOCKS='pic-latency nnb')
	@./interlock results $(or $(BLOCKS),--stale) --jobs $(JOBS)

test: lint ## every test (PYTEST_ARGS='-k name' narrows, JOBS=1 runs them one after the other)
	$(PYTEST) tests

test-unit: setup ## only the Python tests, seconds
	$(PYTEST) tests/unit

test-hw: setup ## only the cocotb tests of the cores
	$(PYTEST) tests/hw

test-kernel: setup ## only the kernel's tests in simulation
	$(PYTEST) tests/kernel

test-system: setup ## only the tests of the whole path: cluster, simulator, command line
	$(PYTEST) tests/system

test-boards: setup ## the boards' long tests: each board's bitstream, and whole boards simulated (an hour or more)
	$(PYTEST) tests -m board_long

bitstream: setup ## a board's bitstream, in build/boards (BOARD=ulx3s [DEVICE=45F] [HARTS=2] [CLOCK=60, MHz] [SEEDS=3])
	@$(VENV)/python -m soc.boards.bitstream $(or $(BOARD),$(error say which: make bitstream BOARD=ulx3s; 'make boards' \
		lists them)) $(if $(DEVICE),--device $(DEVICE)) $(if $(HARTS),--harts $(HARTS)) $(if $(CLOCK),--clock $(CLOCK)) \
		$(if $(SEEDS),--seeds $(SEEDS)) $(BITSTREAM_ARGS)

bitstream-pic: setup ## the interrupt controller's own board, for BOARD=ulx3s_pins (BOARD=colorlight_i5 [DEVICE=25F])
	@$(VENV)/python -m soc.boards.picchip $(or $(BOARD),$(error say which: make bitstream-pic BOARD=colorlight_i5)) \
		$(if $(DEVICE),--device $(DEVICE))

flash: setup ## load a board's bitstream into its FPGA (BOARD=ulx3s)
	@$(VENV)/python -m sim.board.flash $(or $(BOARD),$(error say which: make flash BOARD=ulx3s; 'make boards' lists them))

docs: setup ## write the generated register reference to build/docs
	$(VENV)/python -m soc.docs

bench-sim: setup ## the simulator's speed beside LiteX's own, about ten minutes the first time (BENCH_ARGS='--harts 1')
	$(VENV)/python -m sim.bench $(BENCH_ARGS)

boards: setup ## list the boards there are targets for
	@$(VENV)/python -m soc.boards

C_SOURCES = git ls-files -z -- '*.c' '*.h' '*.cpp'

lint: setup ## check the sources: ruff, mypy, clang-format
	$(VENV)/ruff check .
	$(VENV)/mypy --no-error-summary
	$(C_SOURCES) | xargs -0 clang-format-19 --dry-run --Werror

format: setup ## put the sources into the form that `make lint` wants
	$(VENV)/ruff check --fix .
	$(C_SOURCES) | xargs -0 clang-format-19 -i

lock: setup ## renew setup/requirements.lock from setup/requirements.in
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
