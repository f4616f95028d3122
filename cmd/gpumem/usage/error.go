package usage

import "fmt"

// Error is something that the user wrote wrong. The program ends with exit code 2.
type Error struct{ text string }

// Error is one line: what is wrong, where, and what to write instead.
func (e *Error) Error() string { return e.text }

// Errorf is an [Error] with a text as [fmt.Sprintf] makes it.
func Errorf(format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...)}
}
