#!/usr/bin/env bash
# Runs more native programs, faulty and healthy, each with the shared CUDA runtime and some
# with the static one, under gpumem on a machine with a real GPU and prints a table of
# verdicts and sites against the truth.
# Usage: more.sh GPUMEM OUT [seconds] [at a time]
# SOURCE names the programs: more, apps, services, engines, studios or plants, in C++, tokens
# in Rust or gateway in Go.
# CUDA_HOME is a folder with include and lib64, or include and lib as pip's packages have
# them. ONLY='name name' takes some of the programs, STATIC='name name' says which run with
# the static runtime, too. SHARED_PROGRAM and STATIC_PROGRAM are taken as they are instead
# of being built, as `more.sh --build OUT` did elsewhere.
set -u
here=$(cd "$(dirname "$0")" && pwd)
export CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
source=${SOURCE:-more}

build_one() { # OUTPUT RUNTIME, and options; without the libraries where they are missing
	local to=$1 runtime=$2 lib=$CUDA_HOME/lib64 libraries=() name found
	[ -d "$lib" ] || lib=$CUDA_HOME/lib
	for name in cublas cufft; do
		found=$(find "$lib/" -maxdepth 1 -name "lib$name.so*" | head -1)
		[ -n "$found" ] && libraries+=("$found")
	done
	runtime=$(find "$lib/" -maxdepth 1 -name "$runtime" | head -1)
	[ -n "$runtime" ] || {
		echo "no $2 in $lib"
		return 1
	}
	local flags=(-O2 -std=c++17 -Wall -I"$CUDA_HOME/include" -I"$CUDA_HOME/include/cccl")
	local link=("$runtime" "-Wl,-rpath,$lib" "-Wl,-rpath-link,$lib" -ldl -lpthread -lrt)
	c++ "${flags[@]}" -o "$to" "$here/$source.cc" "${libraries[@]}" "${link[@]}" && return
	echo "$to: without cuBLAS and cuFFT"
	c++ "${flags[@]}" -DNO_LIBRARIES -o "$to" "$here/$source.cc" "${link[@]}"
}
build_without_runtime() { # OUTPUT; programs in Rust and Go call the driver by themselves
	if [ -f "$here/$source.rs" ]; then
		rustc -O --edition 2021 -o "$1" "$here/$source.rs"
	else
		(cd "$here" && CGO_ENABLED=0 go build -o "$1" "$source.go")
	fi
}
build() {
	if [ ! -f "$here/$source.cc" ]; then
		build_without_runtime "$(realpath "$1")/${source}_shared" || echo "${source}_shared was not built"
		return
	fi
	build_one "$1/${source}_shared" 'libcudart.so*' || echo "$1/${source}_shared was not built"
	build_one "$1/${source}_static" libcudart_static.a || echo "$1/${source}_static was not built"
}
if [ "${1-}" = --build ]; then
	mkdir -p "$2"
	build "$2"
	exit
fi
gpumem=$1 out=$2 seconds=${3:-30} jobs=${4:-6}
mkdir -p "$out"
if [ -z "${SHARED_PROGRAM-}${STATIC_PROGRAM-}" ]; then
	build "$out" 2>&1 | tee "$out/build.log"
	SHARED_PROGRAM=$out/${source}_shared STATIC_PROGRAM=$out/${source}_static
fi

run_one() { # PROGRAM NAME TWIN RUN
	local args=("$2" --seconds "$seconds") limit=$((${seconds%.*} + 90))
	[ "$3" = faulty ] || args+=(--healthy)
	timeout -k 10 "$limit" "$gpumem" run -q --force --out "$out/$4" -- "$1" "${args[@]}" >"$out/$4.log" 2>&1
	echo $? >"$out/$4.code"
}

begun=$SECONDS
: >"$out/list.txt"
for kind in shared static; do
	program=$SHARED_PROGRAM
	[ "$kind" = shared ] || program=${STATIC_PROGRAM-}
	if [ "$kind" = static ] && [ ! -f "$program" ]; then continue; fi
	"$program" --list >"$out/$kind.txt" 2>"$out/$kind.err" || {
		echo "$kind: $program does not run: $(head -1 "$out/$kind.err")"
		continue
	}
	cat "$out/$kind.txt" >>"$out/list.txt"
	while read -r name verdict _; do
		some="cufft textures segment allocator buffers threads tenants lru"
		some=" ${STATIC-$some decoder workers paged handover} "
		if [ "$kind" = static ] && [[ "$some" != *" $name "* ]]; then continue; fi
		if [ -n "${ONLY-}" ] && [[ " $ONLY " != *" $name "* ]]; then continue; fi
		for twin in faulty healthy; do
			if [ "$verdict" = none ] && [ "$twin" = faulty ]; then continue; fi
			while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
			run_one "$program" "$name" "$twin" "$name.$kind.$twin" &
		done
	done <"$out/$kind.txt"
done
wait

python3 - "$out" <<'PY'
import json, pathlib, sys

out = pathlib.Path(sys.argv[1])
right = total = 0
for line in dict.fromkeys((out / "list.txt").read_text().splitlines()):
    name, verdict, site = line.split()
    for kind in ("shared", "static"):
        for twin in ("faulty", "healthy"):
            run = f"{name}.{kind}.{twin}"
            if not (out / f"{run}.code").exists():
                continue
            want = verdict if twin == "faulty" else "none"
            total += 1
            code = (out / f"{run}.code").read_text().strip()
            log = (out / f"{run}.log").read_text(errors="replace").strip().splitlines()
            try:
                v = json.loads((out / run / "verdict.json").read_text())
            except (OSError, ValueError) as e:
                print(f"WRONG {run:24} no verdict, code {code}: {e}; {log[-1:]}")
                continue
            # What grew is in the answer, also where the program gave it back before it ended.
            sites = [s["site"] for s in v.get("sites", [])[:2]] + [v.get("answer", "")]
            misses = []
            if code != "0":
                said = [l for l in log if ": error " in l]
                misses.append(f"ended with {code} {said[:1]}")
            if v["verdict"] != want:
                misses.append(f"not {want}")
            if twin == "faulty" and site != "-" and not any(s in t for s in site.split("|") for t in sites):
                misses.append(f"site {site} not in {sites}")
            right += not misses
            print(f"{'WRONG' if misses else 'right'} {run:24} {v['summary']} {'; '.join(misses)}")
print(f"{right} of {total} right")
PY
echo "took $((SECONDS - begun)) s, $seconds s each, $jobs at a time"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || true
