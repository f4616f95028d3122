//go:build linux && (amd64 || arm64)

package apple_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/apple"
	"github.com/gpumem/gpumem/metal/apple/appletest"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/metaltest"
)

// The compiler of the real one writes lines of this form.
const compilerWords = "compile_error program_source:7:1: error: unknown type name 'kernal'"

func TestWhatIsNotThereIsOneLineInTheSystemsWords(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "libmetal.dylib")
	for _, c := range []struct {
		name    string
		library string
		device  int
		conf    []string
		want    error
		checked bool // Check finds it as well
		says    []string
	}{
		{"no library", missing, 0, nil, apple.ErrNoMetal, true, []string{"load Metal", missing}},
		{"no device, as in a virtual machine", "", 0, []string{"devices 0"}, apple.ErrNoDevice, true,
			[]string{"MTLCopyAllDevices", "virtual machine", "soft"}},
		{"an index too high", "", 2, []string{"devices 2"}, apple.ErrNoDevice,
			true, []string{"device 2", "0 to 1"}},
		{"a negative index", "", -1, nil, apple.ErrNoDevice, true, []string{"out of range"}},
		{"an old system", "", 0, []string{"without supportsFamily:"}, apple.ErrOldSystem,
			false, []string{"device", "supportsFamily:", "update macOS"}},
		{"an old command buffer", "", 0, []string{"without waitUntilCompleted"}, apple.ErrOldSystem,
			false, []string{"command buffer", "waitUntilCompleted"}},
		{"an old encoder", "", 0, []string{"without dispatchThreads:threadsPerThreadgroup:"},
			apple.ErrOldSystem, false, []string{"encoder", "dispatchThreads"}},
		{"an old GPU", "", 0, []string{"families 1001 1002 1003"}, apple.ErrOldSystem, false,
			[]string{"Apple4", "Mac2"}},
		{"a source that does not compile", "", 0, []string{compilerWords}, apple.ErrCompile, false,
			[]string{"compile the kernels", "unknown type name 'kernal'", "code 3"}},
		{"a kernel that the GPU refuses", "", 0,
			[]string{"pipeline_error Compiler encountered an internal error"}, apple.ErrCompile, false,
			[]string{"compile the kernel fill", "internal error", "code 2"}},
		{"a GPU that takes work and does none", "", 0, []string{"zeros 1"}, metal.ErrUnsupported, false,
			[]string{"first kernel", "0, not 42"}},
		{"a paravirtual GPU that does none", "", 0, []string{"zeros 1", "name Apple Paravirtual device"},
			metal.ErrUnsupported, false, []string{"0, not 42", "Apple Paravirtual device",
				"virtual machine"}},
		{"a paravirtual GPU that compiles nothing", "", 0,
			[]string{"pipeline_error Compilation failed", "name Apple Paravirtual device"}, apple.ErrCompile,
			false, []string{"Compilation failed", "virtual machine"}},
		{"no memory at all", "", 0, []string{"buffer_nil_at 1"}, metal.ErrOutOfMemory, false,
			[]string{"no memory for a byte"}},
		{"no queue", "", 0, []string{"queue_nil_at 1"}, metal.ErrOutOfMemory, false, []string{"queue"}},
		{"a first kernel that fails", "", 0, []string{"command_error_at 1 3"}, nil, false,
			[]string{"run the kernels", "the fake's words for error 3", "code 3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			library := c.library
			if library == "" {
				library = appletest.Copy(t, fake, c.conf...)
			}
			o := apple.Options{Library: library, Device: c.device}
			_, err := apple.Open(o)
			metaltest.OneLine(t, err, c.want, c.says...)
			if checked := apple.Check(o); c.checked {
				metaltest.OneLine(t, checked, c.want, c.says...)
			} else if checked != nil {
				t.Errorf("Check, which only looks for the device: %v", checked)
			}
			if c.library == "" {
				nothingIsLeft(t, library)
			}
		})
	}
}

func TestAParavirtualDeviceThatComputesIsTaken(t *testing.T) {
	t.Parallel()
	library := appletest.Copy(t, fake, "name Apple Paravirtual device", "families 1001 1002 1003 1004 1005")
	d := mustOpen(t, apple.Options{Library: library})
	if got := d.Info(); got.Name != "Apple Paravirtual device" || got.Driver != "apple" || !got.Unified ||
		got.PageSize != 16<<10 {
		t.Errorf("got %+v", got)
	}
	must(t, d.Close())
	nothingIsLeft(t, library)
}

