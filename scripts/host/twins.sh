#!/usr/bin/env bash
# Runs the programs of twins/, in C, C++, Rust, Java, JavaScript, Perl and bash, faulty and
# healthy, under gpumem on a machine that needs no GPU, and prints a table of verdicts
# against the truth. It ends with 1 when a healthy one is accused, or a faulty one is given
# another class than its own; what is undecided is counted apart. Two are no growth of the
# program, and a warning tells them.
# Usage: scripts/host/twins.sh GPUMEM OUT [seconds] [at a time] [NAME…]
set -euo pipefail
case ${1-} in '' | -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
here=$(cd "$(dirname "$0")" && pwd)/twins
gpumem=$(realpath "$1") out=$2 seconds=${3:-42} jobs=${4:-2}
shift $(($# > 4 ? 4 : $#))
mkdir -p "$out"
out=$(realpath "$out")
cp "$here"/*.js "$here"/*.pl "$here"/*.sh "$out"
cc -O2 -shared -fPIC -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 -o "$out/libcuda.so.1" \
	"$here/../../../tracer/capture/testdata/libcuda.c"
driver=("$out/libcuda.so.1" "-Wl,--as-needed,-rpath,\$ORIGIN")
cc -O2 -g -Wall -Wextra -shared -fPIC -o "$out/plugin.so" "$here/plugin.c" "${driver[@]}"
for name in daemons plugins pools segments threads virtual; do
	cc -O2 -g -Wall -Wextra -pthread -o "$out/$name" "$here/$name.c" "${driver[@]}" -ldl -lrt
done
for name in arenas warm; do
	c++ -std=c++17 -O2 -g -Wall -Wextra -pthread -o "$out/$name" "$here/$name.cc"
done
rustc -O -g -o "$out/cache" "$here/cache.rs"
javac -d "$out" "$here/Buffers.java"

# name, class of the faulty one, what its answer says, how it is started
cat >"$out/list.txt" <<'EOF'
arenas host-growth arenas.cc ./arenas
cache host-growth cache ./cache
daemons host-growth memory ./daemons
jobs host-growth workers bash jobs.sh
plugins app-leak plugin.c ./plugins
pools pool-growth pool ./pools
segments none shm_unlink ./segments
server host-growth node node server.js
threads host-growth threads.c ./threads
turns none turns.pl perl turns.pl
virtual app-leak virtual.c ./virtual
warm host-growth warm.cc ./warm
Buffers host-growth libjvm java -Xmx400m Buffers
EOF

cd "$out"
while read -r name _ _ command; do
	[ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
	for twin in faulty healthy; do
		while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
		healthy=
		[ $twin = faulty ] || healthy=healthy
		# shellcheck disable=SC2086 # words of their own
		"$gpumem" run -q --force --out "$name.$twin" -- $command "$seconds" $healthy >"$name.$twin.log" 2>&1 </dev/null &
	done
done <list.txt
wait
rm -f /dev/shm/twins-*

python3 - "$@" <<'PY'
import json, pathlib, sys

tally = {"right": 0, "open": 0, "WRONG": 0}
for line in pathlib.Path("list.txt").read_text().splitlines():
    name, want, says, _ = line.split(maxsplit=3)
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        continue
    for twin in ("faulty", "healthy"):
        run = f"{name}.{twin}"
        try:
            v = json.loads(pathlib.Path(run, "verdict.json").read_text())
        except (OSError, ValueError) as e:
            v = {"verdict": "", "summary": f"no verdict: {e}"}
        text = " ".join([v["summary"], v.get("answer", ""), v.get("next", ""), *v.get("warnings", [])])
        right = v["verdict"] == (want if twin == "faulty" else "none") and (twin == "healthy" or says in text)
        word = "right" if right else "open" if v["verdict"] == "undecided" else "WRONG"
        tally[word] += 1
        print(f"{word:5} {run:17} {v['summary']}")
print(", ".join(f"{n} {word}" for word, n in tally.items()))
sys.exit(tally["WRONG"] > 0)
PY
