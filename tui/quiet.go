package tui

import (
	"github.com/gpumem/gpumem/tui/silence"

	// Named here so that it is initialised before the silence is lifted.
	_ "github.com/charmbracelet/bubbletea"
)

// lifted is set when the terminal may be spoken to again; see package silence.
var _ = lift()

func lift() bool {
	silence.Lift()
	return true
}
