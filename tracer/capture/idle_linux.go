//go:build amd64 || arm64

package capture

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// idleLibrary is a shared library that does nothing, for 32-bit programs, which
// no CUDA driver serves: their loader complains about a library of the wrong
// class. Its one function tells the loader that there is nothing to audit.
func idleLibrary(machine elf.Machine) []byte {
	const (
		codeAt    = 0x100
		stringsAt = 0x110
		symbolsAt = 0x140
		hashAt    = 0x160
		dynamicAt = 0x180
		end       = dynamicAt + 6*8
	)
	code, flags := []byte{0x31, 0xc0, 0xc3}, uint32(0) // xor eax, eax; ret
	if machine == elf.EM_ARM {
		code = []byte{0x00, 0x00, 0xa0, 0xe3, 0x1e, 0xff, 0x2f, 0xe1} // mov r0, #0; bx lr
		flags = 0x05000000                                            // EABI 5
	}
	names := []byte("\x00la_version\x00libgpumem.so\x00")
	out := make([]byte, end)
	put := func(at int, parts ...any) {
		var b bytes.Buffer
		for _, p := range parts {
			binary.Write(&b, binary.LittleEndian, p) // a Buffer takes everything
		}
		copy(out[at:], b.Bytes())
	}
	header := elf.Header32{
		Type: uint16(elf.ET_DYN), Machine: uint16(machine), Version: 1, Flags: flags,
		Phoff: 52, Ehsize: 52, Phentsize: 32, Phnum: 3, Shentsize: 40,
	}
	copy(header.Ident[:], elf.ELFMAG+string([]byte{byte(elf.ELFCLASS32), byte(elf.ELFDATA2LSB), 1}))
	read, write := uint32(elf.PF_R), uint32(elf.PF_R|elf.PF_W)
	put(0, header,
		elf.Prog32{
			Type: uint32(elf.PT_LOAD), Filesz: end, Memsz: end, Flags: write | uint32(elf.PF_X), Align: 4096,
		},
		elf.Prog32{
			Type: uint32(elf.PT_DYNAMIC), Off: dynamicAt, Vaddr: dynamicAt, Paddr: dynamicAt,
			Filesz: end - dynamicAt, Memsz: end - dynamicAt, Flags: read, Align: 4,
		},
		elf.Prog32{Type: uint32(elf.PT_GNU_STACK), Flags: write, Align: 16})
	put(codeAt, code)
	put(stringsAt, names)
	put(symbolsAt, elf.Sym32{}, elf.Sym32{
		Name: 1, Value: codeAt, Size: uint32(len(code)),
		Info: elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC), Shndx: 1,
	})
	put(hashAt, [...]uint32{1, 2, 1, 0, 0}) // one bucket, two symbols
	put(dynamicAt,
		elf.Dyn32{Tag: int32(elf.DT_HASH), Val: hashAt},
		elf.Dyn32{Tag: int32(elf.DT_STRTAB), Val: stringsAt},
		elf.Dyn32{Tag: int32(elf.DT_SYMTAB), Val: symbolsAt},
		elf.Dyn32{Tag: int32(elf.DT_STRSZ), Val: uint32(len(names))},
		elf.Dyn32{Tag: int32(elf.DT_SYMENT), Val: elf.Sym32Size})
	return out
}
