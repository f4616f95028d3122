#!/usr/bin/env bash
# Makes a small static site of the README and the pages in docs/. It works offline: open OUTDIR/index.html.
# Usage: scripts/site.sh OUTDIR
# It fails when a link leads nowhere. Needs go.
set -euo pipefail
case ${1-} in -h | --help) sed -n '2,4s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
out=${1:?usage: site.sh OUTDIR}
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$root"
CGO_ENABLED=0 go run ./scripts/site . "$out"
echo "wrote $out/index.html"
