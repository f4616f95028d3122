//go:build !linux

package firsttouch

import "runtime"

// Recorder is a recording under way. There is none on this system.
type Recorder struct{}

func start(int, Options) (*Recorder, error) {
	return nil, &Error{Op: "watch a process", is: ErrUnsupported,
		Text: runtime.GOOS + " has no page-fault events"}
}

// Stop ends the recording and returns what it saw.
func (r *Recorder) Stop() Report { return Report{} }

// Done is closed when the recording is over.
func (r *Recorder) Done() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
