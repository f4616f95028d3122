// Package metrics publishes what gpumem knows of processes: accounts by process
// and device, verdicts, rates with their bounds, forecasts, and how well the
// sampling goes. docs/fleet.md has the series and the arithmetic for many hosts.
//
//	Book       a live set of processes (package live) as a Source
//	Folder     follows the run folder of a run that goes on, for a Book
//	Collector  turns a Source, such as a Book, into series
//	Endpoint   serves them to Prometheus, as OpenMetrics
//	Pusher     pushes the same by OTLP
//
// The number of series is bounded: of the processes the largest are told apart,
// the others are added up under the pid "other". What is not known has no
// series: it is never 0. The endpoint listens on the loopback unless told
// otherwise, and elsewhere only with TLS and a bearer token.
package metrics
