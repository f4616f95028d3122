#!/usr/bin/env bash
# How long a training loop that waits for nothing stands still under gpumem: each round
# runs it alone, traced without the window of profiled steps, which has a budget of its
# own, and traced with it. The three run at the same time, so that the pace of the host is
# common to them, on processors of their own that they swap from round to round.
# Usage: [PYTHON=python3] stalls.sh GPUMEM [seconds [rounds]]
set -u
gpumem=$1 seconds=${2:-40} rounds=${3:-2}
python=${PYTHON:-python3} loop=$(dirname "$0")/stalls.py
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
third=$(($(nproc) / 3))
[ "$third" -gt 0 ] || { echo "stalls.sh: three loops at once need three processors" >&2; exit 1; }

traced() { # processors, name, flags…
	local on=$1 name=$2
	shift 2
	taskset -c "$on" "$gpumem" run -q --force --out "$out/$name" "$@" -- \
		"$python" "$loop" "$seconds" "$kind" 2>/dev/null | sed -n "s/^turns/$kind $name turns/p"
}

for kind in flat list; do
	for round in $(seq "$rounds"); do
		on=()
		for place in 0 1 2; do
			first=$(((place + round) % 3 * third))
			on+=("$first-$((first + third - 1))")
		done
		taskset -c "${on[0]}" "$python" "$loop" "$seconds" "$kind" 2>/dev/null | sed "s/^/$kind alone /" &
		traced "${on[1]}" no-window --profile=off &
		traced "${on[2]}" traced &
		wait
	done
done
