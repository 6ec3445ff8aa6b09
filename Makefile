# SPDX-License-Identifier: Apache-2.0
# One command each. The work is in CMakePresets.json and tools/; everything here can be run again at any time and
# does only what is missing. PRESET=release make build, and so on, picks another preset.
PRESET ?= dev
# How many compilers run at once; on a machine that others use, say JOBS=1.
JOBS ?= $(shell nproc)
# What users run: the command, and the Python package with its libraries.
RUNNABLE := casync_tool casync_python
# The last one that this process may use.
LAST_PROCESSOR = $(shell taskset -cp $$$$ | sed 's/.*[ ,-]//')
BENCH_PYTHON := PYTHONPATH=build/release/python .venv/torch/bin/python
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
export CCACHE_COMPRESS ?= 1
# A file that the cache lacks is not preprocessed ahead of compiling it.
export CCACHE_DEPEND ?= 1
# Another checkout of the same sources finds what this one has compiled.
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1

.PHONY: help setup configure build test quick demo bench wheel docs tidy format clean
.DEFAULT_GOAL := help

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

setup:  ## install what is missing: packages, UCX, virtual environments (SETUP_ARGS=--help)
	@tools/setup $(SETUP_ARGS)

# Ninja notices changed CMakeLists.txt itself, but neither changed presets nor what setup has installed since.
configure: setup  ## run CMake, where a preset or what setup installs is newer (PRESET=dev)
	@for newer in CMakePresets.json .deps/setup-stamp .venv/*/setup-stamp; do \
	  [ build/$(PRESET)/configured -nt $$newer ] || \
	    { cmake --preset $(PRESET) && touch build/$(PRESET)/configured; } || exit 1; \
	done

build: configure  ## compile everything (PRESET=dev)
	@cmake --build --preset $(PRESET) $(addprefix --target ,$(TARGETS))

test: build  ## all tests (PRESET=dev)
	@ctest --preset $(PRESET) $(CTEST_ARGS)

quick: configure  ## build and run the tests of what changed since `main` (BASE=), two minutes of them
	@.venv/plain/bin/python tools/quick.py build/$(PRESET) $(if $(BASE),--base $(BASE)) $(QUICK_ARGS)

# The same objects as of `make test`: the presets dev and release both optimize.
demo:  ## train a model with four ranks, uncompressed and compressed, and compare
	@$(MAKE) --no-print-directory build TARGETS="$(RUNNABLE)" SETUP_ARGS="$(SETUP_ARGS) --only torch"
	@examples/demo/run build/$(PRESET)

bench:  ## codecs, control path, all-reduce and training steps beside the peers (root; ARGS= of the last: --help)
	@$(MAKE) --no-print-directory build PRESET=release SETUP_ARGS="$(SETUP_ARGS) --only torch" \
	  TARGETS="$(RUNNABLE) codecs_bench control_path_bench control_scale_bench peers_bench"
	@taskset -c $(LAST_PROCESSOR) build/release/bin/codecs_bench
	@$(BENCH_PYTHON) tests/bench/codecs/eager.py
	@build/release/bin/control_path_bench
	@build/release/bin/control_scale_bench
	@build/release/bin/control_scale_bench memory
	@$(BENCH_PYTHON) tests/bench/all_reduce/run.py
	@$(BENCH_PYTHON) tests/bench/ddp_step/run.py $(ARGS)
	-@$(BENCH_PYTHON) tests/bench/ddp_step/planned.py build/release

wheel:  ## dist/casync-*.whl: library, command and Python package
	@tools/setup $(SETUP_ARGS) --without-frameworks
	@.venv/plain/bin/python tools/make_wheel

docs:  ## the documentation as a site with search: build/site/html/index.html
	@$(MAKE) --no-print-directory build PRESET=release TARGETS=casync_tool \
	  SETUP_ARGS="$(SETUP_ARGS) --without-frameworks --with-docs"
	@tools/make_docs build/release/bin/casync

tidy: build  ## clang-tidy on all sources
	@tools/check_tidy build/$(PRESET)

format:  ## rewrite all sources as clang-format has them
	@tools/setup $(SETUP_ARGS) --without-frameworks
	@tools/check_format --fix

clean:  ## remove what was built; what setup installed stays
	rm -rf build dist
