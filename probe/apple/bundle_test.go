package apple

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// Info.plist, Info-binary.plist and Info-off.plist in testdata were written by
// Python's plistlib; the first two hold the same.
func info(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// bundle makes one with an Info.plist, none when it is nil, and returns the
// path of its executable.
func bundle(t *testing.T, plist []byte) string {
	t.Helper()
	contents := filepath.Join(t.TempDir(), "Painter.app", "Contents")
	if err := os.MkdirAll(filepath.Join(contents, "MacOS"), 0o755); err != nil {
		t.Fatal(err)
	}
	if plist != nil {
		if err := os.WriteFile(filepath.Join(contents, "Info.plist"), plist, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(contents, "MacOS", "Painter")
}

func TestABundleThatAllowsGPUCaptureIsNamed(t *testing.T) {
	t.Parallel()
	on := []Tool{{"MetalCaptureEnabled", "true", "GPU capture, by the bundle's Info.plist"}}
	text := []byte(plistHead + "<dict><key>MetalCaptureEnabled</key><string>YES</string></dict></plist>")
	for name, c := range map[string]struct {
		plist []byte
		want  []Tool
	}{
		"XML":     {info(t, "Info.plist"), on},
		"binary":  {info(t, "Info-binary.plist"), on},
		"as text": {text, []Tool{{"MetalCaptureEnabled", "yes", on[0].What}}},
		"off":     {info(t, "Info-off.plist"), nil},
		"cut":     {info(t, "Info-binary.plist")[:90], nil},
		"none":    {nil, nil},
		"empty":   {[]byte{}, nil},
		"a list":  {[]byte(plistHead + "<array/></plist>"), nil},
		"other keys": {[]byte(plistHead + "<dict><key>CFBundleName</key><string>x</string></dict></plist>"),
			nil},
	} {
		if got := BundleTooling(bundle(t, c.plist)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestAnExecutableThatLiesInNoBundleHasNoTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Info.plist"), info(t, "Info.plist"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "trainer", filepath.Join(dir, "trainer"),
		filepath.Join(dir, "MacOS", "trainer"), filepath.Join(dir, "bin", "trainer")} {
		if got := BundleTooling(path); got != nil {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestBothFormsOfAPropertyListSayTheSame(t *testing.T) {
	t.Parallel()
	xml, err := parsePlist(info(t, "Info.plist"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := parsePlist(info(t, "Info-binary.plist"))
	if err != nil || !reflect.DeepEqual(got, xml) {
		t.Errorf("%v, %v, want %v", got, err, xml)
	}
	if name := got.(map[string]any)["CFBundleName"]; name != "Painter – 画" {
		t.Errorf("the name is %q", name)
	}
}

// TestABinaryPropertyListThatNamesItselfEnds reads lists of lists: one that
// holds itself, and a chain in which each holds the next one twice, which would
// be 2^40 values.
func TestABinaryPropertyListThatNamesItselfEnds(t *testing.T) {
	t.Parallel()
	itself := binaryLists([]byte{0xa1, 0})
	var chain [][]byte
	for i := range 40 {
		chain = append(chain, []byte{0xa2, byte(i + 1), byte(i + 1)})
	}
	for _, b := range [][]byte{itself, binaryLists(append(chain, []byte{0xa0})...)} {
		if v, err := parsePlist(b); err == nil {
			t.Errorf("read as %T", v)
		}
	}
	if v, err := parsePlist(binaryLists([]byte{0xa1, 1}, []byte{0x09})); err != nil ||
		!reflect.DeepEqual(v, []any{true}) {
		t.Errorf("%v, %v", v, err)
	}
}

// binaryLists puts objects into a binary property list; the first is the top.
func binaryLists(objects ...[]byte) []byte {
	b := bytes.NewBufferString(binaryMagic)
	var offsets []byte
	for _, o := range objects {
		offsets = append(offsets, byte(b.Len()))
		b.Write(o)
	}
	at := b.Len()
	b.Write(offsets)
	b.Write([]byte{0, 0, 0, 0, 0, 0, 1, 1})
	for _, n := range []int{len(objects), 0, at} {
		binary.Write(b, binary.BigEndian, uint64(n))
	}
	return b.Bytes()
}
