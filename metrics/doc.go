// Package metrics publishes what gpumem knows of processes for Prometheus, as
// OpenMetrics: accounts by process and device, verdicts, rates with their
// bounds, forecasts, and how well the sampling goes. docs/fleet.md has the
// arithmetic for many hosts.
//
// The number of series is bounded: of the processes the largest are told apart,
// the others are added up under the pid "other". What is not known has no
// series: it is never 0. The endpoint listens on the loopback unless told
// otherwise, and elsewhere only with TLS and a bearer token.
package metrics
