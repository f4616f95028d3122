#!/usr/bin/env bash
# Runs metal/cuda on a machine with a real GPU in one go: what the driver charges
# and gives back, what allocations cost, the conformance suite, and the bundled
# workloads with their faults against their truths. About 90 seconds.
# Usage: cuda.sh GPUMEM CUDA_TEST OUT [device index] [workloads at a time]
# GPUMEM is the program, CUDA_TEST the test binary, both made with
#   CGO_ENABLED=0 go build -o GPUMEM ./cmd/gpumem
#   CGO_ENABLED=0 go test -tags gpu -c -o CUDA_TEST ./metal/cuda
set -u
gpumem=$(realpath "$1") suite=$(realpath "$2") out=$3 jobs=${5:-4}
export GPUMEM_TEST_CUDA=${4:-0} CUDA_DEVICE_ORDER=PCI_BUS_ID
mkdir -p "$out"
out=$(realpath "$out")
nvidia-smi -i "$GPUMEM_TEST_CUDA" --query-gpu=name,driver_version,memory.used --format=csv,noheader

# Alone on the machine: figures.
"$suite" -test.run 'ThePoolCharges|TestTrim' -test.v >"$out/memory.log" 2>&1
echo "memory: exit code $?"
"$suite" -test.run '^$' -test.bench . -test.benchtime 200ms >"$out/bench.log" 2>&1
echo "benchmarks: exit code $?"
grep ns/op "$out/bench.log"
"$suite" -test.run OnARealGPU -test.v >"$out/conformance.log" 2>&1
echo "conformance suite: exit code $?, $(grep -c -- '--- PASS' "$out/conformance.log") passed, $(grep -c -- '--- FAIL' "$out/conformance.log") failed"

# One workload: name, truth, cause or -, flags.
run_one() {
	local truth=$1 cause=$2 name
	shift 2
	name=$(tr ' =/' '___' <<<"$*")
	"$gpumem" run -q --force --out "$out/$name" "$@" "--device=cuda:$GPUMEM_TEST_CUDA" >"$out/$name.log" 2>&1
	echo "$truth $cause $? $name" >>"$out/codes.txt"
}
rm -f "$out/codes.txt"
while read -r truth cause flags; do
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
	# shellcheck disable=SC2086 # flags are words
	run_one "$truth" "$cause" $flags &
done <<'END'
none - nqueens --solutions 1
app-leak uncut-autograd-graph nqueens --fault uncut-graph --attempts 3
none - nqueens --fault no-autorelease-pool --attempts 2
none - xor
app-leak handle-leak xor --fault fresh-params --runs 3
none - xor --fault early-return --runs 3
app-leak command-buffer-backlog xor --fault no-flush
none - sine
app-leak handle-leak sine --fault fresh-params --runs 3
none - sine --fault early-return --runs 3
app-leak command-buffer-backlog sine --fault no-flush
none - modelload
app-leak retained-clone modelload --fault clone-retained
pool-growth pool-never-trims modelload --policy tensorlogic --purge
none - generate
app-leak - generate --fault kv-not-released
pool-growth pool-never-trims generate --fault exact-sizes
END
wait

python3 - "$out" <<'PY'
import json, pathlib, sys

out = pathlib.Path(sys.argv[1])
right = total = 0
for line in sorted((out / "codes.txt").read_text().splitlines(), key=lambda l: l.split()[3]):
    truth, cause, code, name = line.split(" ", 3)
    total += 1
    try:
        v = json.loads((out / name / "verdict.json").read_text())
        device = json.loads((out / name / "run.json").read_text()).get("device")
    except (OSError, ValueError) as e:
        print(f"WRONG {name}: exit code {code}: {e}")
        continue
    causes = [c["id"] for c in v.get("causes", [])]
    ok = code == "0" and v["verdict"] == truth and (cause == "-" or cause in causes)
    right += ok
    left = {a["account"]: a["leftover_bytes"] for a in v["accounts"] if a.get("leftover_bytes")}
    print(f"{'right' if ok else 'WRONG'} {name:44} want {truth:12} got {v['verdict']:13} {v['tier']:9} {causes} on {device}; left {left}")
print(f"{right} of {total} right")
PY
