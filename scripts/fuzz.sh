#!/usr/bin/env bash
# Fuzzes every fuzz target of the tree and checks that the fuzzing was worth it.
# Usage: scripts/fuzz.sh [SECONDS] [packages…]     (default 60 s a target, ./...)
#
# Prints a table: target, seeds, executions, executions a minute. Fails when a
# target finds something, has no seed corpus (f.Add or testdata/fuzz), or makes
# fewer than 10,000 executions a minute, told from what the slice had. Before it
# fails for that, it is given one slice four times as long: a busy machine is no
# defect. Inputs that fail are left in testdata/fuzz of the package, as go does.
set -uo pipefail
case ${1-} in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
cd "$(dirname "$0")/.." || exit 1
least=10000 # executions a minute
slice=60
if [[ ${1-} =~ ^[0-9]+$ ]]; then
	slice=$1
	shift
fi
[ "$slice" -ge 1 ] || { echo "fuzz: a slice must have 1 s or more" >&2; exit 2; }
export CGO_ENABLED=0

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0 targets=0 started=$SECONDS

# packages_with_targets prints folders whose tests, as they are built here, have
# a fuzz target: linking all others to ask them would take minutes.
packages_with_targets() {
	# shellcheck disable=SC2016 # a template of Go's, not of the shell
	go list -f '{{$d := .Dir}}{{range .TestGoFiles}}{{$d}}/{{.}}
{{end}}{{range .XTestGoFiles}}{{$d}}/{{.}}
{{end}}' "$@" | sed '/^$/d' | xargs -d '\n' grep -lE '^func Fuzz[A-Za-z0-9_]*\(' | xargs -d '\n' -n 1 dirname | sort -u
}

# run BINARY TARGET SECONDS fuzzes once. It sets output, code, seeds, executions
# and the seconds that they took.
run() {
	local last
	rm -rf "$dir/cache"
	# Minimising one input may take the whole slice: an input that is somewhat
	# too long does no harm.
	output=$(timeout -k 10 $((3 * $3 + 120)) "$1" -test.run='^$' -test.fuzz="^$2\$" -test.fuzztime="${3}s" \
		-test.fuzzminimizetime=1x -test.fuzzcachedir="$dir/cache" 2>&1)
	code=$?
	seeds=$(sed -n 's,.*gathering baseline coverage: 0/\([0-9]*\) completed.*,\1,p' <<<"$output" | head -n 1)
	if grep -q 'starting with empty corpus' <<<"$output"; then seeds=0; fi
	last=$(grep -E 'execs: [0-9]+' <<<"$output" | tail -n 1)
	executions=$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' <<<"$last")
	took=$(sed -n 's/.*elapsed: \([0-9hms]*\),.*/\1/p' <<<"$last" | sed 's/h/*3600+/; s/m/*60+/; s/s$//')
	took=$((${took:-0}))
	if [ "$took" -lt 1 ]; then took=$3; fi
	rate=$((${executions:-0} * 60 / took))
}

# fuzz BINARY PACKAGE TARGET fuzzes, again for longer where that may help, and
# prints a line of the table.
fuzz() {
	local word=ok
	targets=$((targets + 1))
	run "$1" "$3" "$slice"
	if [ "$code" -eq 0 ] && [ "$rate" -lt "$least" ]; then
		run "$1" "$3" $((4 * slice))
	fi
	# Go before 1.27 may take the end of the time for a failure of the target
	# (go.dev/issue/75804): without a failing input it found nothing.
	if [ "$code" -ne 0 ] && ! grep -q 'Failing input written' <<<"$output" &&
		[ "$(grep -A1 -- '^--- FAIL' <<<"$output" | tail -n 1)" = "    context deadline exceeded" ]; then
		code=0
	fi
	if [ "$code" -ne 0 ]; then
		word=FAILED
	elif [ "${seeds:-0}" -eq 0 ]; then
		word='NO SEEDS'
	elif [ "$rate" -lt "$least" ]; then
		word='TOO SLOW'
	fi
	printf '%-58s %5s %10s %10s  %s\n' "$2 $3" "${seeds:-?}" "${executions:-0}" "$rate" "$word"
	if [ "$word" != ok ]; then
		bad=$((bad + 1))
		if [ "$code" -ne 0 ]; then tail -n 40 <<<"$output"; fi
	fi
}

printf '%-58s %5s %10s %10s\n' target seeds executions 'a minute'
folders=$(packages_with_targets "${@:-./...}")
[ -n "$folders" ] || { echo "fuzz: no fuzz target was found" >&2; exit 1; }
while read -r folder; do
	name=${folder#"$PWD"/}
	# Built once with the instruments, not once a target as go test -fuzz does.
	if ! (cd "$folder" && go test -c -fuzz=. -o "$dir/fuzz.test" .); then
		echo "fuzz: $name does not build" >&2
		bad=$((bad + 1))
		continue
	fi
	while read -r target; do
		fuzz_in() { cd "$folder" || return; fuzz "$dir/fuzz.test" "$name" "$target"; cd - >/dev/null || return; }
		fuzz_in </dev/null
	done < <("$dir/fuzz.test" -test.list '^Fuzz')
done <<<"$folders"
echo "fuzz: $targets targets, $bad bad, $((SECONDS - started)) s"
[ "$bad" -eq 0 ]
