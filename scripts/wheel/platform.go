package main

import (
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// oldestGlibc is the C library that manylinux2014 promises: 2.17 (PEP 599).
const oldestGlibc = 17

// manylinuxLibraries are those that a manylinux program may be linked with, out of
// the list of PEP 599.
var manylinuxLibraries = []string{"libc.so.6", "libdl.so.2", "libpthread.so.0", "libm.so.6", "librt.so.1",
	"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

// machines are the names that Python's tags have for Go's.
var machines = map[string]map[string]string{
	"linux":   {"amd64": "x86_64", "arm64": "aarch64"},
	"darwin":  {"amd64": "x86_64", "arm64": "arm64"},
	"windows": {"amd64": "amd64", "arm64": "arm64"},
}

// platform is the tag of a program's wheel, read out of the program: for which
// system and machine it was built, and what it is linked with.
func platform(program string) (string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", err
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	if set["CGO_ENABLED"] != "0" {
		return "", errors.New("was built with cgo; a wheel takes programs built with CGO_ENABLED=0")
	}
	machine := machines[set["GOOS"]][set["GOARCH"]]
	if machine == "" {
		return "", fmt.Errorf("no tag is known for %s/%s", set["GOOS"], set["GOARCH"])
	}
	switch set["GOOS"] {
	case "linux":
		return linuxTag(program, machine)
	case "darwin":
		oldest, err := oldestMacOS(program)
		return fmt.Sprintf("py3-none-macosx_%s_%s", oldest, machine), err
	default:
		return "py3-none-win_" + machine, nil
	}
}

// linuxTag is musllinux for a static program, which runs beside any C library; pip
// on glibc prefers manylinux, which is for a program that loads GPU drivers with
// the help of glibc. A program that asks for a newer glibc is refused.
func linuxTag(program, machine string) (string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return "", err
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return "", err
	}
	if len(libraries) == 0 {
		return "py3-none-musllinux_1_1_" + machine, nil
	}
	for _, library := range libraries {
		if !slices.Contains(manylinuxLibraries, library) {
			return "", fmt.Errorf("is linked with %s, which manylinux2014 does not promise", library)
		}
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return "", err
	}
	for _, s := range symbols {
		if minor, ok := glibcMinor(s.Version); ok && minor > oldestGlibc {
			return "", fmt.Errorf("asks for %s of %s; manylinux2014 promises glibc 2.%d", s.Name, s.Version,
				oldestGlibc)
		}
	}
	return fmt.Sprintf("py3-none-manylinux_2_%d_%s.manylinux2014_%s", oldestGlibc, machine, machine), nil
}

// glibcMinor is 17 of GLIBC_2.17 and of GLIBC_2.17.1.
func glibcMinor(version string) (int, bool) {
	rest, ok := strings.CutPrefix(version, "GLIBC_2.")
	if !ok {
		return 0, false
	}
	rest, _, _ = strings.Cut(rest, ".")
	minor, err := strconv.Atoi(rest)
	return minor, err == nil
}

// oldestMacOS is the system that a program asks for, as 12_0.
func oldestMacOS(program string) (string, error) {
	f, err := macho.Open(program)
	if err != nil {
		return "", err
	}
	defer f.Close()
	const buildVersion = 0x32 // Apple, mach-o/loader.h
	for _, l := range f.Loads {
		raw := l.Raw()
		if len(raw) >= 16 && f.ByteOrder.Uint32(raw) == buildVersion {
			v := f.ByteOrder.Uint32(raw[12:])
			// From macOS 11 on tags have the minor version 0 (packaging's rule).
			return fmt.Sprintf("%d_0", v>>16), nil
		}
	}
	return "", errors.New("does not say from which macOS on it runs")
}
