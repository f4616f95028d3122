#!/usr/bin/env bash
# Runs every program of a list (zoo, libraries), faulty and healthy, under gpumem on a
# machine with a real GPU and prints a table of verdicts, causes, holders and sites
# against the truth.
# Usage: verify.sh GPUMEM OUT [seconds] [at a time] [list]
set -u
gpumem=$1 out=$2 seconds=${3:-20} jobs=${4:-6}
list=$(dirname "$0")/${5:-zoo}.py
mkdir -p "$out"
# JAX would take three quarters of the device for itself.
export XLA_PYTHON_CLIENT_PREALLOCATE=false

run_one() {
	local name=$1 twin=$2
	local args=("$name" --seconds "$seconds")
	[ "$twin" = faulty ] || args+=(--healthy)
	"$gpumem" run -q --purge --sites --force --out "$out/$name.$twin" -- python3 "$list" "${args[@]}" \
		>"$out/$name.$twin.log" 2>&1
	echo $? >"$out/$name.$twin.code"
}

python3 "$list" --list >"$out/list.txt"
while read -r name verdict _; do
	for twin in faulty healthy; do
		# A program whose truth is none has no faulty twin.
		if [ "$verdict" = none ] && [ "$twin" = faulty ]; then continue; fi
		while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
		run_one "$name" "$twin" &
	done
done <"$out/list.txt"
wait

python3 - "$out" <<'PY'
import json, pathlib, sys

out = pathlib.Path(sys.argv[1])
right = total = accused = 0
for line in (out / "list.txt").read_text().splitlines():
    name, verdict, cause, holder, site, _ = line.split(" ", 5)
    for twin in ("faulty", "healthy"):
        code = out / f"{name}.{twin}.code"
        if not code.exists():
            continue
        want = verdict if twin == "faulty" else "none"
        total += 1
        try:
            v = json.loads((out / f"{name}.{twin}" / "verdict.json").read_text())
        except (OSError, ValueError) as e:
            print(f"WRONG {name:20} {twin:8} no verdict, exit code {code.read_text().strip()}: {e}")
            continue
        causes = [c["id"] for c in v.get("causes", [])]
        # Of survivors and holders the first three count: what a person reads.
        sites = [s["site"] for s in v.get("sites", [])[:3]]
        holders = [h["path"] for h in v.get("holders", [])[:3]]
        misses = []
        if v["verdict"] != want:
            misses.append(f"verdict {v['verdict']} {v['tier']}, not {want}")
        if twin == "faulty":
            if cause != "-" and cause not in causes:
                misses.append(f"cause {cause} not in {causes}")
            if holder != "-" and not any(holder in h for h in holders):
                misses.append(f"holder {holder} not in {holders}")
            if site != "-" and not any(site in s for s in sites):
                misses.append(f"site {site} not in {sites}")
        right += not misses
        accused += twin == "healthy" and v["verdict"] not in ("none", "undecided")
        print(f"{'WRONG' if misses else 'right'} {name:20} {twin:8} {v['verdict']:13} {v['tier']:9} {causes} {holders[:1]} {sites[:1]} {'; '.join(misses)}")
print(f"{right} of {total} right, {accused} healthy accused")
PY

# What the looks at the ages of the allocator's blocks cost, and what they found.
python3 "$(dirname "$0")/ages.py" "$out"/*/
