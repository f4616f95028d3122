# shellcheck shell=bash
# What wheel.sh and release.sh have in common; it is read by them, from the root.

# version is that of the source.
version() { sed -n 's/^const release = "\(.*\)"$/\1/p' cmd/gpumem/version.go; }

# commit is what version.go keeps of where a program comes from, empty outside of git.
commit() {
	local at
	at=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format='%H %cd' 2>/dev/null) || return 0
	if [ -n "$(git status --porcelain 2>/dev/null)" ]; then at+=" changes"; fi
	printf '%s' "$at"
}

# build OS ARCH KIND FILE builds one program. nodl leaves out everything that loads a
# library at run time: static programs cannot, and Windows has no driver that is read.
# It is told the commit, so that a worktree of git and a clone give the same bytes.
build() {
	local tags=()
	if [ "$3" = static ] || [ "$1" = windows ]; then tags=(-tags nodl); fi
	echo "build $1/$2${3:+ $3}" >&2
	GOOS=$1 GOARCH=$2 CGO_ENABLED=0 go build -trimpath -buildvcs=false \
		-ldflags "-s -w -X 'main.builtFrom=$(commit)'" \
		${tags[@]+"${tags[@]}"} -o "$4" ./cmd/gpumem
}

checksums() { # of files
	if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

# formula DIR VERSION prints the Homebrew formula for the archives in the folder. It fails
# where one of them is missing: a formula for some systems would break the others.
formula() {
	local text name sum
	text=$(sed "s/@VERSION@/$2/g" packaging/homebrew/gpumem.rb.in)
	while read -r name; do
		[ -f "$1/$name" ] || return 1
		sum=$(checksums "$1/$name")
		text=${text//"@SHA256:$name@"/${sum%% *}}
	done < <(sed -n 's/.*@SHA256:\(.*\)@.*/\1/p' <<<"$text")
	printf '%s\n' "$text"
}

# Packages have the time of the commit in them, so that the next build has it too.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
export SOURCE_DATE_EPOCH
