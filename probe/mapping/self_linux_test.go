package mapping

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOurOwnMemoryIsFoundWhereItWasPut(t *testing.T) {
	const size = 32 << 20
	before := anonymous(t)
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < size; i += 4096 {
		m[i] = 1
	}
	after := anonymous(t)
	if err := unix.Munmap(m); err != nil {
		t.Fatal(err)
	}
	if grown := after - before; grown < size || grown > size+16<<20 {
		t.Errorf("%d bytes of anonymous memory appeared, %d were touched", grown, size)
	}
}

func anonymous(t *testing.T) int64 {
	t.Helper()
	r, err := Attribute(context.Background(), os.Getpid(), Options{Budget: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Rollup(context.Background(), os.Getpid(), Options{Budget: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if r.Partial || r.Bad != 0 || sum.Bad != 0 || r.Mappings == 0 || sum.Total.PSS <= 0 {
		t.Errorf("attribution %+v\nsum %+v", r.Total, sum.Total)
	}
	kinds := r.ByKind()
	if kinds[Executable].RSS <= 0 || kinds[Stack].RSS <= 0 {
		t.Errorf("a running program has code and a stack: %+v", kinds)
	}
	return kinds[Anonymous].RSS
}

func TestAnotherUsersProcessIsRefusedWithAHint(t *testing.T) {
	t.Parallel()
	_, err := Rollup(context.Background(), 1, Options{Budget: time.Minute})
	switch {
	case err == nil:
		if os.Getuid() != 0 {
			t.Error("read root's memory without a right to")
		}
	case !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "CAP_SYS_PTRACE"):
		t.Errorf("got %v", err)
	}
}

func BenchmarkRollup(b *testing.B) {
	for b.Loop() {
		if _, err := Rollup(context.Background(), os.Getpid(), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAttribute(b *testing.B) {
	for b.Loop() {
		if _, err := Attribute(context.Background(), os.Getpid(), Options{Budget: time.Minute}); err != nil {
			b.Fatal(err)
		}
	}
}
