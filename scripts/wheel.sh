#!/usr/bin/env bash
# Builds Python wheels with the program in them, which pip and uv install without Go.
# Usage: scripts/wheel.sh OUTDIR [GOOS/GOARCH[/musl]…]     (default this platform)
#        scripts/wheel.sh OUTDIR --programs PROGRAM…       of programs that are built
#
#   linux/amd64, linux/arm64             manylinux2014: loads GPU drivers; needs glibc
#   linux/amd64/musl, linux/arm64/musl   musllinux: loads nothing
#   darwin/arm64, darwin/amd64, windows/amd64, windows/arm64
#   all                                  all of these
#
# The same commit with the same Go gives the same bytes: files in the wheels have
# the time of the commit, or SOURCE_DATE_EPOCH.
set -euo pipefail
cd "$(dirname "$0")/.."
. ./scripts/packages.sh

all="linux/amd64 linux/arm64 linux/amd64/musl linux/arm64/musl darwin/arm64 darwin/amd64 windows/amd64 windows/arm64"
case ${1-} in
-h | --help)
	sed -n '2,12s/^# \{0,1\}//p' "$0"
	exit 0
	;;
"" | -*)
	echo "wheel: takes a folder for the wheels; see scripts/wheel.sh --help" >&2
	exit 2
	;;
esac
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift

programs=()
if [ "${1-}" = --programs ]; then
	shift
	programs=("$@")
else
	targets=("$@")
	if [ $# -eq 0 ]; then
		targets=("$(go env GOHOSTOS)/$(go env GOHOSTARCH)")
		# A system whose C library is musl has its loader under this name.
		if compgen -G '/lib/ld-musl-*' >/dev/null && ! compgen -G '/lib*/ld-linux*' >/dev/null; then targets[0]+=/musl; fi
	elif [ "$1" = all ]; then
		read -ra targets <<<"$all"
	fi
	for target in "${targets[@]}"; do
		case " $all " in
		*" $target "*) ;;
		*)
			echo "wheel: no platform $target; one of: $all" >&2
			exit 2
			;;
		esac
	done
	built=$(mktemp -d)
	trap 'rm -rf "$built"' EXIT
	for target in "${targets[@]}"; do
		IFS=/ read -r os arch kind <<<"$target"
		[ "$kind" != musl ] || kind=static
		build "$os" "$arch" "$kind" "$built/gpumem-${target//\//-}"
		programs+=("$built/gpumem-${target//\//-}")
	done
fi
go run ./scripts/wheel -out "$out" -version "$(version)" "${programs[@]}"
