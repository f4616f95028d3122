#!/usr/bin/env bash
# Sets up what the tests need beyond Go and a C compiler, then runs them all.
# Usage: ./scripts/test.sh [--quick | --install] [packages…]   (default ./...)
# Prints the failures and, as its last line, "N passed, N failed, N skipped".
# --quick is go test -short: what needs nothing but Go and takes moments. It
# installs nothing. Only the whole tests the rest, so CI refuses this.
# --install only sets up: CI does it while it builds.
set -uo pipefail
case ${1-} in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
cd "$(dirname "$0")/.." || exit 1
if [ "${1-}" = --quick ]; then
	shift
	[ "${CI:-}" != true ] || { echo "test.sh: CI runs the whole, not --quick" >&2; exit 2; }
	CGO_ENABLED=0 exec go test -short "${@:-./...}"
fi

# name of the command : Debian package
needs="cc:gcc bash:bash musl-gcc:musl-tools bwrap:bubblewrap python3:python3 g++:g++ rustc:rustc pip3:python3-pip pytest:python3-pytest tmux:tmux chromium:chromium shellcheck:shellcheck
	aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu aarch64-linux-gnu-g++:g++-aarch64-linux-gnu
	qemu-aarch64-static:qemu-user-static prometheus:prometheus xmllint:libxml2-utils npm:npm
	musl-gcc:musl-tools bwrap:bubblewrap strace:strace gdb:gdb valgrind:valgrind fakeroot:fakeroot node:nodejs make:make
	pypy3:pypy3 python3-dbg:python3-dbg mvn:maven javac:default-jdk-headless
	perl:perl setcap:libcap2-bin ps:procps sshd:openssh-server rpm2cpio:rpm2cpio rpm:rpm cpio:cpio dpkg:dpkg git:git
	mkfs.ext4:e2fsprogs"

# Real frameworks on the processor, for the Python agent: PyTorch of the system's
# Python (PyPI's has all of CUDA in it), JAX and MLX in a folder of their own.
jax=0.10.2 mlx=0.32.4
# What uses the wheel: uv, pytest, a Jupyter kernel, a type checker.
tools="uv pytest ipykernel jupyter-client mypy"
# Language models: what makes one, for the PyTorch of the system's Python, and
# llama.cpp's converter, which the sources of its Python package have in them.
models="transformers==4.46.3 gguf==0.19.0 sentencepiece numpy<2" converter=0.3.36
export GPUMEM_TEST_TORCH=${GPUMEM_TEST_TORCH:-/usr/bin/python3}
export GPUMEM_TEST_FRAMEWORKS=${GPUMEM_TEST_FRAMEWORKS:-${XDG_CACHE_HOME:-$HOME/.cache}/gpumem-tests/jax-$jax-mlx-$mlx}
export GPUMEM_TEST_TOOLS=${GPUMEM_TEST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/gpumem-tests/tools-1}
export GPUMEM_TEST_MODELS=${GPUMEM_TEST_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/gpumem-tests/models-1}
# Other builds of CPython than the system's, for attach: those that Maven packages for
# Java programs, as version of CPython-version of the package.
pythons="3.9.6-1.5.6 3.10.8-1.5.8 3.12.1-1.5.10 3.13.5-1.5.12 3.14.3-1.5.13"
export GPUMEM_TEST_PYTHONS=${GPUMEM_TEST_PYTHONS:-${XDG_CACHE_HOME:-$HOME/.cache}/gpumem-tests/pythons-2}

# missing is the packages whose command is not there.
find_missing() {
	local need
	missing=()
	for need in $needs; do
		command -v "${need%%:*}" >/dev/null 2>&1 || missing+=("${need##*:}")
	done
	# 32-bit programs; gcc-multilib itself cannot be installed beside a cross compiler.
	if [ "$(uname -m)" = x86_64 ] && command -v gcc >/dev/null 2>&1; then
		gcc -m32 -print-file-name=libc.so | grep -q / || missing+=("gcc-$(gcc -dumpversion)-multilib")
	fi
	"$GPUMEM_TEST_TORCH" -c 'import torch' 2>/dev/null || missing+=(python3-torch)
	/usr/bin/python3 -c 'import numpy' 2>/dev/null || missing+=(python3-numpy)
	python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
	# The loader of 32-bit programs; compilers for them cannot be had beside those for arm64.
	[ "$(uname -sm)" != "Linux x86_64" ] || [ -e /lib/ld-linux.so.2 ] || missing+=(libc6-i386)
}

