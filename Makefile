# The two commands that do everything on a fresh Debian 12: `make demo` and `make test`.
BUILD ?= build
JOBS  ?= $(shell nproc)

.PHONY: all configure configure-test demo test checks bench serve install wheel deb check-deb site ops format check-format fuzz \
        out-of-memory proofs soak scale scaling arm64 test-arm64 static static-arm64 test-static \
        s390x riscv64 test-s390x test-riscv64 windows test-windows wasm test-wasm tidy clean

all: configure-test
	cmake --build $(BUILD) -j $(JOBS)

# What the program takes, and what everything else takes too.
configure:
	@scripts/install_deps.sh
	@test -f $(BUILD)/build.ninja || cmake --preset release -B $(BUILD) >/dev/null

configure-test:
	@scripts/install_deps.sh test
	@cmake --preset release -B $(BUILD) >/dev/null

test: all
	cd $(BUILD) && ctest --output-on-failure -j $(JOBS)

# All parts of scripts/checks.sh, with the time that each part takes; PARTS="tidy clang" for some of it.
checks: configure-test
	@scripts/install_deps.sh checks
	JOBS=$(JOBS) scripts/checks.sh $(PARTS)

# Every allocation of loading, checking, compiling and running small models fails once.
out-of-memory: configure-test
	cmake --build $(BUILD) -j $(JOBS) --target out_of_memory_test
	SARDONYX_EVERY_ALLOCATION=1 $(BUILD)/tests/out_of_memory_test

# Ten handwritten digits, read and shown in the terminal.
demo: configure
	cmake --build $(BUILD) -j $(JOBS) --target sardonyx_cli
	scripts/demo.sh $(BUILD)

# Times against onnxruntime, in one run; ARGS as for bench/compare.py.
bench: configure-test
	cmake --build $(BUILD) -j $(JOBS) --target sardonyx_cli
	bench/compare.py --build $(BUILD) $(ARGS)

# The program with its server (docs/serving.md).
serve: configure
	@scripts/install_deps.sh serve
	cmake --preset release -B $(BUILD) >/dev/null
	cmake --build $(BUILD) -j $(JOBS) --target sardonyx_cli

# Into PREFIX: program, libraries, headers, Python package, manual page, completions.
PREFIX ?= /usr/local
install: configure-test
	cmake --build $(BUILD) -j $(JOBS) --target sardonyx sardonyx_shared sardonyx_cli sardonyx_python
	cmake --install $(BUILD) --prefix $(PREFIX)

# A wheel for this Python, in build/wheels, and a test of it in a fresh virtual environment.
wheel: configure-test
	JOBS=$(JOBS) tests/wheel.sh $(BUILD)/wheels

# Beyond one machine (docs/scaling.md): its tests with the real programs.
scale: configure-test
	@scripts/install_deps.sh serve scale
	cmake --preset release -B $(BUILD) >/dev/null
	cmake --build $(BUILD) -j $(JOBS) --target sardonyx_cli sardonyx_python
	cd $(BUILD) && ctest --output-on-failure -R '^scale_'

# The Debian packages, in build-deb/packages, and their judgement by lintian; ARCH=arm64 for that machine's, in
# build-deb-arm64/packages.
deb:
	@scripts/install_deps.sh package $(if $(filter arm64,$(ARCH)),arm64 package-arm64,proofs)
	scripts/make_deb.sh $(ARCH)

# The documentation as a site, in build/site.
site:
	@scripts/install_deps.sh site
	mkdocs build --quiet

# The packages installed and used in a root that holds nothing else.
check-deb: deb
	scripts/check_deb.sh $(ARCH)

# sardonyx/ops.h anew, after an operator's declaration has changed.
ops: configure
	cmake --build $(BUILD) -j $(JOBS) --target make_ops
	$(BUILD)/tools/make_ops include/sardonyx/ops.h src/builder/ops.cc
	clang-format -i include/sardonyx/ops.h src/builder/ops.cc

format:
	git ls-files '*.cc' '*.h' | xargs clang-format -i

check-format:
	git ls-files '*.cc' '*.h' | xargs clang-format --dry-run --Werror

