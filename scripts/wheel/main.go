// Command wheel packs programs of gpumem into Python wheels: one for each program,
// with the platform tag that the program itself earns. It needs no Python.
//
//	go run ./scripts/wheel -out DIR -version 0.1.0 PROGRAM…
//
// The same programs, sources and SOURCE_DATE_EPOCH give the same bytes.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The name on PyPI, and as it stands in file names there: gpumem itself is another
// tool's.
const (
	distribution = "gpumem-profiler"
	escaped      = "gpumem_profiler"
)

func main() {
	out := flag.String("out", "", "folder for the wheels")
	version := flag.String("version", "", "version of the wheels")
	root := flag.String("root", ".", "root of the project")
	flag.Parse()
	if *out == "" || *version == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "wheel: takes -out DIR -version VERSION PROGRAM…")
		os.Exit(2)
	}
	for _, program := range flag.Args() {
		file, err := pack(*root, *out, *version, program)
		if err != nil {
			fmt.Fprintf(os.Stderr, "wheel: %s: %v\n", program, err)
			os.Exit(1)
		}
		fmt.Println(file)
	}
}

// pack writes the wheel of a program into the folder out, and returns its path.
func pack(root, out, version, program string) (string, error) {
	tag, err := platform(program)
	if err != nil {
		return "", err
	}
	when, err := timestamp()
	if err != nil {
		return "", err
	}
	w := &wheel{version: version, tag: tag, when: when}
	if err := w.addSources(root); err != nil {
		return "", err
	}
	if err := w.addProgram(program); err != nil {
		return "", err
	}
	if err := w.addInfo(root); err != nil {
		return "", err
	}
	text, err := w.zip()
	if err != nil {
		return "", err
	}
	file := filepath.Join(out, fmt.Sprintf("%s-%s-%s.whl", escaped, version, tag))
	return file, os.WriteFile(file, text, 0o644)
}

// timestamp is the time of every file in a wheel: SOURCE_DATE_EPOCH, else the
// earliest that a zip can hold.
func timestamp() (time.Time, error) {
	earliest := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return earliest, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return earliest, fmt.Errorf("SOURCE_DATE_EPOCH=%s: must be seconds since 1970", text)
	}
	when := time.Unix(seconds, 0).UTC()
	if when.Before(earliest) {
		when = earliest
	}
	return when, nil
}

// wheel is the content of one, in memory.
type wheel struct {
	version string
	tag     string
	when    time.Time
	members []member
}

type member struct {
	name string
	mode fs.FileMode
	text []byte
}

func (w *wheel) add(name string, mode fs.FileMode, text []byte) {
	w.members = append(w.members, member{name, mode, text})
}

// infoDir is where the files about the wheel are, in it.
func (w *wheel) infoDir() string { return escaped + "-" + w.version + ".dist-info" }

