package probe

import "github.com/gpumem/gpumem/probe/source"

// A Source tells what GPUs hold for processes; a Reader of it is asked for a few
// again and again. A Charge is what one device holds for one process, a Device
// one GPU. Package source has their contracts and the rule by which figures of
// several sources are put together; package scan opens those that are here.
type (
	Source   = source.Source
	Reader   = source.Reader
	Charge   = source.Charge
	Device   = source.Device
	Instance = source.Instance
	Holdings = source.Holdings
	Held     = source.Held
	Vitals   = source.Vitals
)

// AnyDevice is the device of a charge by which a source says that it can tell
// nothing of a process. Bytes that are unknown there are source.Unknown, which is
// the same number as Unknown.
const AnyDevice = source.AnyDevice

// Add adds parts of one figure: Unknown unless both are known.
func Add(a, b int64) int64 { return source.Add(a, b) }
