#!/usr/bin/env bash
# Makes metal/kernels/kernels.ptx from metal/kernels/kernels.metal.
# Usage: scripts/build_ptx.sh [OUTFILE]
# Needs Go and clang 14 (Debian: apt-get install clang-14); CLANG names another
# compiler. The file that is committed is clang 14.0.6's; a test makes it again
# and compares the bytes where that version is.
set -euo pipefail
case ${1-} in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/metal/kernels/kernels.ptx}
clang=${CLANG:-clang++-14}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# package kernels embeds the file, so that it must be there before Go runs.
[ -e "$root/metal/kernels/kernels.ptx" ] || touch "$root/metal/kernels/kernels.ptx"
(cd "$root" && go run ./metal/kernels/shim/translate "$dir")
# sm_70 is the oldest that driver 580 takes; newer GPUs compile it when loaded.
(cd "$dir" && "$clang" -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc -nocudalib \
	-std=c++17 -O2 -fsigned-char -Wall -Werror -Wno-unknown-cuda-version -Wno-unused-function -I. -S -o kernels.ptx kernels.cu)
mv "$dir/kernels.ptx" "$out"