// addSources adds the package gpumem, and in it the agent: on its own, as a module
// beside the package, it would come before the one that `gpumem run` brings.
func (w *wheel) addSources(root string) error {
	lib := filepath.Join(root, "tracer", "agent", "python", "files", "lib")
	for from, to := range map[string]string{"gpumem": "gpumem", "gpumem_agent": "gpumem/_lib/gpumem_agent"} {
		dir := filepath.Join(lib, from)
		err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if ext := filepath.Ext(file); ext != ".py" && d.Name() != "py.typed" {
				return nil // what an interpreter has compiled
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(dir, file)
			w.add(path.Join(to, filepath.ToSlash(name)), 0o644, text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addProgram adds the program as a script, so that the command is the program
// itself and no interpreter has to start before it.
func (w *wheel) addProgram(program string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	name := "gpumem"
	if strings.HasPrefix(path.Base(w.tag), "py3-none-win") {
		name += ".exe"
	}
	w.add(fmt.Sprintf("%s-%s.data/scripts/%s", escaped, w.version, name), 0o755, text)
	return nil
}

// addInfo adds what tells installers of the wheel, the licence too. RECORD is last.
func (w *wheel) addInfo(root string) error {
	description, err := os.ReadFile(filepath.Join(root, "packaging", "wheel", "description.md"))
	if err != nil {
		return err
	}
	licence, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return err
	}
	info := w.infoDir()
	w.add(info+"/licenses/LICENSE", 0o644, licence)
	w.add(info+"/METADATA", 0o644, []byte(w.metadata(string(description))))
	w.add(info+"/WHEEL", 0o644, []byte(w.about()))
	w.add(info+"/entry_points.txt", 0o644, []byte(entryPoints))
	return nil
}

// entryPoints has the plugin under the name of its module, so that pytest takes
// it once where `gpumem pytest` asks for that module as well.
const entryPoints = "[pytest11]\ngpumem.pytest_plugin = gpumem.pytest_plugin\n"

// metadata is the wheel's METADATA, after the core metadata specifications 2.4.
func (w *wheel) metadata(description string) string {
	fields := []string{
		"Metadata-Version: 2.4",
		"Name: " + distribution,
		"Version: " + w.version,
		"Summary: Says whose memory grows in a GPU program, what drives it and who holds it",
		"Description-Content-Type: text/markdown",
		"License-Expression: Apache-2.0",
		"License-File: LICENSE",
		"Requires-Python: >=3.8",
		"Keywords: gpu,cuda,memory,leak,profiler,pytorch,jax,cupy,mlx",
		"Classifier: Development Status :: 4 - Beta",
		"Classifier: Environment :: GPU",
		"Classifier: Framework :: IPython",
		"Classifier: Framework :: Pytest",
		"Classifier: Programming Language :: Go",
		"Classifier: Programming Language :: Python :: 3",
		"Classifier: Topic :: Software Development :: Debuggers",
		"Classifier: Typing :: Typed",
		"Project-URL: Source, https://github.com/gpumem/gpumem",
		"Project-URL: Changelog, https://github.com/gpumem/gpumem/blob/main/CHANGELOG.md",
	}
	return strings.Join(fields, "\n") + "\n\n" + description
}

// about is the wheel's WHEEL. A file name may join several tags; here they stand
// one by one.
func (w *wheel) about() string {
	text := "Wheel-Version: 1.0\nGenerator: gpumem scripts/wheel\nRoot-Is-Purelib: false\n"
	for tag := range strings.SplitSeq(strings.TrimPrefix(w.tag, "py3-none-"), ".") {
		text += "Tag: py3-none-" + tag + "\n"
	}
	return text
}

// record is the wheel's RECORD, of all the other members.
func (w *wheel) record() []byte {
	var b bytes.Buffer
	for _, m := range w.members {
		sum := sha256.Sum256(m.text)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", m.name, base64.RawURLEncoding.EncodeToString(sum[:]),
			len(m.text))
	}
	fmt.Fprintf(&b, "%s/RECORD,,\n", w.infoDir())
	return b.Bytes()
}

// zip is the archive. What tells of the wheel stands at its end, where the
// specification wants it.
func (w *wheel) zip() ([]byte, error) {
	info := w.infoDir()
	slices.SortFunc(w.members, func(a, b member) int {
		if in, other := strings.HasPrefix(a.name, info), strings.HasPrefix(b.name, info); in != other {
			if in {
				return 1
			}
			return -1
		}
		return strings.Compare(a.name, b.name)
	})
	w.add(info+"/RECORD", 0o644, w.record())
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, m := range w.members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: w.when}
		h.SetMode(m.mode)
		to, err := archive.CreateHeader(h)
		if err == nil {
			_, err = to.Write(m.text)
		}
		if err != nil {
			return nil, errors.Join(err, archive.Close())
		}
	}
	err := archive.Close() // writes the directory of the archive
	return b.Bytes(), err
}
