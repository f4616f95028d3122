#!/usr/bin/env bash
# Draws the live screen of a real run as an SVG.
# Usage: scripts/picture.sh OUT.svg [gpumem run arguments…]
# By default: nqueens --fault no-autorelease-pool, once its verdict has turned.
# Needs tmux (3.2 or newer) and go.
set -euo pipefail
case ${1-} in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: picture.sh OUT.svg [gpumem run arguments…]}
shift
[ $# -gt 0 ] || set -- nqueens --fault no-autorelease-pool
command -v tmux >/dev/null || { echo "picture.sh: tmux is not installed" >&2; exit 1; }

dir=$(mktemp -d)
server="$dir/s"
trap 'tmux -S "$server" kill-server 2>/dev/null || true; rm -rf "$dir"' EXIT
(cd "$root" && CGO_ENABLED=0 go build -o "$dir/gpumem" ./cmd/gpumem && CGO_ENABLED=0 go build -o "$dir/picture" ./scripts/picture)

printf 'set -g default-terminal "tmux-256color"\nset -as terminal-features ",*:RGB"\n' >"$dir/conf"
LANG=C.UTF-8 COLORTERM=truecolor tmux -S "$server" -f "$dir/conf" -u new-session -d -x 132 -y 40 \
	"cd '$dir' && COLORTERM=truecolor LANG=C.UTF-8 ./gpumem run --stay --out run $(printf '%q ' "$@")"

# The picture is taken when the verdict has turned and the chart has a shape.
for _ in $(seq 200); do
	sleep 0.1
	if tmux -S "$server" capture-pane -p | grep -q 'turned: no verdict →'; then
		break
	fi
done
sleep 1.5
tmux -S "$server" capture-pane -e -p >"$dir/screen"
grep -q 'turned: no verdict →' "$dir/screen" || { echo "picture.sh: no verdict within 20 s" >&2; exit 1; }
"$dir/picture" <"$dir/screen" >"$out"
tmux -S "$server" send-keys q
echo "wrote $out"
