# The one command to know. `make help` lists what it can do.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
TIME ?= 60
CYCLES ?= 300
PREFIX ?= /usr/local
export JOBS

.PHONY: help deps build test check fmt dev unit asan tsan fuzz check-gcc integration crash bench \
        coverage docs hooks demo install clean ci

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

deps: ## Install what is missing of the Debian packages, and the PostgreSQL versions for the tests
	@tools/install-deps.sh test
	@tools/install-postgres.sh 14 16 17 18

build: ## Build the release binary, build/release/kaptanto
	@tools/install-deps.sh build
	@cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS) --target kaptanto

dev: ## Build everything for development, warnings as errors (build/dev)
	@cmake --preset dev >/dev/null
	@cmake --build build/dev -j $(JOBS)

unit: dev ## Build for development and run the unit tests
	@ctest --test-dir build/dev -L '^unit$$' -j $(JOBS) --output-on-failure --no-tests=error

test: ## Everything: deps, format, tidy, clang-tidy, all tests, sanitizers, a short fuzz run
	@tools/test.sh

check: ## Format, tidy.py and clang-tidy, without building
	@tools/check.sh

fmt: ## Format all C++ in place
	@git ls-files -z '*.cc' '*.h' '*.c' | xargs -0 -r clang-format-19 -i

asan: ## Unit tests under AddressSanitizer and UBSan, and every fuzzer for a few seconds (build/asan)
	@tools/sanitize.sh asan

tsan: ## Unit tests under ThreadSanitizer (build/tsan)
	@tools/sanitize.sh tsan

fuzz: ## Run each fuzzer for TIME=60 seconds, from its corpus (build/asan)
	@tools/fuzz.sh $(TIME)

check-gcc: ## Compile the tree with GCC 12 and run the unit tests (build/gcc)
	@cmake --preset gcc >/dev/null
	@cmake --build build/gcc -j $(JOBS)
	@ctest --test-dir build/gcc -L '^unit$$' -j $(JOBS) --output-on-failure --no-tests=error

integration: deps build dev ## Tests of the whole binary against real servers
	@KAPTANTO_BIN=$(CURDIR)/build/release/kaptanto ctest --test-dir build/dev -L integration \
	  -j $(JOBS) --output-on-failure --no-tests=error

crash: deps build ## The crash loop, CYCLES=300 kills
	@KAPTANTO_BIN=$(CURDIR)/build/release/kaptanto /usr/bin/python3 tests/crash/crash_loop.py --cycles $(CYCLES)

bench: deps build ## Measure throughput, latency and memory; writes docs/benchmarks.md
	@/usr/bin/python3 bench/run.py

coverage: ## Line coverage of the unit tests, per file (build/coverage)
	@tools/coverage.sh

docs: build ## Write the configuration reference anew and check all documents
	@build/release/kaptanto schema --markdown >build/configuration.md
	@cp build/configuration.md docs/operating/configuration.md
	@/usr/bin/python3 tools/tidy.py

hooks: ## Let git run the checks before commits and pushes
	@git config core.hooksPath tools/hooks
	@echo "hooks are on; git commit --no-verify skips them once"

demo: ## Build, start a throw-away PostgreSQL with live traffic, and stream it until Ctrl-C
	@tools/install-deps.sh demo
	@$(MAKE) build
	@tools/demo.sh

install: ## Install the release binary under PREFIX=/usr/local (DESTDIR is honoured)
	@test -x build/release/kaptanto || { echo "run 'make build' first" >&2; exit 1; }
	@install -D -m 755 build/release/kaptanto "$(DESTDIR)$(PREFIX)/bin/kaptanto"
	@echo "installed $(DESTDIR)$(PREFIX)/bin/kaptanto"

clean: ## Remove all that was built
	@rm -rf build

ci: ## Exactly what CI runs
	@bash .ci/run
