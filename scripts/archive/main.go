// Command archive packs files into a .tar.gz or, by its name, a .zip: in the order
// of their names, with the time SOURCE_DATE_EPOCH and nobody's user, so that the same
// files give the same bytes.
//
//	go run ./scripts/archive FILE FOLDER
//
// The archive holds the folder itself and all regular files below it.
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "archive: takes the file to write and a folder")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "archive: %v\n", err)
		os.Exit(1)
	}
}

// entry is one file of the folder.
type entry struct {
	name string // in the archive
	mode fs.FileMode
	text []byte
}

func pack(file, folder string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH must be seconds since 1970: %w", err)
	}
	entries, err := read(folder)
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	write := writeTar
	if strings.HasSuffix(file, ".zip") {
		write = writeZip
	}
	return errors.Join(write(f, entries, time.Unix(seconds, 0).UTC()), f.Close())
}

// read returns the files in the order of their names. Modes are those of a program
// or of a text, whatever the umask was.
func read(folder string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file", path)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(folder), path)
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		entries = append(entries, entry{filepath.ToSlash(name), mode, text})
		return err
	})
	return entries, err
}

func writeTar(w io.Writer, entries []entry, when time.Time) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: int64(e.mode), Size: int64(len(e.text)), ModTime: when,
			Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		if _, err := archive.Write(e.text); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

func writeZip(w io.Writer, entries []entry, when time.Time) error {
	archive := zip.NewWriter(w)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: when}
		h.SetMode(e.mode)
		to, err := archive.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := to.Write(e.text); err != nil {
			return err
		}
	}
	return archive.Close()
}
