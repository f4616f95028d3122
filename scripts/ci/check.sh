#!/usr/bin/env bash
# Runs a program under gpumem in CI: keeps the run folder, writes a summary and
# reports for the CI system, and ends with the program's exit code, or with
# that of the verdict (3 app-leak, 4 pool-growth, 5 driver-growth, 6 host-growth,
# 7 undecided) when --fail-on names it.
# Usage: check.sh [--out DIR] [--fail-on VERDICTS] [--base DIR] [--] CMD ARGS…
#   --out      the run folder (default gpumem-run); one that exists is overwritten
#   --fail-on  verdicts that fail the job (default any; none: only the program's own code)
#   --base     run folder of an earlier run: the summary says what changed
# In DIR beside the run: junit.xml, gpumem.sarif, metrics.txt, summary.md. The
# summary goes to GITHUB_STEP_SUMMARY, the outputs folder, verdict and exit-code
# to GITHUB_OUTPUT, where those are set. GPUMEM names the gpumem to use (default:
# from PATH), GPUMEM_FLAGS more flags of gpumem run, parted by blanks.
set -u

gpumem=${GPUMEM:-gpumem}
out="gpumem-run"
fail_on=any
base=

usage() {
	sed -n '2,14s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--out | --fail-on | --base)
		[ $# -ge 2 ] || usage
		case $1 in
		--out) out=$2 ;;
		--fail-on) fail_on=$2 ;;
		--base) base=$2 ;;
		esac
		shift 2
		;;
	-h | --help) usage ;;
	--) shift; break ;;
	-*) echo "check.sh: unknown flag $1" >&2; usage ;;
	*) break ;;
	esac
done
[ $# -gt 0 ] || usage
if ! command -v "$gpumem" >/dev/null 2>&1; then
	echo "check.sh: $gpumem is not there; install gpumem before, or name it in GPUMEM" >&2
	exit 127
fi

flags=(--no-tui --force --out "$out")
if [ "$fail_on" != none ]; then
	flags+=(--fail-on "$fail_on")
fi
read -r -a more <<<"${GPUMEM_FLAGS:-}"
"$gpumem" run "${flags[@]}" ${more[@]+"${more[@]}"} -- "$@"
code=$?
if [ ! -f "$out/run.json" ]; then
	exit "$code" # gpumem has said why there is no run
fi

"$gpumem" report "$out" --format markdown -o "$out/summary.md" --force
for report in junit:junit.xml sarif:gpumem.sarif openmetrics:metrics.txt; do
	"$gpumem" export "$out" --to "${report%%:*}" -o "$out/${report#*:}" --force ||
		echo "check.sh: ${report#*:} is missing" >&2
done
if [ -n "$base" ]; then
	{
		echo
		"$gpumem" diff "$base" "$out" --format markdown || echo "The earlier run $base could not be compared."
	} >>"$out/summary.md"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
	cat "$out/summary.md" >>"$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
	verdict=$(sed -n 's/^gpumem_verdict{.*verdict="\([a-z-]*\)"} 1$/\1/p' "$out/metrics.txt")
	{
		echo "folder=$out"
		echo "verdict=$verdict"
		echo "exit-code=$code"
	} >>"$GITHUB_OUTPUT"
fi
exit "$code"
