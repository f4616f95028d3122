//go:build (amd64 || arm64) && !nodl

package nvml

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/probe/nvml/nvmltest"
)

func TestAGPUThatIsResetIsUnknownMeanwhileAndKnownAgain(t *testing.T) {
	t.Parallel()
	conf := []string{deviceA, "process 0 c 42 1000", "reload 1"}
	path := nvmltest.Build(t, nvmltest.Newest, conf...)
	l, err := Open(Options{Library: path})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := l.NewSampler()
	defer s.Close()
	for _, round := range []struct {
		fault string
		hint  string // of the error, empty for none
	}{{"", ""}, {"list_code 0 16", "nvidia-smi --gpu-reset"}, {"", ""}, {"list_code 0 15", "Xid 79"}, {"", ""}} {
		standin.Write(t, path, append(conf, round.fault)...)
		for range 3 { // over both rounds of the sampler
			err := s.Sample([]int{42})
			if round.hint == "" {
				if err != nil || s.Bytes(0) != 1000 {
					t.Fatalf("a device that answers: %d, %v", s.Bytes(0), err)
				}
				continue
			}
			if !errors.Is(err, ErrGPULost) || !strings.Contains(err.Error(), round.hint) || s.Bytes(0) != Unknown {
				t.Fatalf("%s: %d, %v", round.fault, s.Bytes(0), err)
			}
		}
	}
}
