#!/usr/bin/env bash
# Programs with a known truth, started WITHOUT gpumem; attached to after 20 s, for 35 s.
# Runs in the repository root on a GPU machine, as root; needs ./gpumem, $OUT. About 130 s.
# LIST=libraries takes all programs of libraries.py and their healthy twins, in about 240 s.
# Reads: $OUT/table.txt. "ok" in the column verdict is the aim for all; holder where the truth names one.
set -u
export OUT=${OUT:-/tmp/attach-out} XLA_PYTHON_CLIENT_PREALLOCATE=false
G=$(realpath ./gpumem); mkdir -p "$OUT"; rm -f "$OUT"/*.log
PY=${PY:-python3}
names=(torch_append torch_loss_graph torch_small_handles torch_hook torch_cache torch_cycle torch_sawtooth
 torch_fragments raw_alloc raw_streams torch_graphs host_numpy host_objects cupy_append cupy_sizes jax_append
 torch_attribute torch_parameters torch_warmup torch_eval torch_step)
LIST=${LIST:-zoo}
if [ $# -gt 0 ]; then names=("$@"); fi
one() { # name, more flags of the program
	local name=$1 tag=$1${2:+-healthy}
	(cd scripts/gpu && exec "$PY" "$LIST.py" "$name" --seconds 85 $2) >"$OUT/$tag.program" 2>&1 &
	local pid=$! i
	sleep 20
	"$G" attach "$pid" --for 35s -q --force --out "$OUT/$tag" --format json >"$OUT/$tag.json" 2>"$OUT/$tag.log"
	echo "attach exit $?" >>"$OUT/$tag.log"
	kill -0 "$pid" 2>/dev/null && echo "program alive" >>"$OUT/$tag.log" || echo "PROGRAM DIED" >>"$OUT/$tag.log"
	kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null
}
batch() { # at most 14 at a time on 16 cores
	for spec in "$@"; do one ${spec%%+*} "$([ "${spec#*+}" != "$spec" ] && echo --healthy)" & done
	wait
}
specs=("${names[@]}")
if [ "$LIST" != zoo ]; then
	specs=()
	while read -r name truth _; do
		[ "$truth" = none ] || specs+=("$name")
		specs+=("$name+h")
	done < <("$PY" "scripts/gpu/$LIST.py" --list)
elif [ $# -eq 0 ]; then
	specs+=(torch_append+h torch_fragments+h cupy_append+h)
fi
for ((i = 0; i < ${#specs[@]}; i += 14)); do batch "${specs[@]:i:14}"; done
"$PY" - "$OUT" "$LIST" <<'PYEOF' | tee "$OUT/table.txt"
import json, os, subprocess, sys
out = sys.argv[1]
sys.path.insert(0, "scripts/gpu")
import programs
__import__(sys.argv[2])
right = n = 0
print("%-26s %-14s %-26s %-34s %-8s %-8s %-7s %s" % ("program", "truth", "verdict", "first holder", "holder", "cause", "stood", "notes"))
for file in sorted(os.listdir(out)):
    if not file.endswith(".json"):
        continue
    tag = file[:-5]
    name, healthy = tag.replace("-healthy", ""), tag.endswith("-healthy")
    _, truth, cause, holder, site, what = programs.PROGRAMS[name]
    if healthy:
        truth, cause, holder = "none", "-", "-"
    log = open(os.path.join(out, tag + ".log")).read()
    try:
        v = json.load(open(os.path.join(out, file)))
    except ValueError:
        print("%-26s %-14s NO VERDICT  %s" % (tag, truth, log.strip().splitlines()[-2:]))
        continue
    got = "%s %s" % (v["verdict"], v.get("tier", ""))
    ok = v["verdict"] == truth
    n += 1; right += ok
    holders = v.get("holders") or []
    first = holders[0]["path"] if holders else "-"
    named = "-" if holder == "-" else "ok" if any(holder in h["path"] for h in holders[:3]) else "MISSING"
    causes = [c["id"] for c in v.get("causes") or []]
    caused = "-" if cause == "-" else "ok" if cause in causes else "MISSING"
    stood = "?"
    for line in open(os.path.join(out, tag, "events.jsonl")):
        e = json.loads(line)
        if e.get("name") == "entered":
            stood = e["text"].split("for ")[-1]
    notes = [l[:90] for l in log.splitlines() if "outside only" in l or "never came" in l or "DIED" in l or "is not in" in l]
    if "Traceback" in open(os.path.join(out, tag + ".program")).read():
        notes.append("the program printed a traceback")
    print("%-26s %-14s %-26s %-34s %-8s %-8s %-7s %s" % (tag, truth, ("ok " if ok else "WRONG ") + got, first[-34:], named, caused, stood, "; ".join(notes)))
print("%d of %d verdicts right" % (right, n))
PYEOF
