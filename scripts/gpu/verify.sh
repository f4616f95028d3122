#!/usr/bin/env bash
# Runs every program of zoo.py, faulty and healthy, under gpumem on a machine
# with a real GPU and prints a table of verdicts against the truth.
# Usage: verify.sh GPUMEM OUT [seconds] [at a time]
set -u
gpumem=$1 out=$2 seconds=${3:-20} jobs=${4:-6}
zoo=$(dirname "$0")/zoo.py
mkdir -p "$out"
# JAX would take three quarters of the device for itself.
export XLA_PYTHON_CLIENT_PREALLOCATE=false

run_one() {
	local name=$1 twin=$2
	local args=("$name" --seconds "$seconds")
	[ "$twin" = faulty ] || args+=(--healthy)
	"$gpumem" run -q --purge --force --out "$out/$name.$twin" -- python3 "$zoo" "${args[@]}" \
		>"$out/$name.$twin.log" 2>&1
	echo $? >"$out/$name.$twin.code"
}

python3 "$zoo" --list >"$out/list.txt"
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
right = total = 0
for line in (out / "list.txt").read_text().splitlines():
    name, verdict, cause, _ = line.split(" ", 3)
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
        ok = v["verdict"] == want and (twin == "healthy" or cause == "-" or cause in causes)
        right += ok
        holders = [h["path"] for h in v.get("holders", [])[:1]]
        print(f"{'right' if ok else 'WRONG'} {name:20} {twin:8} want {want:13} got {v['verdict']:13} {v['tier']:9} {causes} {holders}")
print(f"{right} of {total} right")
PY
