#!/usr/bin/env bash
# Builds gpumem for every system it is released for, checks what each program was
# linked with, and packs it: an archive with manual pages and completions, a wheel
# for Python, deb and rpm, a bill of materials, a Homebrew formula, a Dockerfile.
# Usage: scripts/release.sh [--out DIR] [--programs-only] [TARGET…]
#        (default out dist, all targets)
#
#   linux-amd64, linux-arm64                 load GPU drivers; need glibc
#   linux-amd64-static, linux-arm64-static   load nothing, run on any Linux; NVIDIA's
#                                            figures come from nvidia-smi, if it is there
#   darwin-arm64, darwin-amd64               load Metal and IOKit of macOS
#   windows-amd64, windows-arm64             load nothing: without GPU drivers
#
# All are built without cgo, so any machine with Go builds all of them, and the
# same commit with the same Go gives the same bytes. deb and rpm need nfpm, which
# go run fetches; where it cannot be had, they are left out with a warning.
set -euo pipefail
cd "$(dirname "$0")/.."
. ./scripts/packages.sh
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4

all="linux-amd64 linux-arm64 linux-amd64-static linux-arm64-static darwin-arm64 darwin-amd64 windows-amd64 windows-arm64"
out=dist
pack=yes
targets=()
while [ $# -gt 0 ]; do
	case "$1" in
	--out)
		[ $# -ge 2 ] || { echo "release: --out takes a folder" >&2; exit 2; }
		out=$2
		shift
		;;
	--programs-only) pack=no ;;
	-h | --help)
		sed -n '2,18s/^# \{0,1\}//p' "$0"
		exit 0
		;;
	*)
		case " $all " in
		*" $1 "*) targets+=("$1") ;;
		*)
			echo "release: no target $1; one of: $all" >&2
			exit 2
			;;
		esac
		;;
	esac
	shift
done
[ ${#targets[@]} -gt 0 ] || read -ra targets <<<"$all"

mkdir -p "$out"
out=$(cd "$out" && pwd)
files=()
for target in "${targets[@]}"; do
	IFS=- read -r os arch kind <<<"$target"
	file=gpumem-$target
	if [ "$os" = windows ]; then file+=.exe; fi
	build "$os" "$arch" "$kind" "$out/$file"
	files+=("$file")
done

go run ./scripts/linked "${files[@]/#/$out/}"
cp LICENSE "$out/LICENSE"
programs=("${files[@]}")
files+=(LICENSE)

# stage is what goes into packages beside the program.
stage() {
	mkdir -p "$stage/completions" "$stage/man" "$stage/pages"
	CGO_ENABLED=0 go build -trimpath -tags man -o "$stage/gpumem-man" ./cmd/gpumem
	"$stage/gpumem-man" man "$stage/pages"
	"$stage/gpumem-man" completion bash >"$stage/completions/gpumem.bash"
	"$stage/gpumem-man" completion fish >"$stage/completions/gpumem.fish"
	"$stage/gpumem-man" completion zsh >"$stage/completions/_gpumem"
	local page
	for page in "$stage"/pages/*.1; do gzip -9nc "$page" >"$stage/man/$(basename "$page").gz"; done
	gzip -9nc CHANGELOG.md >"$stage/changelog.gz"
}

# archive TARGET PROGRAM packs a program with its manual pages and completions.
archive() {
	local name=gpumem-$version-$1 ending=.tar.gz program=gpumem
	case $1 in windows-*) ending=.zip program=gpumem.exe ;; esac
	local dir=$stage/$name
	mkdir -p "$dir/man"
	cp "$out/$2" "$dir/$program"
	chmod 755 "$dir/$program"
	cp LICENSE README.md CHANGELOG.md "$dir"
	cp "$stage"/pages/*.1 "$dir/man"
	cp -r "$stage/completions" "$dir/completions"
	go run ./scripts/archive "$out/$name$ending" "$dir"
	files+=("$name$ending")
}

# system_packages ARCH PROGRAM makes deb and rpm of the program that loads drivers.
system_packages() {
	local kind file
	for kind in deb rpm; do
		case $kind/$1 in
		deb/*) file=gpumem_${version}_$1.deb ;;
		rpm/amd64) file=gpumem-$version-1.x86_64.rpm ;;
		rpm/arm64) file=gpumem-$version-1.aarch64.rpm ;;
		esac
		NFPM_ARCH=$1 NFPM_VERSION=$version NFPM_PROGRAM=$out/$2 NFPM_STAGE=$stage \
			go run "$nfpm" package --config packaging/nfpm.yaml --packager "$kind" --target "$out/$file" >&2
		files+=("$file")
	done
}

if [ "$pack" = yes ]; then
	version=$(version)
	stage=$(mktemp -d)
	trap 'rm -rf "$stage"' EXIT
	stage
	has_nfpm=yes
	go run "$nfpm" --version >/dev/null 2>&1 || has_nfpm=no
	[ "$has_nfpm" = yes ] || echo "release: nfpm cannot be fetched here: no deb, no rpm" >&2
	for i in "${!targets[@]}"; do
		target=${targets[$i]} file=${programs[$i]}
		echo "pack $target" >&2
		archive "$target" "$file"
		go run ./scripts/sbom -version "$version" "$out/$file" >"$out/$file.cdx.json"
		files+=("$file.cdx.json")
		case $target in
		linux-amd64 | linux-arm64) [ "$has_nfpm" = no ] || system_packages "${target#linux-}" "$file" ;;
		esac
	done
	while read -r wheel; do files+=("$(basename "$wheel")"); done \
		< <(./scripts/wheel.sh "$out" --programs "${programs[@]/#/$out/}")
	if formula "$out" "$version" >"$stage/gpumem.rb"; then
		cp "$stage/gpumem.rb" "$out/gpumem.rb"
		files+=(gpumem.rb)
	fi
	cp packaging/docker/Dockerfile "$out/Dockerfile"
	files+=(Dockerfile)
fi
(cd "$out" && checksums "${files[@]}" >SHA256SUMS)
echo "written: $out" >&2
