package apple

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// captureKey is the key of a bundle's Info.plist that lets a program's GPU work
// be captured outside of Xcode (Apple, MTLCaptureManager).
const captureKey = "MetalCaptureEnabled"

// BundleTooling names what the bundle of an executable switches on that makes
// memory grow without a leak: Contents/Info.plist beside Contents/MacOS. Nil
// for an executable that lies in no bundle, and where the file is not there or
// cannot be read; one that a command line tool carries in itself is not looked
// for.
func BundleTooling(executable string) []Tool {
	folder := filepath.Dir(executable)
	if filepath.Base(folder) != "MacOS" || filepath.Base(filepath.Dir(folder)) != "Contents" {
		return nil
	}
	f, err := os.Open(filepath.Join(filepath.Dir(folder), "Info.plist"))
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPlist+1))
	if err != nil {
		return nil
	}
	v, err := parsePlist(b)
	if err != nil {
		return nil
	}
	info, _ := v.(map[string]any)
	switch on := info[captureKey].(type) {
	case bool:
		if on {
			return []Tool{{captureKey, "true", "GPU capture, by the bundle's Info.plist"}}
		}
	case string: // as an editor's field of no type has it
		if !off(on) {
			return []Tool{{captureKey, strings.ToLower(on), "GPU capture, by the bundle's Info.plist"}}
		}
	}
	return nil
}
