#!/usr/bin/env bash
# Draws the accounts of three bundled programs with a fault, from runs made here, as the SVGs of docs/pictures.
# Usage: scripts/charts.sh OUTDIR
# Needs go.
set -euo pipefail
case ${1-} in -h | --help) sed -n '2,4s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
out=${1:?usage: charts.sh OUTDIR}
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd "$root" && CGO_ENABLED=0 go build -o "$dir/gpumem" ./cmd/gpumem && CGO_ENABLED=0 go build -o "$dir/chart" ./scripts/picture/chart)

draw() { # NAME TITLE COLUMNS… of the run that is there
	"$dir/chart" "$2" t_ms "${@:3}" <"$dir/run/samples.csv" >"$out/$1.svg"
	echo "wrote $out/$1.svg"
}
run() { (cd "$dir" && ./gpumem run -q --no-tui --force --out run "$@" >"$dir/log" 2>&1) || { cat "$dir/log" >&2; exit 1; }; }

run modelload --policy tensorlogic
draw pool "modelload --policy tensorlogic: live falls, idle stays" pool_live_bytes:live pool_idle_bytes:idle
run xor --fault fresh-params
draw live "xor --fault fresh-params: live grows" pool_live_bytes:live pool_idle_bytes:idle
run nqueens --fault no-autorelease-pool
draw host "nqueens --fault no-autorelease-pool: only the host grows" pool_live_bytes:live pool_idle_bytes:idle -- \
	footprint_bytes:footprint
run xor
draw healthy "xor: nothing grows after the warm-up" pool_live_bytes:live pool_idle_bytes:idle -- \
	footprint_bytes:footprint
