#!/usr/bin/env bash
# Builds gpumem for every system it is released for, with checksums, and checks
# what each file was linked with.
# Usage: scripts/release.sh [--out DIR] [TARGET…]     (default out dist, all targets)
#
#   linux-amd64, linux-arm64                 load GPU drivers; need glibc
#   linux-amd64-static, linux-arm64-static   load nothing, run on any Linux; NVIDIA's
#                                            figures come from nvidia-smi, if it is there
#   darwin-arm64, darwin-amd64               load Metal and IOKit of macOS
#   windows-amd64, windows-arm64             load nothing: without GPU drivers
#
# All are built without cgo, so any machine with Go builds all of them, and the
# same commit with the same Go gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

all="linux-amd64 linux-arm64 linux-amd64-static linux-arm64-static darwin-arm64 darwin-amd64 windows-amd64 windows-arm64"
out=dist
targets=()
while [ $# -gt 0 ]; do
	case "$1" in
	--out)
		[ $# -ge 2 ] || { echo "release: --out takes a folder" >&2; exit 2; }
		out=$2
		shift
		;;
	-h | --help)
		sed -n '2,14s/^# \{0,1\}//p' "$0"
		exit 0
		;;
	*)
		case " $all " in
		*" $1 "*) targets+=("$1") ;;
		*)
			echo "release: no target $1; one of: $all" >&2
			exit 2
			;;
		esac
		;;
	esac
	shift
done
[ ${#targets[@]} -gt 0 ] || read -ra targets <<<"$all"

checksums() { # of the files in the folder, names only
	if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

mkdir -p "$out"
out=$(cd "$out" && pwd)
files=()
for target in "${targets[@]}"; do
	IFS=- read -r os arch kind <<<"$target"
	file=gpumem-$target
	tags=()
	if [ "$os" = windows ]; then file+=.exe; fi
	# nodl leaves out everything that loads a library at run time.
	if [ "$kind" = static ] || [ "$os" = windows ]; then tags=(-tags nodl); fi
	echo "build $target" >&2
	GOOS=$os GOARCH=$arch CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' ${tags[@]+"${tags[@]}"} -o "$out/$file" ./cmd/gpumem
	files+=("$file")
done

go run ./scripts/linked "${files[@]/#/$out/}"
cp LICENSE "$out/LICENSE"
(cd "$out" && checksums "${files[@]}" LICENSE >SHA256SUMS)
echo "written: $out" >&2