# Every fuzz target for MINUTES of CPU time (1 unless told), in JOBS processes; needs clang.
fuzz: configure-test
	@scripts/install_deps.sh fuzz
	cmake --preset fuzz >/dev/null
	cmake --build build-fuzz -j $(JOBS) --target fuzz
	JOBS=$(JOBS) scripts/fuzz.sh build-fuzz $(or $(MINUTES),1)

# The proofs and the checker extracted from them, over plans of all kinds; scripts/proofs.sh says what MODELS is.
proofs: configure-test
	@scripts/install_deps.sh proofs
	cmake --build $(BUILD) -j $(JOBS) --target sardonyx_cli plan_certificates sardonyx_planted
	scripts/proofs.sh $(BUILD)

# A million models loaded, compiled, run and released in one process; and time per node as graphs grow.
soak: configure-test
	cmake --build $(BUILD) -j $(JOBS) --target soak
	$(BUILD)/tests/bounded/soak $(or $(MODELS),1000000)

scaling: configure-test
	cmake --build $(BUILD) -j $(JOBS) --target sardonyx_cli
	tests/bounded/scaling.py $(BUILD)/sardonyx

# The program and its tests for arm64, by Debian's cross compiler, in build-arm64.
arm64: configure
	@scripts/install_deps.sh test arm64
	cmake --preset arm64 >/dev/null
	cmake --build build-arm64 -j $(JOBS) --target sardonyx_cli kernel_test ops_test

# They run in qemu, and give this machine's digests; and their inner loops are counted.
test-arm64: arm64
	cmake --build $(BUILD) -j $(JOBS) --target sardonyx_cli
	tests/arm64/run.sh $(BUILD) build-arm64
	tests/arm64/loops.py build-arm64

# One file that needs no library of the machine it runs on, in build-static, and the same for arm64 (docs/machines.md).
static: configure
	cmake --preset static >/dev/null
	cmake --build build-static -j $(JOBS) --target sardonyx_cli
	@scripts/pack_static.sh build-static strip

static-arm64: configure
	@scripts/install_deps.sh arm64
	cmake --preset static-arm64 >/dev/null
	cmake --build build-static-arm64 -j $(JOBS) --target sardonyx_cli
	@scripts/pack_static.sh build-static-arm64 aarch64-linux-gnu-strip

# They run in a root that holds nothing else.
test-static: static static-arm64
	tests/static.sh build-static/sardonyx
	tests/static.sh build-static-arm64/sardonyx qemu-aarch64-static

# The program for machines of another kind, by Debian's cross compilers, and the official suites in qemu with this machine's digests.
s390x riscv64: configure
	@scripts/install_deps.sh $@
	cmake --preset $@ >/dev/null
	cmake --build build-$@ -j $(JOBS) --target sardonyx_cli

test-s390x test-riscv64: test-%: %
	cmake --build $(BUILD) -j $(JOBS) --target sardonyx_cli
	tests/emulated.sh $(BUILD) build-$*/sardonyx qemu-$*-static

# The program for Windows, by Debian's mingw-w64, and the official suites in wine with this machine's digests.
windows: configure
	@scripts/install_deps.sh $@
	cmake --preset $@ >/dev/null
	cmake --build build-$@ -j $(JOBS) --target sardonyx_cli
	@x86_64-w64-mingw32-strip build-$@/sardonyx.exe
	@stat -c '%n: %s bytes' build-$@/sardonyx.exe

test-windows: windows
	cmake --build $(BUILD) -j $(JOBS) --target sardonyx_cli
	WINEDEBUG=-all tests/emulated.sh $(BUILD) build-windows/sardonyx.exe wine

# The program and the module for WebAssembly, by Debian's emscripten, and what they give in node and in Chromium.
wasm: configure
	@scripts/install_deps.sh $@
	cmake --preset $@ >/dev/null
	cmake --build build-$@ -j $(JOBS) --target sardonyx_cli sardonyx_module
	@stat -c '%n: %s bytes' build-$@/sardonyx.wasm build-$@/module/sardonyx.wasm

test-wasm: wasm
	cmake --build $(BUILD) -j $(JOBS) --target sardonyx_cli
	tests/wasm/run.sh $(BUILD)

tidy:
	@$(MAKE) --no-print-directory checks PARTS=tidy

clean:
	rm -rf build build-*
