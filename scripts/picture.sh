#!/usr/bin/env bash
# Draws what a real run shows: the live screen as an SVG, or the report as a PNG.
# Usage: scripts/picture.sh OUT.svg [gpumem run arguments…]
#        scripts/picture.sh OUT.png [gpumem run arguments…]
# The screen is by default that of nqueens --fault no-autorelease-pool, once its
# verdict has turned; the report that of python docs/examples/leak.py, where python
# is the one that GPUMEM_TEST_TORCH names. Needs go, and tmux (3.2 or newer) or chromium.
set -euo pipefail
case ${1-} in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: picture.sh OUT.svg|OUT.png [gpumem run arguments…]}
shift
need() { command -v "$1" >/dev/null || { echo "picture.sh: $1 is not installed" >&2; exit 1; }; }

dir=$(mktemp -d)
server="$dir/s"
trap 'tmux -S "$server" kill-server 2>/dev/null || true; rm -rf "$dir"' EXIT
(cd "$root" && CGO_ENABLED=0 go build -o "$dir/gpumem" ./cmd/gpumem && CGO_ENABLED=0 go build -o "$dir/picture" ./scripts/picture)

# draw_report takes the first page of report.html, as a browser shows it.
draw_report() {
	need chromium
	[ $# -gt 0 ] || set -- "${GPUMEM_TEST_TORCH:-python3}" "$root/docs/examples/leak.py"
	# A program that fails has its report too.
	(cd "$dir" && ./gpumem run -q --out run "$@") || true
	timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$dir/chromium" \
		--window-size=1000,1400 --screenshot="$dir/report.png" "file://$dir/run/report.html" >"$dir/log" 2>&1 ||
		{ cat "$dir/log" >&2; exit 1; }
	cp "$dir/report.png" "$out"
}

# draw_screen takes what the terminal shows when the verdict has turned and the chart has a shape.
draw_screen() {
	need tmux
	[ $# -gt 0 ] || set -- nqueens --fault no-autorelease-pool
	printf 'set -g default-terminal "tmux-256color"\nset -as terminal-features ",*:RGB"\n' >"$dir/conf"
	LANG=C.UTF-8 COLORTERM=truecolor tmux -S "$server" -f "$dir/conf" -u new-session -d -x 132 -y 40 \
		"cd '$dir' && COLORTERM=truecolor LANG=C.UTF-8 ./gpumem run --stay --out run $(printf '%q ' "$@")"
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
}

case $out in
*.png) draw_report "$@" ;;
*.svg) draw_screen "$@" ;;
*) echo "picture.sh: $out: end it with .svg for the screen or .png for the report" >&2; exit 2 ;;
esac
echo "wrote $out"
