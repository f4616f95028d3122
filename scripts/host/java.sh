#!/usr/bin/env bash
# Runs the programs of Heaps.java, with a known truth, under several collectors and sizes of
# the heap, and prints truth and answer. It needs a JDK.
# Usage: scripts/host/java.sh GPUMEM OUT [seconds] [at a time]
set -euo pipefail
case ${1-} in '' | -h | --help) sed -n '2,4s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
gpumem=$(realpath "$1") out=$2 seconds=${3:-40} at_once=${4:-3}
mkdir -p "$out"
out=$(realpath "$out")
javac -d "$out" "$here/Heaps.java"

# truth, program, options of the machine
programs='leak list -Xmx512m
leak cache -Xmx1g
leak listeners -Xmx512m
leak threadlocal -Xmx512m -XX:+UseParallelGC
leak direct -Xmx512m
leak metaspace -Xmx256m
leak sessions -Xmx400m
leak sessions -Xms160m -Xmx160m -XX:+AlwaysPreTouch
leak slow -Xmx256m -XX:+UseSerialGC
leak list
none churn -Xmx512m
none lru -Xmx512m
none bursts -Xmx512m
none fills -Xmx2g
none window -Xmx512m -XX:+UseParallelGC
none batch -Xmx512m
none strings -Xmx256m -XX:+UseSerialGC
none soft -Xmx300m
none directchurn -Xmx512m
none lru
none lru -Xmx2g -XX:+UseParallelGC
none batch
none soft
none strings
none window
none directchurn'

one() {
	local truth=$1 program=$2
	shift 2
	local name=$program${*// /}
	name=$out/${name//[^a-zA-Z0-9]/}
	rm -rf "$name"
	"$gpumem" run --out "$name" -- java "$@" -cp "$out" Heaps "$program" "$seconds" >"$name.txt" 2>&1 || true
	printf '%-5s %-12s %-40s %s\n' "$truth" "$program" "$*" \
		"$(grep -m 1 -oE '^(none|undecided|host-growth)[^:]*' "$name.txt")"
}
export -f one
export gpumem out seconds
xargs -P "$at_once" -L 1 bash -c 'one "$@"' _ <<<"$programs"
