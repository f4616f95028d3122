#!/usr/bin/env bash
# What only a machine with several GPUs can show: devices, a training with a rank
# on each GPU of which the last one leaks, the machine's scan meanwhile beside
# nvidia-smi, and a bundled workload on the last device. About a minute.
# Usage: several.sh GPUMEM OUT
set -u
gpumem=$(realpath "$1") out=$2
here=$(dirname "$0")
mkdir -p "$out"
count=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
last=$((count - 1))
"$gpumem" devices

"$gpumem" run -q --force --out "$out/ranks" -- \
	torchrun --standalone --nproc-per-node "$count" "$here/ranks.py" --seconds 20 --leak "$last" >"$out/ranks.log" 2>&1 &
sleep 20
nvidia-smi --query-compute-apps=pid,gpu_uuid,used_memory --format=csv,noheader | sort
"$gpumem" diagnose --json >"$out/diagnose.json" 2>"$out/diagnose.err"
"$gpumem" diagnose >"$out/diagnose.txt" 2>&1
cat "$out/diagnose.txt"
wait
cat "$out/ranks.log"

"$gpumem" run -q --force --out "$out/last" sine "--device=cuda:$last" >"$out/last.log" 2>&1
echo "sine on cuda:$last: exit code $?"
grep -m1 -iE 'none|leak|growth|undecided' "$out/last.log"
head -1 "$out/last/samples.csv"

"$gpumem" run -q --force --out "$out/hidden" --device="cuda:$count" sine 2>&1 | tail -2
CUDA_VISIBLE_DEVICES="$last" "$gpumem" run -q --force --out "$out/visible" --device=cuda:0 sine >"$out/visible.log" 2>&1
echo "sine on cuda:0 where only GPU $last is visible: exit code $?"
python3 - "$out" <<'PY'
import csv, json, pathlib, sys

out = pathlib.Path(sys.argv[1])
for name in ("last", "visible"):
    with open(out / name / "samples.csv") as f:
        rows = list(csv.DictReader(f))
    print(name, {k: v for k, v in rows[len(rows) // 2].items() if k.startswith("gpu_bytes") and v})
v = json.loads((out / "ranks" / "verdict.json").read_text())
print("ranks:", v["summary"])
for p in v.get("processes", []):
    print(p)
PY
