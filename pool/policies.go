package pool

import (
	"fmt"
	"slices"
	"strings"
)

// The constants of the policies taken over from the investigations.
const (
	// tensorlogicCap is the cap a class that TensorLogic's device builds its
	// pool with (its constructor's own default is 10).
	tensorlogicCap = 30
	// tlCap is the cap a class of the TL language's own pool, as long as a language
	// model has no KV cache to speak of.
	tlCap = 32
	// neatmlCap is NEATML's limit of retained buffers: parameters of each
	// kind, and outputs of each length.
	neatmlCap = 50
	// defaultIdleFraction lets idle memory grow to a quarter of the working
	// set, enough for the temporaries of a training step.
	defaultIdleFraction = 0.25
	// defaultTrimAfter is some hundred steps of the bundled workloads.
	defaultTrimAfter = 8192
	// defaultRestBytes stays below the smallest leftover that counts as a
	// finding (1 MiB).
	defaultRestBytes = 256 << 10
)

// Policies lists the known policies, the default first. The caller owns the
// slice.
//
// The two defects of TensorLogic's pool that hand out buffers shorter than
// the request are not taken over: a class here is of bytes, so that f16 and
// f32 never share one too short, and a buffer returns to the class it was
// made for, never to the next larger. Nor is candle's rounding of 2^k+1 bytes
// down to 2^k. What the originals keep and drop is taken over unchanged.
func Policies() []Policy {
	return []Policy{
		{
			Name: "default",
			Summary: "limits idle bytes to a quarter of the working set, trims what stays idle, " +
				"drops all at rest",
			Class:           ClassPages,
			MaxIdlePerClass: -1,
			IdleFraction:    defaultIdleFraction,
			TrimAfter:       defaultTrimAfter,
			TrimAtRest:      true,
			RestBytes:       defaultRestBytes,
		},
		{
			Name:            "tensorlogic",
			Summary:         "element classes of 1,024 x 2^k, 30 idle buffers a class, never trims",
			Class:           ClassElements,
			MaxIdlePerClass: tensorlogicCap,
			DropWhenBusy:    true,
		},
		{
			Name:            "candle",
			Summary:         "powers of two, best fit without upper bound, swept only when the program waits",
			Class:           ClassPow2,
			MaxIdlePerClass: -1,
			BestFit:         true,
			SweepAtWait:     true,
			DataAnew:        true,
		},
		{
			Name: "tl",
			Summary: "exact numbers of elements, 32 idle buffers of each, fewer as the KV cache " +
				"grows",
			Class:           ClassTensors,
			MaxIdlePerClass: tlCap,
		},
		{
			Name: "neatml",
			Summary: "exact lengths and 4-byte parameter buffers, 50 of each, returned after " +
				"completion",
			Class:           ClassExact,
			MaxIdlePerClass: neatmlCap,
			MaxParams:       neatmlCap,
		},
		{
			Name: "neatml-early",
			Summary: "neatml with its first fault: returned before the commands that read them " +
				"have run",
			Class:           ClassExact,
			MaxIdlePerClass: neatmlCap,
			MaxParams:       neatmlCap,
			EarlyReturn:     true,
		},
		{
			Name:    "none",
			Summary: "keeps nothing: every buffer is made anew and released at once",
			Class:   ClassExact,
		},
	}
}

// PolicyByName returns the policy of that name. An unknown name is an error
// matching ErrPolicy that lists the known ones.
func PolicyByName(name string) (Policy, error) {
	all := Policies()
	i := slices.IndexFunc(all, func(p Policy) bool { return p.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return Policy{}, fmt.Errorf("policy %q: %w; known are %s", name, ErrPolicy, strings.Join(names, ", "))
}