# install_frameworks fetches JAX and MLX, about 150 MB.
install_frameworks() {
	[ ! -d "$GPUMEM_TEST_FRAMEWORKS" ] || return 0
	echo "installing for the tests: jax $jax, mlx $mlx" >&2
	local new=$GPUMEM_TEST_FRAMEWORKS.$$
	python3 -m pip install -q --disable-pip-version-check --only-binary=:all: --target "$new" \
		"jax==$jax" "mlx==$mlx" "mlx-cpu==$mlx; sys_platform == 'linux'" >&2 &&
		mv "$new" "$GPUMEM_TEST_FRAMEWORKS" && return
	rm -rf "$new"
	return 1
}

# install_tools fetches what uses the wheel, about 60 MB.
install_tools() {
	[ ! -d "$GPUMEM_TEST_TOOLS" ] || return 0
	echo "installing for the tests: $tools" >&2
	local new=$GPUMEM_TEST_TOOLS.$$
	# shellcheck disable=SC2086 # one word each
	python3 -m pip install -q --disable-pip-version-check --only-binary=:all: --target "$new" $tools >&2 &&
		mv "$new" "$GPUMEM_TEST_TOOLS" && return
	rm -rf "$new"
	return 1
}

# install_models fetches transformers and the converter, about 140 MB.
install_models() {
	[ ! -d "$GPUMEM_TEST_MODELS" ] || return 0
	echo "installing for the tests: $models, llama.cpp's converter" >&2
	local new=$GPUMEM_TEST_MODELS.$$ version
	version=$("$GPUMEM_TEST_TORCH" -c 'import platform; print(platform.python_version())')
	# shellcheck disable=SC2086 # one word each
	python3 -m pip install -q --disable-pip-version-check --only-binary=:all: --python-version "$version" \
		--target "$new" $models >&2 && fetch_converter "$new/llama.cpp" && mv "$new" "$GPUMEM_TEST_MODELS" && return
	rm -rf "$new"
	return 1
}

# fetch_converter takes the converter out of the sources of the Python package.
fetch_converter() {
	mkdir "$1" && python3 -m pip download -q --disable-pip-version-check --no-deps --no-binary=:all: -d "$1" \
		"llama-cpp-python==$converter" >&2 &&
		tar -xzf "$1/llama_cpp_python-$converter.tar.gz" -C "$1" --strip-components=3 --wildcards \
			'*/vendor/llama.cpp/conv*' '*/vendor/llama.cpp/gguf-py/*' '*/vendor/llama.cpp/LICENSE' &&
		rm "$1/"*.tar.gz
}

# install_pythons fetches builds of CPython with a shared libpython, about 130 MB.
install_pythons() {
	[ ! -d "$GPUMEM_TEST_PYTHONS" ] && [ "$(uname -sm)" = "Linux x86_64" ] || return 0
	echo "installing for the tests: CPython $pythons" >&2
	local new=$GPUMEM_TEST_PYTHONS.$$ version
	mkdir -p "$new" || return 1
	for version in $pythons; do
		timeout 300 mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -DoutputDirectory="$new" \
			-Dartifact="org.bytedeco:cpython:$version:jar:linux-x86_64" >&2 || return 1
		python3 -m zipfile -e "$new/cpython-$version-linux-x86_64.jar" "$new/jar" &&
			mv "$new/jar/org/bytedeco/cpython/linux-x86_64" "$new/${version%%-*}" &&
			chmod +x "$new/${version%%-*}"/bin/python3.* || return 1
		rm -rf "$new/jar" "$new/cpython-$version-linux-x86_64.jar"
	done
	mv "$new" "$GPUMEM_TEST_PYTHONS"
}

