//go:build linux || darwin

package ttmetal

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // it was killed
}

func TestTheBooksComeBackAfterASIGKILLAtAnyMoment(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := shortDir(t)
	r := rand.New(rand.NewPCG(5, 6))
	m := model{} // what was certainly entered
	for round := range 12 {
		socket, cmd := childServer(t, dir, true)
		m.isDumped(t, dumped(t, socket))
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		// A part that is answered, and so is in the books…
		var b []byte
		for range 3000 {
			q := churn(r, 7, 5000)
			m.apply(&q)
			b = q.Append(b, V4)
		}
		send(t, c, Request{Kind: Query}.Append(b, V4))
		received(t, c, V4)
		m.isDumped(t, dumped(t, socket))
		// … and a stream of new buffers in whose middle the server dies: a
		// part of its beginning is in the books, without a gap.
		b = b[:0]
		first := uint64(1_000_000 * (round + 1))
		for i := range uint64(20_000) {
			b = alloc(0, first+i, 1+i, DRAM, 7).Append(b, V4)
		}
		go c.Write(b) //nolint:errcheck // the server dies
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
		kill(t, cmd)
		c.Close()
		socket, cmd = childServer(t, dir, true)
		d := dumped(t, socket)
		entered := map[HexID]uint64{}
		for _, v := range d.Buffers {
			entered[v.ID] = v.Size
		}
		for n := uint64(0); entered[HexID(first+n)] == 1+n; n++ {
			q := alloc(0, first+n, 1+n, DRAM, 7)
			m.apply(&q)
		}
		m.isDumped(t, d)
		kill(t, cmd) // and once more, right away
	}
}

func TestAStateFileServesOneServerAndIsNotTakenForAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	s := serve(t, Options{StatePath: path, TrustPIDs: true})
	if _, err := Listen(Options{Socket: filepath.Join(shortDir(t), "s"), StatePath: path}); err == nil ||
		!strings.Contains(err.Error(), "another server uses it") {
		t.Errorf("a second server with the same state: %v", err)
	}
	q := alloc(0, 1, 1, DRAM, 1)
	s.Books().apply(&q, process{pid: 1})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := serve(t, Options{StatePath: path})
	if got := again.Books().Live(); got != 1 {
		t.Errorf("after the end %d buffers are back, want 1", got)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte(strings.Repeat("precious ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(Options{Socket: filepath.Join(shortDir(t), "s"), StatePath: other}); !errors.Is(err,
		errNoState) {
		t.Errorf("over another file: %v, want %v", err, errNoState)
	}
	if text, err := os.ReadFile(other); err != nil || !strings.HasPrefix(string(text), "precious") {
		t.Errorf("the other file is now %q, %v", text[:10], err)
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a half state is left: %v", err)
	}
}

func TestADamagedStateIsReadAsFarAsItMakesSense(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	path := filepath.Join(t.TempDir(), "state")
	s := serve(t, Options{StatePath: path, TrustPIDs: true})
	for i := range uint64(100) {
		q := alloc(0, i, 1, DRAM, 1)
		s.Books().apply(&q, process{pid: 1})
	}
	s.Close()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		broken := append([]byte(nil), text[:stateHeader+r.IntN(len(text)-stateHeader)]...)
		for range 50 {
			broken[bootOffset*2+r.IntN(len(broken)-bootOffset*2)] = byte(r.Uint32())
		}
		st := &state{path: path, warn: func(string) {}}
		if st.old, err = os.CreateTemp(t.TempDir(), ""); err != nil {
			t.Fatal(err)
		}
		if _, err := st.old.Write(broken); err != nil {
			t.Fatal(err)
		}
		books := newBooks(0)
		if err := st.restore(books); err != nil {
			t.Fatal(err)
		}
		books.AppendDump(nil, false)
		st.close()
	}
}

func TestBooksInAFileThatShrinkStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	const n = 300_000
	path := filepath.Join(t.TempDir(), "state")
	st, err := openState(path, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	w := &world{start: map[int32]uint64{1: 100, 2: 100}}
	r := filled(w, st, n)
	if err := st.replace(); err != nil {
		t.Fatal(err)
	}
	w.kill(2)
	r.Sweep(w)
	if given := r.Shrink(); given != n-n/100 {
		t.Errorf("%d entries were given back", given)
	}
	if err := st.close(); err != nil { // as a kill would leave it
		t.Fatal(err)
	}
	next, err := openState(path, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	defer next.close() //nolint:errcheck // the test is over
	back := newRegistry(next, 0)
	if err := next.restore(back); err != nil {
		t.Fatal(err)
	}
	isLeft(t, back, n/100)
	isLeft(t, r, n/100)
}
