#!/usr/bin/env bash
# What gpumem costs a program that grows, in its first minute, when it is looked at most: pairs of
# grow.py, one alone and one under gpumem at the same time, each on a GPU of its own, which change
# places from round to round. Usage: growing.sh GPUMEM [rounds] [seconds]
set -u
gpumem=$1 rounds=${2:-4} seconds=${3:-60}
grow=$(dirname "$0")/grow.py
gpus=$(nvidia-smi -L | wc -l)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for ((round = 0; round < rounds; round++)); do
	for ((gpu = 0; gpu < gpus; gpu++)); do
		kind=list command=()
		[ $((gpu / 2 % 2)) = 1 ] && kind=native
		name=alone
		if [ $(((gpu + round) % 2)) = 1 ]; then
			name=gpumem command=("$gpumem" run -q --force --out "$out/run$gpu" --)
		fi
		CUDA_VISIBLE_DEVICES=$gpu "${command[@]}" python3 "$grow" $kind "$seconds" 2>"$out/err$gpu" |
			sed -n "s/^$kind: /$name &/p" >>"$out/turns" &
	done
	wait
done
sort "$out/turns"
python3 - "$out/turns" <<'PY'
import statistics, sys

turns = {}
for line in open(sys.argv[1]):
    name, kind, count = line.split()[:3]
    turns.setdefault(kind, {}).setdefault(name, []).append(int(count))
for kind, by in turns.items():
    middle = {name: statistics.median(counts) for name, counts in by.items()}
    print(f"{kind} median of turns {middle}, under gpumem {100 * (1 - middle['gpumem'] / middle['alone']):.2f} % fewer")
PY
