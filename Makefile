# All commands for development; each does the set-up that is missing. `make help` lists them.
.NOTPARALLEL:
.DEFAULT_GOAL := help
SHELL := /bin/bash
PREFIX ?= /usr/local

STEP := . scripts/common.sh && step
PACKAGES := $(STEP) 'Debian packages' scripts/setup.sh
PYTHON_PACKAGES := $(STEP) 'Python packages of the oracles' scripts/python_environment.sh

.PHONY: help demo gpu-check cuda-emulated test test-more build bench sabotage outside format lint tidy asan tsan sanitized clang no-llvm bare fuzz torture fresh check-all install docs clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

demo: ## build Plait, run a first program and train a vision transformer
	@$(PACKAGES) build demo
	@scripts/demo.sh

test: ## build everything and run all tests
	@$(PACKAGES) build test
	@$(PYTHON_PACKAGES)
	@scripts/test.sh release

build: ## build the library, the tools and the examples, optimised (build/release)
	@$(PACKAGES) build
	@$(STEP) 'Building in build/release' build_release

bench: ## build and run the benchmarks, and compare Plait with NumPy, PyTorch and JAX
	@$(PACKAGES) build test bench
	@$(PYTHON_PACKAGES)
	@scripts/bench.sh

sabotage: ## mutation tests: damage each primitive, and lines of control flow and of the compiler, and check that tests fail; ONLY='--rules scan' or '--lines --room compile' selects
	@$(PACKAGES) build test
	@$(PYTHON_PACKAGES)
	@scripts/sabotage.sh $(ONLY)

outside: ## run the tests of other libraries on Plait: autograd's, NumPy's, PyTorch's samples, and JAX's if JAX_TESTS=folder is set; ONLY='numpy opdb' selects
	@$(PACKAGES) build test
	@$(PYTHON_PACKAGES)
	@scripts/outside.sh $(ONLY)

format: ## format the sources
	@$(PACKAGES) lint
	@$(STEP) 'Formatting' scripts/format.sh -i

lint: ## check format, rooms, links, scripts and that headers are self-contained
	@$(PACKAGES) build test clang lint
	@scripts/lint.sh

tidy: ## run clang-tidy
	@$(PACKAGES) build test clang lint
	@$(STEP) 'clang-tidy' scripts/tidy.sh

asan: ## run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(PACKAGES) build test
	@$(PYTHON_PACKAGES)
	@scripts/test.sh asan

tsan: ## run the tests under ThreadSanitizer
	@$(PACKAGES) build test
	@$(PYTHON_PACKAGES)
	@scripts/test.sh tsan

sanitized: ## run the tests of the first rooms under AddressSanitizer or ThreadSanitizer, in turn by commit
	@$(PACKAGES) build test
	@scripts/sanitized.sh

clang: ## run the tests built by clang
	@$(PACKAGES) build test clang
	@$(PYTHON_PACKAGES)
	@scripts/test.sh clang

no-llvm: ## run the tests of a build that generates no code
	@$(PACKAGES) build test
	@$(PYTHON_PACKAGES)
	@scripts/test.sh no-llvm

bare: ## run the tests of a build that uses only the dependencies copied by scripts/carry.sh
	@$(PACKAGES) build test carry
	@$(PYTHON_PACKAGES)
	@$(STEP) 'Copying the dependencies to carried/' scripts/carry.sh
	@scripts/test.sh bare

gpu-check: ## pack the check of a GPU into build/gpu_check.tar.xz; `scripts/gpu_check.sh quick` runs it on a machine with one
	@$(PACKAGES) build test
	@$(PYTHON_PACKAGES)
	@scripts/gpu_check.sh pack

cuda-emulated: ## run every test of devices on emulated GPUs
	@$(PACKAGES) build test
	@$(PYTHON_PACKAGES)
	@scripts/cuda_emulated.sh

torture: ## kill training runs 300 times, continue them, and compare them with a run that is not disturbed; kill and stop ranks as often
	@$(PACKAGES) build test
	@$(PYTHON_PACKAGES)
	@scripts/torture.sh

fuzz: ## fuzz each target for FUZZ_SECONDS (60)
	@$(PACKAGES) build fuzz
	@scripts/fuzz.sh

fresh: ## try `make demo` and `make test` in a fresh Debian 12 (needs root)
	@$(PACKAGES) fresh
	@scripts/fresh.sh

test-more: export PLAIT_SHARE ?= 3
test-more: export PLAIT_SIZES ?= all
test-more: ## run all tests, random ones with three times as many cases
	@$(PACKAGES) build test
	@$(PYTHON_PACKAGES)
	@scripts/test.sh release

check-all: ## run the tests with more cases, the checks, every variant of the build and the tests of other libraries
	@scripts/check.sh test-more cuda-emulated lint tidy asan tsan clang no-llvm bare fuzz outside

install: build ## install to PREFIX (/usr/local)
	@$(STEP) 'Installing to $(PREFIX)' cmake --install build/release --prefix '$(PREFIX)'

docs: ## write a page for every operation (build/docs/ops), and check the links of the manual
	@$(PACKAGES) build test
	@$(PYTHON_PACKAGES)
	@scripts/docs.sh

clean: ## remove everything that the builds have created (not .venv)
	@rm -rf build carried .setup
