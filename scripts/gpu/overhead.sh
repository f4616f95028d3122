#!/usr/bin/env bash
# What gpumem costs a PyTorch training loop: what its agent does in the loop's own
# process, booked there, since the noise between two processes is many times that;
# then the whole beside no tracer, PyTorch's own history and compute-sanitizer, in
# turn on one machine. Usage: overhead.sh GPUMEM [rounds, 0: the agent only]
set -u
gpumem=$1 rounds=${2:-3}
here=$(dirname "$0")
loop=$here/loop.py cost=$here/../../tracer/agent/python/tests/programs/cost.py
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for kind in "64 SGD" "1024 Adam"; do
	echo "agent, two layers of $kind"
	# shellcheck disable=SC2086 # width and optimizer are words
	"$gpumem" run -q --force --out "$out/run" -- python3 "$cost" 12 cuda $kind 2>/dev/null | grep -E '^(step|samples)'
done
[ "$rounds" -gt 0 ] || exit 0

timed() { # name, command…
	local name=$1
	shift
	"$@" 2>"$out/err" | sed -n "s/^seconds /$name /p" >>"$out/times"
}

for _ in $(seq "$rounds"); do
	timed none python3 "$loop"
	timed gpumem "$gpumem" run -q --force --out "$out/run" -- python3 "$loop"
	timed outside "$gpumem" run -q --force --inject none --out "$out/run" -- python3 "$loop"
	timed sites "$gpumem" run -q --force --sites --out "$out/run" -- python3 "$loop"
done
timed history python3 -c "
import runpy, sys, torch
torch.cuda.memory._record_memory_history(max_entries=100000)
sys.argv = ['loop.py']
runpy.run_path('$loop')"
if command -v compute-sanitizer >/dev/null 2>&1; then
	timed sanitizer timeout 120 compute-sanitizer --tool memcheck python3 "$loop" --steps 40
	timed forty python3 "$loop" --steps 40
fi
python3 - "$out/times" <<'PY'
import statistics, sys

times = {}
for line in open(sys.argv[1]):
    name, seconds = line.split()
    times.setdefault(name, []).append(float(seconds))
base = statistics.median(times["none"])
for name, values in times.items():
    against = statistics.median(times["forty"]) if name == "sanitizer" and "forty" in times else base
    print(f"{name:10} median {statistics.median(values):8.3f} s  min {min(values):8.3f}  ratio {statistics.median(values) / against:.4f}  {values}")
PY
