// Package corpus makes memory traces with a known truth, by seed: programs
// that are healthy, leak, retain, or lose memory to the driver, under noise
// and disturbances as real traces have them. It knows nothing of how traces
// are judged, and the judge knows nothing of it: neither imports the other.
//
// The same seed and index give the same trace on every machine. Seeds below
// Publish are for tuning, the others for publishing figures.
package corpus