func TestADebugLayerThatForwardsIsTaken(t *testing.T) {
	t.Parallel()
	library := appletest.Copy(t, fake, "forwards 1")
	m := newMachine(t, apple.Options{Library: library})
	must(t, m.fill(3).Wait())
	m.close()
	nothingIsLeft(t, library)
}

func TestOptionsThatContradictAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []apple.Options{
		{MaxBuffers: -1}, {WorkingSet: 1 << 63}, {Faults: metal.Faults{FailAllocation: -1}},
		{Faults: metal.Faults{ShrinkAfter: -1}}, {Faults: metal.Faults{CompletionLag: -1}},
	} {
		if _, err := apple.Open(o); !errors.Is(err, metal.ErrInvalid) {
			t.Errorf("options %+v: error %v", o, err)
		}
	}
}

func TestANilBufferIsOutOfMemoryWithWhatTheDriverHolds(t *testing.T) {
	t.Parallel()
	library := appletest.Copy(t, fake, "buffer_nil_at 4") // two are the driver's own
	d := mustOpen(t, apple.Options{Library: library})
	b, err := d.NewBuffer(1<<20, "")
	must(t, err)
	before := d.Usage()
	_, err = d.NewBuffer(4096, "weights")
	var refused *metal.OutOfMemoryError
	if !errors.As(err, &refused) {
		t.Fatalf("error %v, want an OutOfMemoryError", err)
	}
	if refused.RequestedBytes != 4096 || refused.AllocatedBytes != 1<<20 ||
		!strings.Contains(err.Error(), "weights") ||
		!strings.Contains(refused.Reason, "1048576 B for this process") {
		t.Errorf("it says %+v", refused)
	}
	if got := d.Usage(); got != before {
		t.Errorf("the refusal moved the usage from %+v to %+v", before, got)
	}
	again, err := d.NewBuffer(4096, "weights")
	must(t, err)
	must(t, errors.Join(again.Release(), b.Release(), d.Close()))
	nothingIsLeft(t, library)
}

func TestACommandBufferThatMetalEndsSaysWhyAndTheNextOneRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code int
		is   error
		says string
	}{
		{2, nil, "busy for too long"}, {3, nil, "beyond its end"}, {8, metal.ErrOutOfMemory, "diagnose"},
		{7, nil, "foreground"},
		{99, nil, "error 99"},
	} {
		t.Run(fmt.Sprint(c.code), func(t *testing.T) {
			t.Parallel()
			// the first is the driver's own
			library := appletest.Copy(t, fake, fmt.Sprintf("command_error_at 2 %d", c.code))
			m := newMachine(t, apple.Options{Library: library})
			cmd := m.fill(1)
			err := cmd.Wait()
			metaltest.OneLine(t, err, c.is, "run the kernels",
				fmt.Sprintf("the fake's words for error %d (code %d)", c.code, c.code), c.says)
			if cmd.Status() != metal.Failed || cmd.Err() == nil {
				t.Errorf("status %d, error %v", cmd.Status(), cmd.Err())
			}
			if u := m.device.Usage(); u.InFlight != 0 || u.CommandBuffers != 0 {
				t.Errorf("usage is %+v", u)
			}
			must(t, cmd.Release())
			must(t, m.fill(2).Wait())
			if got := m.value(); got != 2 {
				t.Errorf("the next one left %v, want 2", got)
			}
			m.close()
			nothingIsLeft(t, library)
		})
	}
}

