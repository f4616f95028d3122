package apple

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const plistHead = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">`

func TestAPropertyListBecomesPlainValues(t *testing.T) {
	t.Parallel()
	got, err := parsePlist([]byte(plistHead + `<dict><key>a &amp; b</key><integer>-3</integer>
		<key>list</key><array><true/><false/><real>1.5</real><string> x </string><data>AAA=</data><array/></array>
		<key>wide</key><integer>18446744073709551615</integer></dict></plist>`))
	want := map[string]any{"a & b": int64(-3), "list": []any{true, false, 1.5, " x ", nil, []any{}},
		"wide": uint64(math.MaxUint64)}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, %v, want %#v", got, err, want)
	}
}

func TestWhatIsNoPropertyListIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "<plist/>", "bplist00", "<dict><key>a</key></dict>", "<dict><integer>1</integer></dict>",
		"<integer>one</integer>",
		"<array><string>x</array>", "<set/>", "<string><b/></string>",
		strings.Repeat("<array>", 100) + strings.Repeat("</array>", 100),
	} {
		if v, err := parsePlist([]byte(text)); err == nil {
			t.Errorf("%q was read as %v", text, v)
		}
	}
}

// TestAnAcceleratorIsReadFromWhatIoregPrints reads testdata/ioreg.plist: built by
// hand in the form of `ioreg -a -r -c IOAccelerator`, with the keys that
// projects on GitHub read; not recorded.
func TestAnAcceleratorIsReadFromWhatIoregPrints(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("testdata", "ioreg.plist"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := parsePlist(b)
	if err != nil {
		t.Fatal(err)
	}
	entry := v.([]any)[0].(map[string]any)
	var a Accelerator
	a.fill(entry[keyStatistics])
	want := Accelerator{InUse: 1325072384, Allocated: 7801487360, Driver: 0, VRAMFree: Unknown,
		VRAMUsed: Unknown, Recoveries: 0}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("%+v, want %+v", a, want)
	}
	var clients []Client
	for _, child := range entry["IORegistryEntryChildren"].([]any) {
		c := child.(map[string]any)
		if client, ok := parseClient(c[keyCreator], c[keyUsage]); ok {
			clients = append(clients, client)
		}
	}
	wantClients := []Client{
		{PID: 421, Name: "WindowServer", GPUTime: 83982641798791},
		{PID: 4245, Name: "python3.12", GPUTime: 123632000000 + 5},
		{PID: 77, Name: "idle", GPUTime: time.Duration(Unknown)},
	}
	if !reflect.DeepEqual(clients, wantClients) {
		t.Errorf("%+v, want %+v", clients, wantClients)
	}
}

func TestOddStatisticsAndCreatorsAreUnknown(t *testing.T) {
	t.Parallel()
	for _, statistics := range []any{nil, "text",
		map[string]any{"In use system memory": int64(-1), "Alloc system memory": "7"}} {
		a := unknownAccelerator()
		a.fill(statistics)
		if !reflect.DeepEqual(a, unknownAccelerator()) {
			t.Errorf("%v: %+v", statistics, a)
		}
	}
	for _, creator := range []any{nil, "", "pid", "pid x, y", "pid -1, stale", "pid 0, kernel",
		"pid 99999999999, y", 7} {
		if c, ok := parseClient(creator, nil); ok {
			t.Errorf("%v: %+v", creator, c)
		}
	}
	mad := []any{map[string]any{"accumulatedGPUTime": int64(math.MaxInt64)},
		map[string]any{"accumulatedGPUTime": int64(math.MaxInt64)}}
	if got := gpuTime(mad); got != math.MaxInt64 {
		t.Errorf("a time of %d", got)
	}
}

func FuzzPlist(f *testing.F) {
	f.Add([]byte(plistHead + "<array><dict><key>x</key><integer>1</integer></dict></array></plist>"))
	f.Add([]byte("<dict><key>a</key><array><real>NaN</real>"))
	for _, name := range []string{"Info.plist", "Info-binary.plist"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parsePlist(b)
		if err == nil {
			a := unknownAccelerator()
			a.fill(v)
			parseClient(v, v)
		}
	})
}
