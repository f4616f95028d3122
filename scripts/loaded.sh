#!/usr/bin/env bash
# loaded.sh [-t SECONDS] [N [ARGUMENT...]]: runs the tests N times (10) beside four busy
# processes and prints which tests failed how often. Arguments are those of go test, by
# default ./...; with -t no new round begins after so many seconds.
#   scripts/loaded.sh -t 900 10 -short ./tracer ./tracer/sample ./report/live ./tui ./report/metrics
set -uo pipefail
case ${1-} in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
cd "$(dirname "$0")/.." || exit 1
limit=
if [ "${1-}" = -t ]; then
	limit=${2:?"-t needs a number of seconds"}
	shift 2
fi
rounds=${1:-10}
case $rounds in *[!0-9]*) echo "loaded.sh: $rounds is no number of rounds" >&2 && exit 2 ;; esac
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- ./...

work=$(mktemp -d) && busy=() || exit 1
# shellcheck disable=SC2317 # the trap calls it
clean() {
	[ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null
	rm -rf "$work"
}
trap clean EXIT
go test -count=1 -run '^$' "$@" >/dev/null || exit 1 # builds without the load
for _ in 1 2 3 4; do
	while :; do :; done &
	busy+=($!)
done

done=0 failed=0
for ((round = 1; round <= rounds; round++)); do
	[ -z "$limit" ] || [ "$SECONDS" -lt "$limit" ] || break
	go test -count=1 "$@" >"$work/out" 2>&1 || failed=$((failed + 1))
	done=$round
	grep -E '^ *--- FAIL|^FAIL[[:space:]]|^panic:' "$work/out" >>"$work/all"
	# What a failure printed is of use only whole.
	! grep -q -E '^(--- )?FAIL|^panic:' "$work/out" || sed "s/^/round $round: /" "$work/out" >&2
	echo "round $round of $rounds: $failed failed so far, $SECONDS s" >&2
done
echo "$done rounds beside four busy processes, $failed with failures"
if [ -s "$work/all" ]; then
	sed -E 's/ \([0-9.]+s\)$//; s/\t[0-9.]+s$//' "$work/all" | sort | uniq -c | sort -rn
fi
[ "$failed" -eq 0 ]