install_missing() {
	find_missing
	[ ${#missing[@]} -gt 0 ] || return 0
	echo "installing for the tests: ${missing[*]}" >&2
	local sudo=""
	if [ "$(id -u)" -ne 0 ]; then sudo="sudo -n"; fi
	if command -v apt-get >/dev/null 2>&1; then
		$sudo apt-get update -qq >&2 &&
			DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
	elif command -v dnf >/dev/null 2>&1; then
		$sudo dnf install -y -q "${missing[@]}" >/dev/null
	elif command -v brew >/dev/null 2>&1; then
		brew install --quiet "${missing[@]}" >/dev/null
	else
		echo "no package manager known here: install ${missing[*]} by hand" >&2
		return 1
	fi
}

# install_all sets up everything: the system's packages first, which the others use,
# then the others side by side, since each waits for a server most of the time.
install_all() {
	install_missing || echo "could not install all of: $needs; the tests that need them will say so" >&2
	{ install_frameworks || echo "could not install JAX and MLX; the tests that need them will say so" >&2; } &
	{ install_tools || echo "could not install $tools; the tests that need them will say so" >&2; } &
	{ install_models || echo "could not install $models; the tests that need them will say so" >&2; } &
	{ install_pythons || echo "could not install CPython $pythons; the tests that need them will say so" >&2; } &
	wait
}

install_all
[ "${1-}" != --install ] || exit 0

# print_failed prints what the tests that failed said, each under its name. Tests that run
# in parallel speak in turn, so what one says may stand far before its end.
print_failed() {
	awk '
		{ is_end = /^ *--- (PASS|FAIL|SKIP): / }
		NR == FNR { if (is_end && $2 == "FAIL:") failed[$3]; next }
		/^=== (RUN|PAUSE|CONT|NAME) / { current = $3; next }
		is_end && $2 != "FAIL:" { current = ""; next }
		is_end { current = $3 }
		is_end || current in failed {
			if (current != told) print "=== " current
			told = current
			print
		}' "$1" "$1"
}

failed=0
find_missing
[ -d "$GPUMEM_TEST_FRAMEWORKS" ] || missing+=(jax mlx)
# shellcheck disable=SC2206 # one word each
[ -d "$GPUMEM_TEST_TOOLS" ] || missing+=($tools)
if [ -n "${CI:-}" ] && [ ${#missing[@]} -gt 0 ]; then
	echo "CI: tests would be skipped for want of ${missing[*]}" >&2
	failed=1
fi
# As the tests are compiled, so that all of it is compiled once, on all cores.
CGO_ENABLED=1 go vet -race ./... || failed=1

log=$(mktemp) turn=$(mktemp)
trap 'rm -f "$log" "$turn"' EXIT

# One package runs at a time: tests measure real memory of real processes and start
# real browsers. The next are linked meanwhile, so they wait for their turn.
packages=("${@:-./...}") in_turn=(-p 1)
if command -v flock >/dev/null 2>&1; then in_turn=(-p 3 -exec "flock -o $turn"); fi
if [ $# -eq 0 ]; then
	# First those that wait most: others are linked beside them.
	packages=(./cmd/gpumem/e2e ./metal/apple ./cmd/gpumem ./internal/eval/children ./...)
fi
# go vet has said more than the vet that go test would begin with.
CGO_ENABLED=1 go test -race -vet=off -count=1 -timeout 30m -v "${in_turn[@]}" "${packages[@]}" >"$log" 2>&1 || failed=1

# What a person wants of the log: packages, failures with their output.
grep -E '^(ok|FAIL|panic:|---? FAIL|WARNING: DATA RACE)|^\s+--- FAIL' "$log" || true
if [ "$failed" -ne 0 ]; then
	echo "---- output around the failures ----"
	print_failed "$log" | tail -n 300
	grep -nE -B20 '^FAIL|^panic:|build failed|\[setup failed\]' "$log" | tail -n 100
fi
passed=$(grep -cE '^\s*--- PASS' "$log")
bad=$(grep -cE '^\s*--- FAIL' "$log")
skipped=$(grep -cE '^\s*--- SKIP' "$log")
if [ "$failed" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
if [ "$skipped" -gt 0 ]; then
	echo "---- skipped ----"
	grep -E -B2 '^\s*--- SKIP' "$log" # the reason stands above it
fi
echo "$passed passed, $bad failed, $skipped skipped"
exit "$failed"
