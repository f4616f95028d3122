#!/usr/bin/env bash
# Whether gpumem tells the clients of NVIDIA's multi-process service (MPS) apart:
# starts a service of its own, which leaves the GPU's settings as they are, two
# programs that hold 300 MiB each, and a third under gpumem that leaks.
# Usage: mps.sh GPUMEM OUT
set -u
gpumem=$(realpath "$1") out=$2
here=$(dirname "$0")
mkdir -p "$out"
pipes=$(mktemp -d)
export CUDA_MPS_PIPE_DIRECTORY=$pipes CUDA_MPS_LOG_DIRECTORY=$pipes
nvidia-cuda-mps-control -d || exit 1
trap 'echo quit | nvidia-cuda-mps-control; rm -rf "$pipes"' EXIT

hold='import time, torch
x = torch.zeros(300 << 20, dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
time.sleep(15)'
python3 -c "$hold" &
first=$!
python3 -c "$hold" &
second=$!
sleep 9
nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader | sort
"$gpumem" diagnose --json >"$out/diagnose.json"
"$gpumem" diagnose >"$out/diagnose.txt"
grep -E "^ +($first|$second) |MPS|not charged" "$out/diagnose.txt"
"$gpumem" run -q --force --out "$out/run" -- python3 "$here/zoo.py" torch_append --seconds 8 >"$out/run.log" 2>&1
sed -n 1,2p "$out/run.log"
wait "$first" "$second"
