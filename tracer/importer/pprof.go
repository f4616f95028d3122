package importer

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/gpumem/gpumem/tracer/record"
)

// maxProfile bounds a profile, uncompressed: the library reads it whole. JAX
// puts equal stacks together, so that real ones have some kilobytes.
const maxProfile = 128 << 20

// sniffPProf looks for the protocol buffer of a profile: its first field is a
// sample type (field 1, a message of two small numbers), which no text is.
func sniffPProf(head []byte) bool {
	return len(head) > 4 && head[0] == 0x0a && head[1] >= 2 && head[1] <= 12 &&
		(head[2] == 0x08 || head[2] == 0x10)
}

// memoryTypes are the sample types that say what is held: bytes and counts.
// JAX writes the first; the second is that of Go's heap profiles and of
// gpumem's own.
var memoryTypes = [...]struct{ bytes, count string }{{"space", "allocations"},
	{"inuse_space", "inuse_objects"}}

// profileReader makes the state of one moment of a profile.
type profileReader struct {
	run          *record.Run
	bytes, count int // columns of a sample's values; count −1 when there is none
	devices      map[int]*heldMemory
	sites        *survivors
	executables  float64
	anyProgram   bool
}

// heldMemory is what one device holds.
type heldMemory struct{ bytes, count float64 }

// readPProf reads a profile of memory, as JAX and Go write them.
func readPProf(in *bufio.Reader, run *record.Run) error {
	data, err := readWhole(in, maxProfile,
		fmt.Sprintf("a profile of more than %d MiB; write it with fewer stacks", maxProfile/mib))
	if err == nil {
		err = weighProfile(data)
	}
	if err != nil {
		return err
	}
	p, err := profile.ParseUncompressed(data)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return fmt.Errorf("damaged profile: %w; is the file complete?", err)
	}
	r := &profileReader{run: run, devices: map[int]*heldMemory{}, sites: newSurvivors()}
	if r.bytes, r.count, err = memoryColumns(p); err != nil {
		return err
	}
	for _, s := range p.Sample {
		r.sample(s)
	}
	r.finish(p)
	return nil
}

func memoryColumns(p *profile.Profile) (bytes, count int, err error) {
	var names []string
	at := map[string]int{}
	for i, t := range p.SampleType {
		names = append(names, short([]byte(t.Type)))
		at[t.Type] = i
	}
	for _, m := range memoryTypes {
		if i, ok := at[m.bytes]; ok {
			count := -1
			if j, ok := at[m.count]; ok {
				count = j
			}
			return i, count, nil
		}
	}
	return 0, 0, fmt.Errorf("a profile of %s, not of memory; space or inuse_space is needed",
		strings.Join(names, ", "))
}

// sample adds one stack's memory to its device and to its line.
func (r *profileReader) sample(s *profile.Sample) {
	bytes, count := s.Value[r.bytes], int64(0)
	if r.count >= 0 {
		count = s.Value[r.count]
	}
	if bytes < 0 || count < 0 || bytes > 1<<53 || count > 1<<53 {
		note(r.run, "a sample with %d bytes and %d allocations is not an amount and was left out",
			bytes, count)
		return
	}
	if hasLabel(s, "kind", "executable") {
		r.executables += float64(bytes)
		r.anyProgram = true
		return
	}
	n := deviceOf(s)
	d := r.devices[n]
	if d == nil {
		if len(r.devices) >= maxDevices {
			return
		}
		d = &heldMemory{}
		r.devices[n] = d
	}
	d.bytes += float64(bytes)
	d.count += float64(count)
	r.sites.add(profileSite(s), bytes, count)
}

func hasLabel(s *profile.Sample, key, value string) bool {
	for _, v := range s.Label[key] {
		if v == value {
			return true
		}
	}
	return false
}

// deviceOf is the number at the end of JAX's name of a device: "cpu:0",
// "TFRT_CPU_0", "cuda:1", "TPU_3(process=0,…)". What names none is of device 0.
func deviceOf(s *profile.Sample) int {
	for _, name := range s.Label["device"] {
		name, _, _ = strings.Cut(name, "(")
		digits := name[len(strings.TrimRight(name, "0123456789")):]
		if n, err := strconv.Atoi(digits); err == nil && n < maxDevices {
			return n
		}
	}
	return 0
}

// profileSite is the innermost frame outside of JAX and of gpumem's runtime,
// else the innermost.
func profileSite(s *profile.Sample) string {
	first := ""
	for _, loc := range s.Location {
		for _, l := range loc.Line {
			if l.Function == nil {
				continue
			}
			site := strings.TrimSpace(fmt.Sprintf("%s:%d %s", l.Function.Filename, l.Line, l.Function.Name))
			if l.Function.Filename == "" {
				site = l.Function.Name
			}
			if first == "" {
				first = site
			}
			if file := l.Function.Filename; strings.HasSuffix(file, ".py") && !libraryFile(file) {
				return site
			}
		}
	}
	if first == "" {
		return noStack
	}
	return first
}

// noStack is the site of what has none.
const noStack = "no stack recorded"

// libraryFile is a file of a framework: the line that asked for memory is above.
func libraryFile(file string) bool {
	for _, part := range [...]string{"/jax/", "/jaxlib/", "/torch/", "/site-packages/flax/",
		"/site-packages/optax/"} {
		if strings.Contains(file, part) {
			return true
		}
	}
	return false
}

func (r *profileReader) finish(p *profile.Profile) {
	if len(r.devices) == 0 { // nothing is held, which is an answer
		r.devices[0] = &heldMemory{}
	}
	r.run.Samples = r.row().samples()
	if r.executables > 0 {
		note(r.run, "%.1f MiB of compiled programs stand in %s, not in live", r.executables/mib,
			record.ColExecutable)
	}
	addSites(r.run, r.sites, 0)
	if p.TimeNanos > 0 {
		r.run.Meta.Start = time.Unix(0, p.TimeNanos).UTC()
	}
	oneMoment(r.run, "a memory profile")
	note(r.run,
		"a memory profile holds what the framework handed out: idle memory of its pool and the driver's "+
			"are not seen")
}

// row is the state as a row, with columns "@N" where there are several devices.
func (r *profileReader) row() *table {
	t := newTable(record.ColExecutable)
	t.row()
	for _, n := range slices.Sorted(maps.Keys(r.devices)) {
		suffix := ""
		if len(r.devices) > 1 {
			suffix = "@" + strconv.Itoa(n)
		}
		t.column(record.ColLive + suffix)
		t.set(record.ColLive+suffix, r.devices[n].bytes)
		if r.count >= 0 {
			t.column(record.ColLiveCount + suffix)
			t.set(record.ColLiveCount+suffix, r.devices[n].count)
		}
	}
	if r.anyProgram {
		t.set(record.ColExecutable, r.executables)
	}
	return t
}

// momentNote ends a warning that two or more files make void.
const momentNote = " is one moment: it cannot show growth; import two or more, oldest first"

// oneMoment says what a file without a course cannot show.
func oneMoment(run *record.Run, what string) {
	note(run, "%s%s", what, momentNote)
}
