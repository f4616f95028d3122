#!/usr/bin/env bash
# Looks for known vulnerabilities in what gpumem calls, with govulncheck.
# Usage: ./scripts/vulnerable.sh [packages…]   (default ./..., for Linux, macOS and Windows)
# Fails when one is found. Where the tool or the database cannot be fetched nothing
# is checked: it says so and why, and succeeds. GOVULNCHECK names another command.
set -uo pipefail
case ${1-} in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
cd "$(dirname "$0")/.." || exit 1
# It is no tool of go.mod: its modules would become those of whoever builds gpumem.
tool=golang.org/x/vuln version=v1.9.0
[ "$#" -gt 0 ] || set -- ./...
skip() { echo "govulncheck is not run: $*" >&2; exit 0; }

if [ -n "${GOVULNCHECK:-}" ]; then
	check() { $GOVULNCHECK "$@"; }
else
	dir=$(mktemp -d) || exit 1
	trap 'rm -rf "$dir"' EXIT
	why=$(GOBIN=$dir go install "$tool/cmd/govulncheck@$version" 2>&1) ||
		skip "it cannot be fetched here: ${why##*$'\n'}"
	check() { "$dir/govulncheck" "$@"; }
fi
for system in linux darwin windows; do
	output=$(GOOS=$system CGO_ENABLED=0 check "$@" 2>&1)
	code=$?
	case $code in
	0) echo "govulncheck, $system: nothing known" >&2 ;;
	3) echo "$output" >&2 && exit 1 ;; # its code for a finding
	*)
		case $output in *"fetching vulnerabilities"*) skip "no database: ${output##*$'\n'}" ;; esac
		echo "$output" >&2 && exit 1
		;;
	esac
done
