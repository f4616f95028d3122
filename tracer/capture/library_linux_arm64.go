package capture

import (
	"debug/elf"
	_ "embed"
)

// library is the interposer as built by scripts/build_interposer.sh.
//
//go:embed libgpumem_arm64.so
var library []byte

// What the loaders of this processor make of $LIB: on Debian and its kin, on
// Fedora, SUSE and theirs; for 32-bit programs also where they are guests. The
// folder lib is for either, see libFolder.
var (
	folders64 = [...]string{"lib/aarch64-linux-gnu", "lib64"}
	folders32 = [...]string{"lib/arm-linux-gnueabihf", "lib/arm-linux-gnueabi", "lib32"}
)

const (
	loader64  = "/lib/ld-linux-aarch64.so.1"
	loader32  = "/lib/ld-linux-armhf.so.3"
	machine32 = elf.EM_ARM
)
