// Package verdict judges a run: whose memory grows, how sure that is, what
// drives it and when it runs out. It is pure: samples in, verdict out, no
// clock, no environment, no map order; the same input gives the same bytes.
package verdict
