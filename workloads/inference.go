package workloads

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/pool"
)

const (
	inputBytes = 256 // of each input of a request, in a buffer of its own
	// A request has many inputs, but few in the middle half of the run: by that
	// releases have another pace than launches.
	manyInputs, fewInputs = 20, 8
	// A conversation is so many requests; its cache lives for the first of them.
	conversation = 75
	cacheLives   = 50
	cacheBytes   = 4 << 20
	weightBytes  = 64 << 20
	part         = 1 << 20 // of either, written at a time
	// collectEvery requests the fault cleanup-only collects garbage.
	collectEvery = 2 * conversation
	// tinyBuffers are near the limit of a device that allows tinyLimit.
	tinyBuffers = 4500
	tinyLimit   = 5000
)

func inference() Workload {
	return Workload{
		Name:    "inference",
		Summary: "answers requests with kernels that it encodes by hand, as a program for Metal does",
		Faults:  inferenceFaults(),
		Flags:   []Flag{whole("requests", 1500, 1, "requests to answer")},
		// What Metal's driver may do with any program: a release leaves a
		// temporary, and the pages of what was not emptied stay.
		device: DeviceFaults{SlowDevice: true, Leaks: soft.Leaks{Releases: true, Freed: true}},
		run:    runInference,
	}
}

// inferenceFaults are the defects that can be planted in it, with their truths.
func inferenceFaults() []Fault {
	return []Fault{
		{
			Name: "release-outside-pool", Truth: "driver-growth",
			Cause: "release-outside-autorelease-pool",
			Summary: "inputs are released outside of every autorelease scope: what their release " +
				"leaves stays",
		},
		{
			Name: "uncommitted", Truth: "driver-growth", Cause: "uncommitted-command-buffers",
			Summary: "a command buffer for each request is encoded and forgotten, with the input it " +
				"binds",
		},
		{
			Name: "exact-sizes", Truth: "pool-growth", Cause: "size-class-misses",
			Summary: "no two requests have one size, and the pool keeps each exact size",
		},
		{
			Name: "compile-shapes", Truth: "driver-growth", Cause: "per-shape-compile-cache",
			Summary: "no two requests have one shape, and a kernel is compiled and kept for each",
		},
		{
			Name: "recompile", Truth: "driver-growth", Cause: "pipeline-cache",
			Summary: "a kernel is compiled again for each request and never released",
		},
		{
			Name: "driver-keeps", Truth: "driver-growth", Cause: "driver-internal-growth",
			Summary: "the driver keeps 128 KiB of each command buffer",
		},
		{
			Name: "residency-set", Truth: "driver-growth", Cause: "released-but-resident",
			Summary: "a residency set holds each conversation's cache that was released",
		},
		{
			Name: "not-emptied", Truth: "driver-growth", Cause: "released-without-emptying",
			Summary: "caches are released without being emptied: the driver keeps their pages",
		},
		{
			Name: "tiny-buffers", Truth: "none", Cause: "buffer-count-ceiling",
			Summary: "4,500 values have a buffer each, where the device allows 5,000: it refuses more " +
				"with bytes free",
		},
		{
			Name: "lazy-weights", Truth: "none", Cause: "lazily-committed-pages",
			Summary: "weights are written when they are first used, long after they were allocated: no " +
				"leak",
		},
		{
			Name: "cleanup-only", Truth: "none", Cause: "finalizer-lag",
			Summary: "caches are released only when the garbage collector finds them",
		},
	}
}

// What inference calls its buffers.
const (
	labelWeights = "weights"
	labelCache   = "cache"
	labelInput   = "input"
)

// server is a running inference.
type server struct {
	*program
	queue     metal.Queue
	pipelines map[string]metal.Pipeline // by what they were compiled for
	weights   pool.Handle
	written   int    // bytes of the weights
	part      []byte // what weights and caches are filled with
	cache     *cache
	forgotten []pool.Handle // of caches that are left to the collector
	tiny      []pool.Handle
	inputs    int    // of a request of this conversation
	sizes     []int  // of the requests in values
	in, out   []byte // of the request
}

// cache is a conversation's memory on the device.
type cache struct{ memory pool.Handle }

func runInference(ctx context.Context, p *program) (err error) {
	if p.device == nil {
		return errors.New("it drives a device by hand, and the host is not a device: choose another --device")
	}
	if p.Fault == "cleanup-only" {
		defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it collects by hand alone
	}
	s := &server{program: p, pipelines: map[string]metal.Pipeline{}, part: make([]byte, part)}
	if err := s.open(); err != nil {
		return errors.Join(err, s.close())
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for n := range len(s.sizes) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.request(n); err != nil {
			return fmt.Errorf("request %d: %w", n+1, err)
		}
		p.tick()
	}
	fmt.Fprintf(p.Stdout, "answered %s\n", counted(len(s.sizes), "request"))
	return nil
}

