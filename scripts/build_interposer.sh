#!/usr/bin/env bash
# Builds the interposer of tracer/capture from tracer/capture/inject.
# Usage: scripts/build_interposer.sh [amd64|arm64|all] [OUTDIR]
# OUTDIR is tracer/capture by default; there libgpumem_ARCH.so are embedded by
# go:embed, and libgpumem_ARCH.txt say which tools made them.
# CC_amd64 and CC_arm64 name other compilers.
set -euo pipefail
case ${1-} in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
root=$(cd "$(dirname "$0")/.." && pwd)
src=$root/tracer/capture/inject
arch=${1:-all}
out=${2:-$root/tracer/capture}

compiler() {
	case $1 in
	amd64) echo "${CC_amd64:-$([ "$(uname -m)" = x86_64 ] && echo gcc || echo x86_64-linux-gnu-gcc)}" ;;
	arm64) echo "${CC_arm64:-$([ "$(uname -m)" = aarch64 ] && echo gcc || echo aarch64-linux-gnu-gcc)}" ;;
	*) echo "build_interposer: $1: want amd64, arm64 or all" >&2 && exit 2 ;;
	esac
}

# One line that two equal tool chains share.
version() {
	echo "$("$1" --version | head -n 1); $("$("$1" -print-prog-name=ld)" --version | head -n 1); glibc $(printf '#include <gnu/libc-version.h>\n#include <features.h>\n__GLIBC__ __GLIBC_MINOR__' | "$1" -E -P - | tail -n 1)"
}

# The optimisation of sibling calls is needed for more than speed: dlsym must
# reach the real one by a jump (RTLD_NEXT). No path of this machine and no
# build id by chance gets into the file.
build() {
	local cc=$1 target=$2
	(cd "$src" && "$cc" -std=gnu11 -O2 -Wall -Wextra -Werror -fno-omit-frame-pointer -foptimize-sibling-calls \
		-ftls-model=initial-exec -fvisibility=hidden -fno-stack-protector -fcf-protection=none -U_FORTIFY_SOURCE \
		-shared -fPIC -include compat.h -Wl,--version-script="$target.map" -Wl,-Bsymbolic -Wl,-soname,libgpumem.so \
		-Wl,--hash-style=both -Wl,--build-id=sha1 -Wl,-z,now -Wl,-z,relro -Wl,-z,noseparate-code -s \
		-o "$out/libgpumem_$target.so" gpumem.c bind.c blocks.c calls.c deep.c event.c exec.c heap.c hipleft.c pools.c python.c ring.c \
		samples.c stack.c unwind.c)
}

[ "$arch" = all ] && targets="amd64 arm64" || targets=$arch
mkdir -p "$out"
for target in $targets; do
	cc=$(compiler "$target")
	if ! command -v "$cc" >/dev/null 2>&1; then
		echo "build_interposer: no $cc: libgpumem_$target.so is not built (Debian: apt-get install gcc-aarch64-linux-gnu)" >&2
		[ "$arch" = all ] && continue
		exit 1
	fi
	build "$cc" "$target"
	echo "$target: $(version "$cc")" >"$out/libgpumem_$target.txt"
	echo "built $out/libgpumem_$target.so" >&2
done
