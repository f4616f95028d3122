#!/usr/bin/env bash
# Sets up what the tests need beyond Go and a C compiler, then runs them all.
# Usage: ./scripts/test.sh [--quick] [packages…]   (default ./...)
# Prints the failures and, as its last line, "N passed, N failed, N skipped".
# --quick is go test -short: what needs nothing but Go and takes moments. It
# installs nothing. Only the whole tests the rest, so CI refuses this.
set -uo pipefail
case ${1-} in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
cd "$(dirname "$0")/.." || exit 1
if [ "${1-}" = --quick ]; then
	shift
	[ "${CI:-}" != true ] || { echo "test.sh: CI runs the whole, not --quick" >&2; exit 2; }
	CGO_ENABLED=0 exec go test -short "${@:-./...}"
fi

# name of the command : Debian package
needs="cc:gcc bash:bash musl-gcc:musl-tools bwrap:bubblewrap python3:python3 pip3:python3-pip pytest:python3-pytest tmux:tmux chromium:chromium shellcheck:shellcheck
	aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu aarch64-linux-gnu-g++:g++-aarch64-linux-gnu
	qemu-aarch64-static:qemu-user-static prometheus:prometheus xmllint:libxml2-utils npm:npm
	musl-gcc:musl-tools bwrap:bubblewrap strace:strace gdb:gdb valgrind:valgrind fakeroot:fakeroot node:nodejs make:make
	perl:perl setcap:libcap2-bin ps:procps"

# Real frameworks on the processor, for the Python agent: PyTorch of the system's
# Python (PyPI's has all of CUDA in it), JAX and MLX in a folder of their own.
jax=0.10.2 mlx=0.32.4
export GPUMEM_TEST_TORCH=${GPUMEM_TEST_TORCH:-/usr/bin/python3}
export GPUMEM_TEST_FRAMEWORKS=${GPUMEM_TEST_FRAMEWORKS:-${XDG_CACHE_HOME:-$HOME/.cache}/gpumem-tests/jax-$jax-mlx-$mlx}

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

install_missing || echo "could not install all of: $needs; the tests that need them will say so" >&2
install_frameworks || echo "could not install JAX and MLX; the tests that need them will say so" >&2

failed=0
find_missing
[ -d "$GPUMEM_TEST_FRAMEWORKS" ] || missing+=(jax mlx)
if [ -n "${CI:-}" ] && [ ${#missing[@]} -gt 0 ]; then
	echo "CI: tests would be skipped for want of ${missing[*]}" >&2
	failed=1
fi
go vet ./... || failed=1

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# -p 1: tests measure real memory of real processes and start real browsers;
# packages do not compete with each other for the cores.
CGO_ENABLED=1 go test -race -count=1 -p 1 -timeout 30m -v "${@:-./...}" >"$log" 2>&1 || failed=1

# What a person wants of the log: packages, failures with their output.
grep -E '^(ok|FAIL|panic:|---? FAIL|WARNING: DATA RACE)|^\s+--- FAIL' "$log" || true
if [ "$failed" -ne 0 ]; then
	echo "---- output around the failures ----"
	grep -nE -B40 '^\s*--- FAIL|^FAIL|panic:|DATA RACE|build failed|\[setup failed\]' "$log" | tail -n 400
fi
passed=$(grep -cE '^\s*--- PASS' "$log")
bad=$(grep -cE '^\s*--- FAIL' "$log")
skipped=$(grep -cE '^\s*--- SKIP' "$log")
if [ "$failed" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
if [ "$skipped" -gt 0 ]; then
	echo "---- skipped ----"
	grep -E -A2 '^\s*--- SKIP' "$log"
fi
echo "$passed passed, $bad failed, $skipped skipped"
exit "$failed"
