package python

import (
	"bytes"
	"compress/zlib"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// entryText is run on the main thread of a program that runs already, and entry on a
// thread that it starts: what is done there does not hold up the program.
var (
	//go:embed late/text.py
	entryText string
	//go:embed late/entry.py
	entry string
)

// Late says how the agent works in a program that ran before it came.
type Late struct {
	Socket   string        // as the program reaches it
	Interval time.Duration // between samples
	Settle   time.Duration // that the driver may tell late what it charges
	Sites    bool          // record where live memory is asked for, see EnvSites
	Look     bool          // it only looks once: nothing is hooked
	Profile  string        // which window of steps is recorded, as in GPUMEM_PROFILE; empty is by itself
}

// Text is a text of Python that brings the agent into the interpreter that runs it:
// one statement, which leaves no name behind, and carries all files in it. The agent
// connects to the socket and leaves when it is told so (agent.ActionLeave), or when
// nobody listens any more. Where an agent is there already, the text says so to the
// tracer, in a hello with the key refused.
func Text(l Late) (string, error) {
	var all bytes.Buffer
	packed, _ := zlib.NewWriterLevel(&all, zlib.BestCompression)
	parts := []string{entry}
	err := each(func(name string, text []byte) error {
		if file, ok := strings.CutPrefix(name, "lib/gpumem_agent/"); ok {
			parts = append(parts, "gpumem_agent/"+file, string(text))
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("pack the Python agent: %w", err)
	}
	if _, err := packed.Write([]byte(strings.Join(parts, "\x00"))); err != nil {
		return "", fmt.Errorf("pack the Python agent: %w", err)
	}
	if err := packed.Close(); err != nil {
		return "", fmt.Errorf("pack the Python agent: %w", err)
	}
	word := map[bool]string{true: "True", false: "False"}
	settings := fmt.Sprintf(`{"interval": %g, "settle": %g, "sites": %s, "look": %s, "profile": %s}`,
		l.Interval.Seconds(), l.Settle.Seconds(), word[l.Sites], word[l.Look], literal(l.Profile))
	return fmt.Sprintf(frame, literal(entryText), literal(l.Socket), settings,
		base64.StdEncoding.EncodeToString(all.Bytes())), nil
}

// frame is the text around entryText. The program may have an exec of its own, so that of
// __builtins__ is called, which is a module, or its dictionary where __main__ was run by
// runpy, as in workers of multiprocessing. An error would become one of the program's.
const frame = `try:
    (__builtins__["exec"] if __builtins__.__class__ is {}.__class__ else __builtins__.exec)(
        %s, {"PATH": %s, "SETTINGS": %s, "PAYLOAD": b"%s"})
except:
    pass
`

// literal is a text as Python writes it.
func literal(text string) string { return strconv.QuoteToASCII(text) }
