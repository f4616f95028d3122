#!/usr/bin/env bash
# Runs native programs (native.c), faulty and healthy, each with the shared and the
# static CUDA runtime, under gpumem on a machine with a real GPU and prints a table
# of verdicts and sites against the truth.
# Usage: native.sh GPUMEM OUT [seconds] [at a time]
# CUDART is a folder with libcudart.so.12 and libcudart_static.a, as pip's
# nvidia-cuda-runtime-cu12 has them in nvidia/cuda_runtime/lib. SHARED and STATIC name
# programs that were built elsewhere, by `native.sh --build OUT`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# Programs in C++, Rust and Go that call the driver themselves; they are linked to the
# stand-in for it that the tests have, and run with the real one.
build_drivers() {
	local stubs=$here/../../tracer/capture/testdata stub
	stub=$(mktemp -d)
	cc -O2 -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$stub/libcuda.so.1" "$stubs/libcuda.c" &&
		c++ -O2 -o "$1/fault_cc" "$stubs/fault.cc" "$stub/libcuda.so.1" &&
		rustc -O -o "$1/fault_rust" "$stubs/fault.rs" -C "link-arg=$stub/libcuda.so.1" &&
		CGO_ENABLED=0 go build -o "$1/fault_go" "$stubs/fault_go/main.go"
	local code=$?
	rm -r "$stub"
	return $code
}
build() {
	local flags=(-O2 -std=gnu11 -Wall -Wextra -fomit-frame-pointer)
	cc "${flags[@]}" -o "$1/native_shared" "$here/native.c" "$CUDART/libcudart.so.12" -Wl,-rpath,"\$ORIGIN:$CUDART" &&
		cc "${flags[@]}" -o "$1/native_static" "$here/native.c" "$CUDART/libcudart_static.a" -ldl -lpthread -lrt &&
		cc "${flags[@]}" -o "$1/cost" "$here/cost.c" "$CUDART/libcudart.so.12" -Wl,-rpath,"\$ORIGIN:$CUDART" &&
		build_drivers "$1"
}
if [ "${1-}" = --build ]; then
	build "$2"
	exit
fi
gpumem=$1 out=$2 seconds=${3:-30} jobs=${4:-6}
mkdir -p "$out"
if [ -z "${SHARED-}" ]; then
	build "$out" || exit 1
	SHARED=$out/native_shared STATIC=$out/native_static
fi

run_one() { # PROGRAM NAME TWIN RUN
	local args=("$2" --seconds "$seconds")
	[ "$3" = faulty ] || args+=(--healthy)
	case $1 in */fault_*) # they take how many steps of 5 ms
		args=("$2" --)
		[ "$3" = faulty ] && args=("$2")
		export FAULT_STEPS=$((${seconds%.*} * 190))
		;;
	esac
	"$gpumem" run -q --force --out "$out/$4" -- "$1" "${args[@]}" >"$out/$4.log" 2>&1
	echo $? >"$out/$4.code"
}

"$SHARED" --list >"$out/list.txt"
while read -r name verdict _; do
	for kind in shared static; do
		program=$SHARED
		[ "$kind" = shared ] || program=$STATIC
		for twin in faulty healthy; do
			if [ "$verdict" = none ] && [ "$twin" = faulty ]; then continue; fi
			while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
			run_one "$program" "$name" "$twin" "$name.$kind.$twin" &
		done
	done
done <"$out/list.txt"
beside=$(dirname "$SHARED")
for kind in cc rust go; do
	[ -x "$beside/fault_$kind" ] || continue
	for twin in faulty healthy; do
		while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
		run_one "$beside/fault_$kind" kept "$twin" "kept.$kind.$twin" &
	done
done
echo "kept app-leak remember" >>"$out/list.txt"
wait

python3 - "$out" <<'PY'
import json, pathlib, sys

out = pathlib.Path(sys.argv[1])
right = total = 0
for line in (out / "list.txt").read_text().splitlines():
    name, verdict, site = line.split()
    for kind in ("shared", "static", "cc", "rust", "go"):
        for twin in ("faulty", "healthy"):
            run = f"{name}.{kind}.{twin}"
            if not (out / f"{run}.code").exists():
                continue
            want = verdict if twin == "faulty" else "none"
            total += 1
            try:
                v = json.loads((out / run / "verdict.json").read_text())
            except (OSError, ValueError) as e:
                print(f"WRONG {run:24} no verdict: {e}")
                continue
            # What grew is in the answer, also where the program gave it back before it ended.
            sites = [s["site"] for s in v.get("sites", [])[:2]] + [v.get("answer", "")]
            misses = []
            if v["verdict"] != want:
                misses.append(f"not {want}")
            if twin == "faulty" and site != "-" and not any(site in s for s in sites):
                misses.append(f"site {site} not in {sites}")
            right += not misses
            print(f"{'WRONG' if misses else 'right'} {run:24} {v['summary']} {'; '.join(misses)}")
print(f"{right} of {total} right")
PY
