#!/usr/bin/env bash
# Runs a program with the allocation server beside it and says what it did not
# free. With --runs N it runs N times and compares: what grows from run to run
# is a leak, what stays the same is not.
# Usage: run_with_memory_check.sh [--runs N] [--socket PATH] [--wait SECONDS] [--no-start] [--fail-on VERDICTS] [--] CMD ARGS…
#   --no-start   fail when no server answers, instead of starting one for the time being
#   --wait       for frees on their way after the program ended (default 2)
#   --fail-on    end with 3 for app-leak and so on, as gpumem does
# The program gets TT_ALLOC_TRACKING_ENABLED=1. Its own exit code, when it is
# not 0, is passed on. GPUMEM names the gpumem to use (default: from PATH).
set -u

gpumem=${GPUMEM:-gpumem}
runs=1
socket=/tmp/tt_allocation_server.sock
wait=2
start=yes
fail_on=

usage() {
	sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--runs | --socket | --wait | --fail-on)
		[ $# -ge 2 ] || usage
		case $1 in
		--runs) runs=$2 ;;
		--socket) socket=$2 ;;
		--wait) wait=$2 ;;
		--fail-on) fail_on=$2 ;;
		esac
		shift 2
		;;
	--no-start) start=no; shift ;;
	-h | --help) usage ;;
	--) shift; break ;;
	-*) echo "run_with_memory_check.sh: unknown flag $1" >&2; usage ;;
	*) break ;;
	esac
done
[ $# -gt 0 ] || usage
case $runs in '' | *[!0-9]* | 0) echo "run_with_memory_check.sh: --runs $runs: must be a number from 1" >&2; exit 2 ;; esac
command -v "$gpumem" >/dev/null 2>&1 || {
	echo "run_with_memory_check.sh: no gpumem on PATH; set GPUMEM to its path" >&2
	exit 1
}

dir=$(mktemp -d) || exit 1
server=
# shellcheck disable=SC2317 # it is called by trap
finish() {
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null
		wait "$server" 2>/dev/null
	fi
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

dump() { "$gpumem" dump --socket "$socket" "$@"; }

# 1. Is a server there?
if ! dump --json >"$dir/before.json" 2>"$dir/error"; then
	if [ "$start" = no ]; then
		echo "ERROR: no allocation server answers on $socket" >&2
		cat "$dir/error" >&2
		echo "Start one first: gpumem serve --socket $socket" >&2
		exit 1
	fi
	echo "starting an allocation server on $socket" >&2
	"$gpumem" serve -q --socket "$socket" >"$dir/server.log" 2>&1 &
	server=$!
	for _ in $(seq 100); do
		[ -S "$socket" ] && dump --json >"$dir/before.json" 2>"$dir/error" && break
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	if [ ! -s "$dir/before.json" ]; then
		echo "ERROR: the allocation server did not start:" >&2
		cat "$dir/server.log" "$dir/error" >&2
		exit 1
	fi
fi

# 2. Run, wait for the frees on their way, dump.
code=0
dumps=()
for run in $(seq "$runs"); do
	[ "$runs" -eq 1 ] || echo "=== Run $run of $runs ===" >&2
	TT_ALLOC_TRACKING_ENABLED=1 "$@"
	ended=$?
	[ "$code" -ne 0 ] || code=$ended
	sleep "$wait"
	if dump --json >"$dir/run$run.json" 2>"$dir/error"; then
		dumps+=("$dir/run$run.json")
	else
		echo "WARNING: Could not request buffer dump: $(cat "$dir/error")" >&2
	fi
done

# 3. What remains.
if [ "$runs" -eq 1 ]; then
	[ ${#dumps[@]} -eq 0 ] || "$gpumem" dump --since "$dir/before.json" "${dumps[0]}"
elif [ ${#dumps[@]} -ge 2 ]; then
	"$gpumem" dump --since "$dir/before.json" ${fail_on:+--fail-on "$fail_on"} "${dumps[@]}"
	judged=$?
	[ "$code" -ne 0 ] || code=$judged
else
	echo "WARNING: fewer than two dumps: nothing can be compared" >&2
fi
exit "$code"
