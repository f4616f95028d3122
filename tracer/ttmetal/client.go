package ttmetal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// ErrElsewhere says that the server took the request for a dump and prints it
// on its own output: it does not speak this package's extension.
var ErrElsewhere = errors.New("the server prints the dump on its own output")

// Ask asks the server at a socket for its dump, as text or, with asJSON, for
// ReadDump, and copies it to w. bound is for connecting and for each silence.
// It takes a gpumem server; another one gives ErrElsewhere.
func Ask(socket string, asJSON bool, bound time.Duration, w io.Writer) error {
	if asJSON {
		return ask(socket, DumpJSON, bound, w)
	}
	return ask(socket, DumpText, bound, w)
}

// ask asks for a dump of a form and copies the answer.
func ask(socket string, form uint64, bound time.Duration, w io.Writer) error {
	c, err := dial(socket, bound)
	if err != nil {
		return err
	}
	defer c.Close()
	q := Request{Kind: DumpRemaining, Time: form}
	if _, err := c.Write(q.Append(nil, V1)); err != nil {
		return fmt.Errorf("ask for a dump: %w", err)
	}
	if err := c.CloseWrite(); err != nil {
		return fmt.Errorf("ask for a dump: %w", err)
	}
	n, err := io.Copy(w, patient{c, bound})
	if n == 0 && (err == nil || errors.Is(err, errSilent)) {
		return ErrElsewhere
	}
	if err != nil {
		return fmt.Errorf("read the dump: %w", err)
	}
	return nil
}

// AskSums asks the server at a socket for its counters and for what each
// process holds; Buffers of the answer are nil. bound is for connecting and for
// each silence. It takes a gpumem server; another one gives ErrElsewhere, and
// prints a dump.
func AskSums(socket string, bound time.Duration) (*Dump, error) {
	var answer bytes.Buffer
	if err := ask(socket, DumpSums, bound, &answer); err != nil {
		return nil, err
	}
	return ReadDump(&answer)
}

// AskTotals asks the server at a socket for the counters of its devices 0 to
// devices-1 by QUERY, which every server of the protocol answers. Circular
// buffers and kernels are not in the answer of that size.
func AskTotals(socket string, devices int32, bound time.Duration) ([]Device, error) {
	c, err := dial(socket, bound)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var out []Device
	answer := make([]byte, V1)
	for d := range devices {
		if _, err := c.Write(Request{Kind: Query, Device: d}.Append(nil, V1)); err != nil {
			return nil, fmt.Errorf("query device %d: %w", d, err)
		}
		if _, err := io.ReadFull(patient{c, bound}, answer); err != nil {
			return nil, fmt.Errorf("query device %d: %w", d, err)
		}
		r := DecodeReply(answer)
		if r.Kind != Response || r.Device != d {
			return nil, fmt.Errorf("query device %d: answer of kind %d: %w", d, r.Kind, ErrProtocol)
		}
		row := Device{Device: d, Used: map[string]uint64{}}
		for k := CountDRAM; k <= CountTrace; k++ {
			row.Used[k.String()] = r.Used[k]
		}
		out = append(out, row)
	}
	return out, nil
}

func dial(socket string, bound time.Duration) (*net.UnixConn, error) {
	c, err := net.DialTimeout("unix", socket, bound)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", socket, err)
	}
	return c.(*net.UnixConn), nil
}

var errSilent = errors.New("no answer in time")

// patient bounds each silence of a connection.
type patient struct {
	c     *net.UnixConn
	bound time.Duration
}

func (p patient) Read(b []byte) (int, error) {
	p.c.SetReadDeadline(time.Now().Add(p.bound)) //nolint:errcheck // the read says it
	n, err := p.c.Read(b)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		err = errSilent
	}
	return n, err
}
