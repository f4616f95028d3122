package capture

import (
	"debug/elf"
	_ "embed"
)

// library is the interposer as built by scripts/build_interposer.sh.
//
//go:embed libgpumem_amd64.so
var library []byte

// What the loaders of this processor make of $LIB: on Debian and its kin, on
// Fedora, SUSE and theirs; for 32-bit programs also where they are guests. The
// folder lib is for either, see libFolder.
var (
	folders64 = [...]string{"lib/x86_64-linux-gnu", "lib64"}
	folders32 = [...]string{"lib/i386-linux-gnu", "lib32"}
)

const (
	loader64  = "/lib64/ld-linux-x86-64.so.2"
	loader32  = "/lib/ld-linux.so.2"
	machine32 = elf.EM_386
)
