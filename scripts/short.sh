#!/bin/sh
# Runs ten short healthy programs under gpumem, N times each, and prints how often each
# was accused. A start-up is no growth, on a busy machine neither.
#
#   scripts/short.sh GPUMEM [N]
set -eu
gpumem=$(realpath "$1") n=${2:-100}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work"
cat > import.py <<'P'
import asyncio, concurrent.futures, decimal, email, http.server, json, sqlite3, unittest, xml.dom
P
cat > table.py <<'P'
rows = [{"id": i, "name": str(i)} for i in range(200_000)]
print(sum(row["id"] for row in rows))
P
cat > sort.py <<'P'
import random
print(sorted(random.random() for _ in range(300_000))[0])
P
cat > text.py <<'P'
import json
text = json.dumps([{"k": i, "v": [i] * 10} for i in range(30_000)])
print(len(json.loads(text)))
P
cat > children.py <<'P'
import subprocess, sys
for _ in range(3):
    subprocess.run([sys.executable, "-c", "print(1)"], check=True)
P
cat > sleeps.py <<'P'
import time
held = bytearray(20 << 20)
time.sleep(1.2)
P
seq 1 300000 > numbers

# check NAME COMMAND... runs one program N times.
check() {
	name=$1; shift
	accused=0 open=0 i=0
	while [ "$i" -lt "$n" ]; do
		i=$((i + 1))
		"$gpumem" run -q --no-tui --out "run" -- "$@" > /dev/null 2>&1 || { echo "$name: run $i failed" >&2; exit 1; }
		class=$("$gpumem" report run --format json | sed -n 's/^ *"verdict": "\([^"]*\)".*/\1/p' | head -1)
		case $class in
		none) ;;
		undecided | '') open=$((open + 1)) ;;
		*) accused=$((accused + 1)); "$gpumem" report run >&2 ;;
		esac
		rm -rf run
	done
	printf '%-10s %5d %9d %9d\n' "$name" "$n" "$open" "$accused"
	all=$((all + accused))
}
all=0
printf '%-10s %5s %9s %9s\n' program runs undecided accused
check hello python3 -c "print('hello')"
check import python3 import.py
check table python3 table.py
check sort python3 sort.py
check text python3 text.py
check children python3 children.py
check sleeps python3 sleeps.py
check shell sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'
check gzip gzip -9 -c numbers
check unixsort sort -R numbers
[ "$all" -eq 0 ]
