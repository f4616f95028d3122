// Package publishing is what --metrics and --otlp ask for: an endpoint that Prometheus
// scrapes, a pusher of OTLP, and who may read them.
package publishing
