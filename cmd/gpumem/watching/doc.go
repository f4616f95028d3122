// Package watching samples the processes of this machine while somebody watches: on
// the live screen, as metrics, or as a JSON object a sample. It records nothing.
package watching
