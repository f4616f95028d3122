package metaltest

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

func deviceTests() []test {
	return []test{
		{"it describes itself and its limits", func(t *testing.T, s *suite) {
			info := s.open(t).Info()
			if info.Name == "" || info.Driver == "" {
				t.Errorf("no name or driver: %+v", info)
			}
			if info.MaxBufferLength == 0 || info.RecommendedWorkingSet == 0 || info.MaxBuffers <= 0 {
				t.Errorf("a limit is missing: %+v", info)
			}
			if info.PageSize == 0 || info.PageSize&(info.PageSize-1) != 0 {
				t.Errorf("page size %d is no power of two", info.PageSize)
			}
		}},
		{"a fresh one counts nothing", func(t *testing.T, s *suite) {
			if got := s.open(t).Usage(); got != (metal.Usage{}) {
				t.Errorf("usage is %+v", got)
			}
		}},
		{"it has a pipeline for every kernel, counted until released", pipelinesCounted},
		{"a kernel that does not exist has none", func(t *testing.T, s *suite) {
			dev := s.open(t)
			for _, name := range []string{"", "no_such_kernel", "ADD"} {
				_, err := dev.NewPipeline(name)
				wants(t, err, metal.ErrInvalid)
			}
		}},
		{"close names what is left and leaves the device open", closeNames},
		{"a closed one makes nothing", func(t *testing.T, s *suite) {
			dev := s.open(t)
			must(t, dev.Close())
			_, err := dev.NewBuffer(1, "")
			wants(t, err, metal.ErrReleased)
			_, err = dev.NewQueue(0)
			wants(t, err, metal.ErrReleased)
			_, err = dev.NewPipeline("add")
			wants(t, err, metal.ErrReleased)
			wants(t, dev.Close(), metal.ErrReleased)
		}},
	}
}

func pipelinesCounted(t *testing.T, s *suite) {
	dev := s.open(t)
	var made []metal.Pipeline
	for _, k := range kernels.All() {
		p := s.pipeline(t, dev, k.Name)
		if p.Kernel() != k.Name {
			t.Errorf("the pipeline of %s calls itself %q", k.Name, p.Kernel())
		}
		made = append(made, p)
	}
	if got := dev.Usage().Pipelines; got != int64(len(made)) {
		t.Errorf("%d pipelines count as %d", len(made), got)
	}
	for _, p := range made {
		must(t, p.Release())
		wants(t, p.Release(), metal.ErrReleased)
	}
	if got := dev.Usage().Pipelines; got != 0 {
		t.Errorf("%d pipelines are left", got)
	}
}

func closeNames(t *testing.T, s *suite) {
	dev := s.open(t)
	var release []func() error
	b := s.buffer(t, dev, 1)
	p := s.pipeline(t, dev, "add")
	q := s.queue(t, dev, 0)
	c := s.command(t, q)
	release = append(release, c.Release, q.Release, p.Release, b.Release)
	for i, left := range []string{"command buffer", "queue", "pipeline", "buffer"} {
		err := dev.Close()
		if err == nil {
			t.Fatalf("closed with a %s left", left)
		}
		if !strings.Contains(err.Error(), left) {
			t.Errorf("a %s is left, but the error says %q", left, err)
		}
		must(t, release[i]())
	}
	must(t, dev.Close())
}
