package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/host"
	"github.com/gpumem/gpumem/probe/mapping"
)

// toolLimit is how long a tool of the system may take.
const toolLimit = 30 * time.Second

// compareTools holds our numbers of a quiet process against what the system's
// own tools say of it at the same moment.
func (t *tester) compareTools(ctx context.Context, name string, pid int, ps *probe.Process,
	accounts []*account) {
	if ps != nil {
		t.compare("resident size, gopsutil", func() int64 {
			return memoryField(ps, func(m *probe.Memory) int64 { return m.RSS })
		},
			func() (int64, error) { return host.RSS(ctx, pid) })
	}
	if ps != nil && runtime.GOOS != "windows" {
		t.compare("resident size, ps", func() int64 {
			return memoryField(ps, func(m *probe.Memory) int64 { return m.RSS })
		},
			func() (int64, error) { return psRSS(ctx, pid) })
	}
	if ps != nil && runtime.GOOS == "darwin" {
		t.compare("footprint, footprint -j", func() int64 { return footprintOf(ps) },
			func() (int64, error) { return footprintTool(ctx, pid, "phys_footprint") })
		t.compare("peak footprint, footprint -j", func() int64 {
			return memoryField(ps, func(m *probe.Memory) int64 { return m.Peak })
		},
			func() (int64, error) { return footprintTool(ctx, pid, "phys_footprint_peak") })
	}
	if ps != nil && runtime.GOOS == "linux" {
		t.compare("resident size, by mappings", func() int64 {
			return memoryField(ps, func(m *probe.Memory) int64 { return m.RSS })
		},
			func() (int64, error) {
				r, err := mapping.Attribute(ctx, pid, mapping.Options{})
				return r.Total.RSS, err
			})
	}
	if _, isCUDA := device.CUDAIndex(name); !isCUDA {
		return
	}
	for _, a := range accounts {
		if strings.HasPrefix(a.name, "GPU bytes") {
			t.compare("GPU bytes, nvidia-smi", a.read, func() (int64, error) { return smiBytes(ctx, pid) })
		}
	}
}

func memoryField(ps *probe.Process, field func(*probe.Memory) int64) int64 {
	var m probe.Memory
	if err := ps.ReadSplit(&m); err != nil {
		return probe.Unknown
	}
	return field(&m)
}

// compare adds a check of our number against a tool's. A process is never quite
// still, so the tool's may lie between two of ours, with some room.
func (t *tester) compare(check string, ours func() int64, theirs func() (int64, error)) {
	before := ours()
	tool, err := theirs()
	after := ours()
	switch {
	case err != nil:
		t.report.add(Check{Check: check, Result: Unknown, Text: err.Error()})
		return
	case before == probe.Unknown || after == probe.Unknown:
		t.report.add(Check{Check: check, Result: Unknown,
			Text: fmt.Sprintf("we have no number; the tool says %d B", tool)})
		return
	}
	room := max(2<<20, tool/50)
	c := Check{Check: check, Result: OK, Expected: &tool, Found: &after}
	if tool < min(before, after)-room || tool > max(before, after)+room {
		c.Result = Wrong
	}
	t.report.add(c)
}

// runTool runs a program of the system and returns its stdout.
func runTool(ctx context.Context, name string, args ...string) ([]byte, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%s is not installed", name)
	}
	ctx, cancel := context.WithTimeout(ctx, toolLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		text := err.Error()
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			first, _, _ := bytes.Cut(bytes.TrimSpace(exit.Stderr), []byte("\n"))
			text += ": " + string(first)
		}
		return nil, fmt.Errorf("%s: %s", name, text)
	}
	return out, nil
}

func psRSS(ctx context.Context, pid int) (int64, error) {
	out, err := runTool(ctx, "ps", "-o", "rss=", "-p", strconv.Itoa(pid))
	if err != nil {
		return 0, err
	}
	return parsePS(out)
}

// parsePS reads the one number of ps -o rss=, in KiB.
func parsePS(out []byte) (int64, error) {
	kib, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 53)
	if err != nil || kib < 0 {
		return 0, fmt.Errorf("ps: %q is not a size", out)
	}
	return kib << 10, nil
}

// footprintTool asks footprint, which writes JSON into a file only.
func footprintTool(ctx context.Context, pid int, field string) (int64, error) {
	dir, err := os.MkdirTemp("", "gpumem-selftest-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "footprint.json")
	if _, err := runTool(ctx, "footprint", "-f", "bytes", "-p", strconv.Itoa(pid), "-j", file); err != nil {
		return 0, err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return parseFootprint(b, pid, field)
}

// parseFootprint takes one auxiliary figure of a process out of the JSON of
// footprint: processes with their auxiliary figures, in units that the file
// names.
func parseFootprint(b []byte, pid int, field string) (int64, error) {
	var file struct {
		Unit      float64 `json:"bytes per unit"`
		Processes []struct {
			PID       int                        `json:"pid"`
			Auxiliary map[string]json.RawMessage `json:"auxiliary"`
		} `json:"processes"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return 0, fmt.Errorf("footprint: %w", err)
	}
	if file.Unit <= 0 {
		file.Unit = 1
	}
	for _, p := range file.Processes {
		if p.PID != pid {
			continue
		}
		v, err := strconv.ParseFloat(string(p.Auxiliary[field]), 64)
		if err != nil || !(v*file.Unit >= 0 && v*file.Unit <= 1<<60) { // also what is no number
			return 0, fmt.Errorf("footprint: no figure %s in its JSON", field)
		}
		return int64(v * file.Unit), nil
	}
	return 0, fmt.Errorf("footprint: no process %d in its JSON", pid)
}

func smiBytes(ctx context.Context, pid int) (int64, error) {
	out, err := runTool(ctx, "nvidia-smi", "--query-compute-apps=pid,used_memory",
		"--format=csv,noheader,nounits")
	if err != nil {
		return 0, err
	}
	return parseSMI(out, pid)
}

// parseSMI adds up what nvidia-smi lists for a process, in MiB.
func parseSMI(out []byte, pid int) (int64, error) {
	total, found := int64(0), false
	for line := range strings.Lines(string(out)) {
		who, mib, _ := strings.Cut(line, ",")
		if n, err := strconv.Atoi(strings.TrimSpace(who)); err != nil || n != pid {
			continue
		}
		v, err := strconv.ParseInt(strings.TrimSpace(mib), 10, 32)
		if err != nil || v < 0 {
			return 0, fmt.Errorf("nvidia-smi: %q is not a size", strings.TrimSpace(mib))
		}
		total, found = total+(v<<20), true
	}
	if !found {
		return 0, fmt.Errorf("nvidia-smi does not list PID %d", pid)
	}
	return total, nil
}
