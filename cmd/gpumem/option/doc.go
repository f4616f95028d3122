// Package option is the flags that several commands share: sizes in bytes, the GPU
// sources, how a verdict is reached and when it fails; which flags a run records, and
// how help groups them.
package option