// open makes what lives as long as the server.
func (s *server) open() (err error) {
	length := 0 // the device's own
	if s.Fault == "uncommitted" {
		length = 1 << 20 // the limit, at which a request would wait for ever, is out of the way
	}
	if s.queue, err = s.device.NewQueue(length); err != nil {
		return err
	}
	if s.weights, err = s.buffer(labelWeights, weightBytes); err != nil {
		return err
	}
	if s.Fault != "lazy-weights" {
		if err := s.write(weightBytes); err != nil {
			return err
		}
	}
	for len(s.tiny) < tinyBuffers && s.Fault == "tiny-buffers" {
		h, err := s.buffer("value", 4)
		if err != nil {
			return err
		}
		s.tiny = append(s.tiny, h)
	}
	s.plan(s.number("requests") * s.Repeat)
	longest := max(inputBytes, 4*slices.Max(s.sizes))
	s.in, s.out = make([]byte, longest), make([]byte, longest)
	return nil
}

// plan chooses the requests' sizes: four that come again and again, or with
// the faults of sizes ever new ones in no order.
func (s *server) plan(requests int) {
	s.sizes = make([]int, requests)
	for i, fresh := range s.rng.Perm(requests) {
		s.sizes[i] = 512 << (i % 4)
		if s.Fault == "exact-sizes" || s.Fault == "compile-shapes" {
			s.sizes[i] = 1 + fresh
		}
	}
}

// buffer makes one that is not kept when it is given up.
func (s *server) buffer(label string, bytes uint64) (pool.Handle, error) {
	h, err := s.rt.Pool().Get(pool.Request{Elements: bytes, ElementSize: 1, Label: label, Unpooled: true})
	var full *pool.OutOfMemoryError
	if errors.As(err, &full) {
		s.made.refused(full)
	}
	return h, err
}

// drop gives a buffer up, emptied first: its pages then go whatever the driver
// keeps.
func drop(h pool.Handle) error {
	if b := h.Buffer(); b != nil {
		b.SetPurgeable(metal.Empty)
	}
	_, err := h.Release()
	return err
}

// write fills the weights up to a length.
func (s *server) write(length int) error {
	for ; s.written < min(length, weightBytes); s.written += part {
		if _, err := s.weights.Buffer().WriteAt(s.part, int64(s.written)); err != nil {
			return err
		}
	}
	return nil
}

func dropAll(all []pool.Handle) (failed error) {
	for _, h := range all {
		failed = errors.Join(failed, drop(h))
	}
	return failed
}

// converse begins and ends conversations.
func (s *server) converse(n int) (err error) {
	switch n % conversation {
	case 0:
		s.inputs = manyInputs
		if quarter := 4 * n / len(s.sizes); quarter == 1 || quarter == 2 {
			s.inputs = fewInputs
		}
		s.cache = &cache{}
		if s.cache.memory, err = s.buffer(labelCache, cacheBytes); err != nil {
			return err
		}
		for at := int64(0); at < cacheBytes && err == nil; at += part {
			_, err = s.cache.memory.Buffer().WriteAt(s.part, at)
		}
	case cacheLives:
		err = s.forget()
	}
	s.collect(n + 1)
	return err
}

// collect collects garbage after so many requests: between conversations, where
// it delays no answer and before the runtime would, so that the heap stays as it
// is. The fault cleanup-only does that after every second one alone.
func (s *server) collect(requests int) {
	switch {
	case s.Fault == "cleanup-only" && requests%collectEvery == 0:
		debug.FreeOSMemory()
	case s.Fault != "cleanup-only" && requests%conversation == 0:
		runtime.GC()
	}
}

// forget gives the conversation's cache up.
func (s *server) forget() (err error) {
	c := s.cache
	s.cache = nil
	switch {
	case c == nil:
	case s.Fault == "cleanup-only":
		runtime.AddCleanup(c, func(memory pool.Handle) { _ = drop(memory) }, c.memory)
		s.forgotten = append(s.forgotten, c.memory)
	case s.Fault == "not-emptied":
		_, err = c.memory.Release()
	default:
		err = s.rt.Scope(func() error { return drop(c.memory) })
	}
	return err
}

// close gives up what the server holds.
func (s *server) close() error {
	failed := errors.Join(s.forget(), s.rt.Scope(func() error { return dropAll(s.tiny) }))
	for _, h := range s.forgotten {
		_, _ = h.Release() // stale where the collector has found it
	}
	if s.weights != (pool.Handle{}) {
		failed = errors.Join(failed, drop(s.weights))
	}
	for _, p := range s.pipelines {
		failed = errors.Join(failed, p.Release())
	}
	if s.queue != nil {
		failed = errors.Join(failed, s.queue.Release())
	}
	return failed
}
