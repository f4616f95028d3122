#!/usr/bin/env bash
# Checks the driver-level capture against NVIDIA's driver on this machine: all
# modes, and PyTorch's segments when PyTorch is installed.
# Usage: scripts/verify_capture_gpu.sh [TEST_BINARY]
# Without Go on the GPU machine, build the binary elsewhere
# (CGO_ENABLED=0 go test -tags gpu -c -o capture.test ./tracer/capture) and name it.
set -euo pipefail
case ${1-} in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
pattern='TheRealDriver|PyTorchsSegments'
if [ $# -gt 0 ]; then
	exec "$1" -test.run "$pattern" -test.v
fi
cd "$(dirname "$0")/.."
exec go test -tags gpu -count=1 -v -run "$pattern" ./tracer/capture
