#!/usr/bin/env bash
# Runs programs with a known truth (programs.cc) under gpumem on a machine that needs
# no GPU, and prints a table of verdicts against the truth. It ends with 1 when one is
# wrong or open.
# Usage: scripts/host/verify.sh GPUMEM OUT [seconds] [at a time] [NAME…]
set -euo pipefail
case ${1-} in '' | -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
gpumem=$(realpath "$1") out=$2 seconds=${3:-22} jobs=${4:-5}
shift $(($# > 4 ? 4 : $#))
mkdir -p "$out"
out=$(realpath "$out")
cc -O2 -shared -fPIC -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 -o "$out/libcuda.so.1" \
	"$here/../../tracer/capture/testdata/libcuda.c"
c++ -std=c++17 -O2 -g -Wall -Wextra -pthread -o "$out/programs" "$here/programs.cc" "$out/libcuda.so.1" \
	-Wl,-rpath,"\$ORIGIN"
"$out/programs" --list >"$out/list.txt"

cd "$out"
while read -r name _; do
	[ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
	"$gpumem" run -q --force --out "$name" -- ./programs "$name" "$seconds" >"$name.log" 2>&1 </dev/null &
done <list.txt
wait

python3 - "$@" <<'PY'
import json, pathlib, sys

right = total = 0
for line in pathlib.Path("list.txt").read_text().splitlines():
    name, want = line.split()
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        continue
    total += 1
    try:
        v = json.loads(pathlib.Path(name, "verdict.json").read_text())
    except (OSError, ValueError) as e:
        print(f"WRONG {name:20} no verdict: {e}")
        continue
    right += v["verdict"] == want
    print(f"{'right' if v['verdict'] == want else 'WRONG'} {name:20} {v['summary']}")
print(f"{right} of {total} right")
sys.exit(right != total)
PY
