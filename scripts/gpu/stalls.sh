#!/usr/bin/env bash
# How long a training loop that waits for nothing stands still under gpumem: each round
# runs it alone and traced at the same time, on processors of their own that they swap
# from round to round, so that the pace of the host is common to both.
# Usage: [PYTHON=python3] stalls.sh GPUMEM [seconds [rounds]]
set -u
gpumem=$1 seconds=${2:-40} rounds=${3:-2}
python=${PYTHON:-python3} loop=$(dirname "$0")/stalls.py
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
all=$(nproc) half=$(($(nproc) / 2))
first=0-$((half - 1)) second=$half-$((all - 1))

for kind in flat list; do
	for _ in $(seq "$rounds"); do
		taskset -c "$first" "$python" "$loop" "$seconds" "$kind" >"$out/alone" 2>/dev/null &
		taskset -c "$second" "$gpumem" run -q --force --out "$out/run" -- \
			"$python" "$loop" "$seconds" "$kind" 2>/dev/null | grep turns >"$out/traced"
		wait
		echo "$kind alone  $(cat "$out/alone")"
		echo "$kind traced $(cat "$out/traced")"
		was=$first first=$second second=$was
	done
done
