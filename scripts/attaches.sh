#!/usr/bin/env bash
# Attaches to one running program N times and detaches again, and prints how long the
# program stood still each time, what its memory did, whether what it computes stayed
# the same, and its slowest steps beside those of the same program left alone.
# Usage: ./scripts/attaches.sh [N]   (default 1000; PYTHON names the interpreter)
set -euo pipefail
case ${1-} in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
cd "$(dirname "$0")/.."
count=${1:-1000} python=${PYTHON:-python3}
work=$(mktemp -d)
targets=()
cleanup() {
	for pid in "${targets[@]}"; do kill "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
trap cleanup EXIT
CGO_ENABLED=0 go build -o "$work/gpumem" ./cmd/gpumem

cat >"$work/target.py" <<'PROGRAM'
import signal, sys, time

over = False
def end(*_):
    global over
    over = True
signal.signal(signal.SIGTERM, end)

def step(turns):
    x = 1.0
    for i in range(turns):
        x = (x * 1.000001 + i) / 1.0000007
    return x

turns = 1000
while True:  # a step of half a millisecond
    times = []
    for _ in range(200):
        t = time.perf_counter(); step(turns); times.append(time.perf_counter() - t)
    middle = sorted(times)[100]
    if .0004 < middle < .0006: break
    turns = max(10, int(turns * .0005 / middle))

want, wrong, steps = step(turns).hex(), 0, 0
counts = [0] * 200000  # of steps by tens of microseconds
print("ready", flush=True)
while not over:
    t = time.perf_counter()
    result = step(turns)
    taken = time.perf_counter() - t
    counts[min(int(taken * 1e5), len(counts) - 1)] += 1
    steps += 1
    if result.hex() != want: wrong += 1
    time.sleep(.0001)

def at(share):
    left = share * steps
    for i, n in enumerate(counts):
        left -= n
        if left <= 0: return (i + 1) / 100
print("%d steps, %d of them with another result; ms a step: p50 %.2f, p99 %.2f, p99.99 %.2f, slowest %.2f" % (
    steps, wrong, at(.5), at(.99), at(.9999), at(1)))
PROGRAM

start() { # name
	"$python" "$work/target.py" >"$work/$1.txt" &
	targets+=("$!")
	until grep -q ready "$work/$1.txt"; do sleep .1; done
}
start attached
start alone
pid=${targets[0]}
resident() { awk -v page="$(getconf PAGESIZE)" '{ print int($2 * page / 1024) }' "/proc/$1/statm"; }

echo "resident memory of the program: $(resident "$pid") KiB before"
failed=0 stopped=0
trap 'stopped=1' INT TERM # what was measured until then is printed
for ((i = 1; i <= count && !stopped; i++)); do
	"$work/gpumem" attach "$pid" -q --no-tui --inject python --interval 20ms --for 300ms --force \
		--out "$work/run" >"$work/answer.txt" 2>&1 || true # too short a recording may be no verdict
	if ! sed -n 's/.*stood still for \([0-9.]*\) ms.*/\1/p' "$work/run/events.jsonl" >>"$work/stops.txt" ||
		! grep -q '"entered"' "$work/run/events.jsonl"; then
		failed=$((failed + 1))
		head -n 3 "$work/answer.txt"
	fi
	case $i in
	1 | $((count / 10)) | $((count / 4)) | $((count / 2)) | $((count * 3 / 4)) | "$count")
		echo "resident memory of the program: $(resident "$pid") KiB after $i attaches" ;;
	esac
done
sort -n "$work/stops.txt" | awk -v failed="$failed" '
	{ ms[NR] = $1 }
	function at(q) { i = int(q * (NR - 1)) + 1; return ms[i] }
	END { printf "%d attaches came in, %d did not; ms that the program stood still: p50 %.1f, p90 %.1f, p99 %.1f, most %.1f\n",
		NR, failed, at(.5), at(.9), at(.99), at(1) }'
grep -H . "/proc/$pid/comm" >/dev/null && echo "the program runs on"
kill "${targets[@]}"
wait "${targets[@]}" || true
echo "attached to: $(sed 1d "$work/attached.txt")"
echo "left alone:  $(sed 1d "$work/alone.txt")"
targets=()