// TestWorkThatIsWaitedForInTheMiddleFailsWithItsReason: a kernel writes the
// next one's parameter, and what is committed for that ends with an error.
func TestWorkThatIsWaitedForInTheMiddleFailsWithItsReason(t *testing.T) {
	t.Parallel()
	library := appletest.Copy(t, fake, "command_error_at 2 8")
	m := newMachine(t, apple.Options{Library: library})
	p, err := m.device.NewBuffer(4, "written by a kernel, then a parameter")
	must(t, err)
	launch := func() error {
		c, err := m.queue.NewCommandBuffer()
		must(t, err)
		e, err := c.NewEncoder()
		must(t, err)
		e.SetPipeline(m.filler)
		e.SetBuffer(0, p, 0)
		e.SetBytes(1, kernels.Float32Bytes(6))
		must(t, e.Dispatch(metal.Size{X: 1}))
		e.SetBuffer(0, m.buffer, 0)
		e.SetBuffer(1, p, 0)
		must(t, e.Dispatch(metal.Size{X: 1}))
		must(t, e.End())
		must(t, c.Commit())
		defer func() { must(t, c.Release()) }()
		return c.Wait()
	}
	metaltest.OneLine(t, launch(), metal.ErrOutOfMemory, "dispatch 1", "error 8")
	must(t, launch())
	if got := m.value(); got != 6 {
		t.Errorf("the kernel saw %v, want 6", got)
	}
	must(t, p.Release())
	m.close()
	nothingIsLeft(t, library)
}

func TestADeviceThatIsGoneMakesNothingAndStillCloses(t *testing.T) {
	t.Parallel()
	library := appletest.Copy(t, fake, "command_error_at 2 11")
	m := newMachine(t, apple.Options{Library: library})
	if err := m.fill(1).Wait(); !errors.Is(err, apple.ErrLost) {
		t.Errorf("error %v, want ErrLost", err)
	}
	if _, err := m.device.NewBuffer(4, ""); !errors.Is(err, apple.ErrLost) {
		t.Errorf("a buffer of a device that is gone: error %v", err)
	}
	m.close()
	nothingIsLeft(t, library)
}

func TestWhatMetalDoesNotMakeIsAnErrorAndCostsNothing(t *testing.T) {
	t.Parallel()
	library := appletest.Copy(t, fake, "encoder_nil_at 3", "command_nil_at 4", "queue_nil_at 4")
	m := newMachine(t, apple.Options{Library: library}) // its queue is the third
	err := m.fill(1).Wait()
	metaltest.OneLine(t, err, metal.ErrOutOfMemory, "make an encoder")
	if _, err := m.queue.NewCommandBuffer(); !errors.Is(err, metal.ErrOutOfMemory) {
		t.Errorf("a command buffer that Metal does not make: error %v", err)
	}
	if _, err := m.device.NewQueue(0); !errors.Is(err, metal.ErrOutOfMemory) {
		t.Errorf("a queue that Metal does not make: error %v", err)
	}
	must(t, m.fill(5).Wait())
	if got := m.value(); got != 5 {
		t.Errorf("later work left %v, want 5", got)
	}
	m.close()
	nothingIsLeft(t, library)
}

// TestEachEncoderIsOneOfMetals: the fourth is refused, two were the driver's.
func TestEachEncoderIsOneOfMetals(t *testing.T) {
	t.Parallel()
	library := appletest.Copy(t, fake, "encoder_nil_at 4")
	m := newMachine(t, apple.Options{Library: library})
	c, err := m.queue.NewCommandBuffer()
	must(t, err)
	for v := range 3 {
		m.encode(c, func(e metal.Encoder) { e.SetBytes(1, kernels.Float32Bytes(float32(v+1))) })
	}
	must(t, c.Commit())
	metaltest.OneLine(t, c.Wait(), metal.ErrOutOfMemory, "dispatch 1", "make an encoder")
	if got := m.value(); got != 1 {
		t.Errorf("the buffer holds %v, want what the first encoder left", got)
	}
	if got := m.device.Usage().TotalDispatches; got != 1 {
		t.Errorf("%d dispatches ran, want 1", got)
	}
	must(t, c.Release())
	m.close()
	nothingIsLeft(t, library)
}

// TestAParameterMayLieAtAnyOffset: Metal itself wants some alignment, which
// differs between GPUs.
func TestAParameterMayLieAtAnyOffset(t *testing.T) {
	t.Parallel()
	library := appletest.Copy(t, fake)
	m := newMachine(t, apple.Options{Library: library})
	p, err := m.device.NewBuffer(64, "parameters")
	must(t, err)
	for offset := range 9 {
		_, err := p.WriteAt(kernels.Float32Bytes(float32(offset+1)), int64(offset))
		must(t, err)
		c, err := m.queue.NewCommandBuffer()
		must(t, err)
		m.encode(c, func(e metal.Encoder) { e.SetBuffer(1, p, uint64(offset)) })
		for _, step := range []func() error{c.Commit, c.Wait, c.Release} {
			must(t, step())
		}
		if got := m.value(); got != float32(offset+1) {
			t.Errorf("offset %d: got %v, want %d", offset, got, offset+1)
		}
	}
	must(t, p.Release())
	m.close()
	nothingIsLeft(t, library)
}

