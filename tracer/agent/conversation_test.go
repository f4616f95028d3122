package agent

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// notes is a Handler that checks the order of its calls.
type notes struct {
	mu     sync.Mutex
	heard  map[*Conn][]string // kinds of messages by connection
	gone   map[*Conn]bool
	broken []string
}

func newNotes() *notes {
	return &notes{heard: map[*Conn][]string{}, gone: map[*Conn]bool{}}
}

func (n *notes) Message(c *Conn, m *Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone[c] {
		n.broken = append(n.broken, "a message after the end of its connection")
	}
	if len(n.heard[c]) == 0 && m.Hello == nil {
		n.broken = append(n.broken, "a message before hello")
	}
	if c.PID() != os.Getpid() {
		n.broken = append(n.broken, fmt.Sprintf("a message of process %d", c.PID()))
	}
	n.heard[c] = append(n.heard[c], kindsOf(m))
}

// kindsOf names what is in a message.
func kindsOf(m *Message) string {
	var b strings.Builder
	for _, part := range []struct {
		name string
		is   bool
	}{{"h", m.Hello != nil}, {"s", m.Sample != nil}, {"m", m.Mark != nil}, {"d", m.Done != nil}} {
		if part.is {
			b.WriteString(part.name)
		}
	}
	return b.String()
}

func (n *notes) Gone(c *Conn, _ error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone[c] || len(n.heard[c]) == 0 {
		n.broken = append(n.broken, "an end too many, or of a connection without hello")
	}
	n.gone[c] = true
}

func (n *notes) Refused(error) {}

// said is a line that a program may say, and what becomes of it.
type said struct {
	line string // $ is our pid
	is   string // what is heard, empty for nothing
	ends bool   // the connection, when it comes first or at any time
	hail bool   // it is a hello that counts
}

// phrases are what a conversation is made of.
func phrases() []said {
	return []said{
		{line: `{"hello":{"v":1,"pid":$,"agent":"x"}}`, is: "h", hail: true},
		{line: `{"hello":{"v":1,"pid":$,"knocks":true,"actions":["collect"]}}`, is: "h", hail: true},
		{line: `{"hello":{"v":0,"pid":$}}`, ends: true},
		{line: `{"hello":{"v":1,"pid":1073741823}}`, ends: true},
		{line: `{"sample":{"t_ns":1,"pool_live_bytes":5}}`, is: "s"},
		{line: `{"sample":{"t_ns":-1,"x":1e300,"":2,"step":"a"}}`, is: "s"},
		{line: `{"mark":{"kind":"phase","name":"exiting"}}`, is: "m"},
		{line: `{"mark":{"kind":"step","step":-9,"detail":{"a":[]}}}`, is: "m"},
		{line: `{"done":{"id":7}}`, is: "d"},
		{line: `{"hello":{"v":1,"pid":$},"sample":{},"mark":{},"done":{}}`, is: "hsmd", hail: true},
		{line: `{"do":{"id":1,"action":"collect"}}`},
		{line: `{"unknown":[1,2,{"x":null}]}`},
		{line: `{}`},
		{line: ``, is: "-"}, // an empty line is none
		{line: `{"sample":`, ends: true},
		{line: `null`},
		{line: `[]`, ends: true},
		{line: "\x00\xff", ends: true},
		{line: `{"mark":{"kind":5}}`, ends: true},
	}
}

// expected is what is heard of the lines of one connection, each by its kinds.
func expected(lines []said) (heard []string, greeted bool) {
	for _, l := range lines {
		switch {
		case l.is == "-":
		case l.ends || !greeted && !l.hail:
			return heard, greeted
		default:
			greeted = greeted || l.hail
			heard = append(heard, l.is)
		}
	}
	return heard, greeted
}

// converse says the lines of several connections, mixed as the input has them, and
// closes them all. A byte is a connection (its upper bits) and a phrase; those from 248
// on end one connection in the middle of a line.
func converse(t *testing.T, s *Server, input []byte) [][]said {
	const most = 4
	var conns [most]net.Conn
	var lines [most][]said
	all := phrases()
	for _, b := range input {
		k := int(b) / 62 % most
		if conns[k] == nil {
			conn, err := net.Dial("unix", s.Path())
			if err != nil {
				t.Fatal(err)
			}
			conns[k] = conn
		}
		if b >= 248 {
			io.WriteString(conns[k], `{"mark":{"kind":"ev`)
			conns[k].Close()
			continue
		}
		p := all[int(b)%62%len(all)]
		// A connection that was closed takes no more, and neither does ours.
		if _, err := io.WriteString(conns[k], strings.ReplaceAll(p.line, "$", fmt.Sprint(os.Getpid()))+"\n"); err == nil ||
			!errors.Is(err, net.ErrClosed) {
			lines[k] = append(lines[k], p)
		}
	}
	var out [][]said
	for k, conn := range conns {
		if conn != nil {
			conn.Close()
			out = append(out, lines[k])
		}
	}
	return out
}

// FuzzConversation drives whole conversations of several connections at once: nothing
// is heard before a hello, nothing that was said is lost or heard twice, each end is
// told once, and the server serves on.
func FuzzConversation(f *testing.F) {
	for _, seed := range [][]byte{{0, 4, 6, 8}, {4}, {0, 2}, {0, 3, 4}, {9, 9, 62, 66, 124, 128, 1},
		{0, 248, 4}, {0, 14, 4},
		{186, 190, 255, 0, 62}, {13, 13, 0, 13, 10, 11, 12, 15, 4}} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 64 {
			return
		}
		n := newNotes()
		s, err := Listen(n, 0)
		if err != nil {
			t.Fatal(err)
		}
		conversations := converse(t, s, input)
		s.Drain(10 * time.Second)
		if err := s.Close(); err != nil { // now all has been told
			t.Fatal(err)
		}
		want := map[string]int{}
		for _, lines := range conversations {
			if heard, greeted := expected(lines); greeted {
				want[strings.Join(heard, " ")]++
			}
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		got := map[string]int{}
		for c, heard := range n.heard {
			got[strings.Join(heard, " ")]++
			if !n.gone[c] {
				n.broken = append(n.broken, "an end that is not told")
			}
		}
		if len(n.broken) > 0 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("of %v: %v; heard %v, want %v", input, n.broken, got, want)
		}
	})
}
