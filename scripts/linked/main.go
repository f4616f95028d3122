// Command linked says what program files were linked with and how they were
// built, and refuses those that are not as a release must be: built without
// cgo, linked with libraries of the system only, and with none at all where the
// build tag nodl promises that.
package main

import (
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "linked: takes program files")
		os.Exit(2)
	}
	failed := false
	for _, path := range os.Args[1:] {
		p, err := inspect(path)
		if err == nil {
			fmt.Printf("%-30s %s\n", filepath.Base(path), p)
			err = p.check()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "linked: %s: %v\n", filepath.Base(path), err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// program is what a file says of itself.
type program struct {
	os, arch, tags, cgo string // of the build
	interpreter         string // the dynamic loader of an ELF file
	libraries           []string
	oldest              string // macOS that a Mach-O file asks for
	signed              bool   // a Mach-O file has a signature, if only the linker's own
}

func (p program) String() string {
	with := "nothing: static"
	if len(p.libraries) > 0 {
		with = strings.Join(p.libraries, ", ")
	}
	if p.interpreter != "" {
		with += ", by " + p.interpreter
	}
	text := fmt.Sprintf("%s/%s  linked with %s", p.os, p.arch, with)
	if p.oldest != "" {
		text += "; from macOS " + p.oldest
	}
	if p.tags != "" {
		text += "; tags " + p.tags
	}
	return text
}

func inspect(path string) (program, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return program{}, err
	}
	var p program
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS":
			p.os = s.Value
		case "GOARCH":
			p.arch = s.Value
		case "CGO_ENABLED":
			p.cgo = s.Value
		case "-tags":
			p.tags = s.Value
		}
	}
	switch p.os {
	case "linux":
		err = p.readELF(path)
	case "darwin":
		err = p.readMachO(path)
	case "windows":
		err = p.readPE(path)
	default:
		err = fmt.Errorf("no release is made for %s", p.os)
	}
	return p, err
}

func (p *program) readELF(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, s := range f.Progs {
		if s.Type != elf.PT_INTERP || s.Filesz > 4096 {
			continue
		}
		name := make([]byte, s.Filesz)
		if _, err := s.ReadAt(name, 0); err != nil {
			return err
		}
		p.interpreter = strings.TrimRight(string(name), "\x00")
	}
	p.libraries, err = f.ImportedLibraries()
	return err
}

func (p *program) readMachO(path string) error {
	f, err := macho.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, l := range f.Loads {
		// The commands as they stand in the file (Apple, mach-o/loader.h).
		const buildVersion, codeSignature = 0x32, 0x1d
		raw := l.Raw()
		if len(raw) < 16 {
			continue
		}
		switch f.ByteOrder.Uint32(raw) {
		case buildVersion:
			v := f.ByteOrder.Uint32(raw[12:])
			p.oldest = fmt.Sprintf("%d.%d", v>>16, v>>8&0xff)
		case codeSignature:
			p.signed = true
		}
	}
	p.libraries, err = f.ImportedLibraries()
	return err
}

func (p *program) readPE(path string) error {
	f, err := pe.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	symbols, err := f.ImportedSymbols() // ImportedLibraries of debug/pe is empty always
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if _, library, ok := strings.Cut(s, ":"); ok && !slices.Contains(p.libraries, library) {
			p.libraries = append(p.libraries, library)
		}
	}
	slices.Sort(p.libraries)
	return nil
}

// check refuses what must not be released.
func (p program) check() error {
	var wrong []error
	if p.cgo != "0" {
		wrong = append(wrong, errors.New("was built with cgo"))
	}
	nodl := slices.Contains(strings.Split(p.tags, ","), "nodl")
	switch {
	case p.os == "linux" && nodl && (p.interpreter != "" || len(p.libraries) > 0):
		wrong = append(wrong,
			errors.New("is not static: something below still loads libraries in spite of the tag nodl"))
	case p.os == "linux" && !nodl && p.interpreter == "":
		wrong = append(wrong, errors.New("is static: it could not load a GPU driver"))
	case p.os == "darwin" && p.arch == "arm64" && !p.signed:
		wrong = append(wrong, errors.New("has no signature, not even the linker's: macOS would not start it"))
	case p.os == "windows" && !nodl:
		wrong = append(wrong, errors.New("lacks the tag nodl"))
	}
	for _, library := range p.libraries {
		if !ofTheSystem(p.os, library) {
			wrong = append(wrong, fmt.Errorf("is linked with %s, which is no part of every %s",
				library, p.os))
		}
	}
	return errors.Join(wrong...)
}

// ofTheSystem reports whether every system of that name has a library.
func ofTheSystem(system, library string) bool {
	switch system {
	case "linux": // glibc
		return slices.Contains([]string{"libc.so.6", "libdl.so.2", "libpthread.so.0"}, library)
	case "darwin":
		return strings.HasPrefix(library, "/usr/lib/") ||
			strings.HasPrefix(library, "/System/Library/Frameworks/")
	case "windows":
		return strings.EqualFold(library, "kernel32.dll")
	}
	return false
}