// TestWithoutPoolsEveryLaunchLeavesWhatWasAutoreleased is what the planted
// fault is for: memory that grows by the launch while the driver's own figure
// stays, and by the release of buffers.
func TestWithoutPoolsEveryLaunchLeavesWhatWasAutoreleased(t *testing.T) {
	t.Parallel()
	for _, planted := range []bool{false, true} {
		library := appletest.Copy(t, fake)
		m := newMachine(t, apple.Options{Library: library, Faults: metal.Faults{NoAutorelease: planted}})
		must(t, m.fill(1).Wait())
		missing, objects, bytes := count(t, library, "missing"), count(t, library, "objects"),
			m.device.DriverBytes()
		const launches = 100
		for range launches {
			m.device.Autorelease(func() {
				c := m.fill(1)
				must(t, c.Wait())
				must(t, c.Release())
			})
		}
		perLaunch := (count(t, library, "objects") - objects) / launches
		perPool := (count(t, library, "missing") - missing) / launches
		switch {
		case planted && (perLaunch != 2 || perPool != 2): // the command buffer and its encoder
			t.Errorf("without pools a launch leaves %d objects and %d autoreleases, want 2 each",
				perLaunch, perPool)
		case !planted && (perLaunch != 0 || perPool != 0):
			t.Errorf("with pools a launch leaves %d objects and %d autoreleases", perLaunch, perPool)
		}
		if got := m.device.DriverBytes(); got != bytes {
			t.Errorf("the driver's bytes moved from %d to %d", bytes, got)
		}
		freed := count(t, library, "missing")
		b, err := m.device.NewBuffer(4, "")
		must(t, err)
		must(t, b.Release())
		if got := count(t, library, "missing") > freed; got != planted {
			t.Errorf("planted %v: releasing a buffer leaves something: %v", planted, got)
		}
		m.close()
		if !planted {
			nothingIsLeft(t, library)
		}
	}
}

// machine is a device with one buffer of a value, a queue and a pipeline.
type machine struct {
	t      testing.TB
	device *apple.Device
	queue  metal.Queue
	filler metal.Pipeline
	buffer metal.Buffer
}

func newMachine(t testing.TB, o apple.Options) *machine {
	t.Helper()
	m := &machine{t: t, device: mustOpen(t, o)}
	var err error
	m.queue, err = m.device.NewQueue(0)
	must(t, err)
	m.filler, err = m.device.NewPipeline("fill")
	must(t, err)
	m.buffer, err = m.device.NewBuffer(4, "a value")
	must(t, err)
	return m
}

// fill is committed work that writes v.
func (m *machine) fill(v float32) metal.CommandBuffer {
	m.t.Helper()
	c, err := m.queue.NewCommandBuffer()
	must(m.t, err)
	m.encode(c, func(e metal.Encoder) { e.SetBytes(1, kernels.Float32Bytes(v)) })
	must(m.t, c.Commit())
	return c
}

// encode records that the buffer is filled with the value that bind binds.
func (m *machine) encode(c metal.CommandBuffer, bind func(metal.Encoder)) {
	m.t.Helper()
	e, err := c.NewEncoder()
	must(m.t, err)
	e.SetPipeline(m.filler)
	e.SetBuffer(0, m.buffer, 0)
	bind(e)
	must(m.t, e.Dispatch(metal.Size{X: 1}))
	must(m.t, e.End())
}

func (m *machine) value() float32 {
	m.t.Helper()
	v, err := kernels.AsF32(m.buffer.Contents())
	must(m.t, err)
	return v[0]
}

func (m *machine) close() {
	m.t.Helper()
	must(m.t, errors.Join(m.buffer.Release(), m.filler.Release(), m.queue.Release(), m.device.Close()))
}
