package metrics

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Pusher pushes the collectors by OTLP until Close.
type Pusher struct{ provider *metric.MeterProvider }

// protocol is the only one that is spoken; its other name is for all signals.
const (
	protocolVar       = "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"
	protocolCommonVar = "OTEL_EXPORTER_OTLP_PROTOCOL"
	protocol          = "http/protobuf"
)

// Push pushes the collectors as OTLP over HTTP, as the standard environment
// variables say: OTEL_EXPORTER_OTLP_ENDPOINT (default http://localhost:4318),
// _HEADERS, _CERTIFICATE, _COMPRESSION, _TIMEOUT and their _METRICS_ kin,
// OTEL_METRIC_EXPORT_INTERVAL, OTEL_SERVICE_NAME (default gpumem) and
// OTEL_RESOURCE_ATTRIBUTES. They are those of the process: the library reads
// them there. warn is told when pushing begins to fail,
// not each time; it is called from any goroutine.
func Push(ctx context.Context, warn func(error), collectors ...prometheus.Collector) (*Pusher, error) {
	for _, name := range [...]string{protocolVar, protocolCommonVar} {
		if p := os.Getenv(name); p != "" && p != protocol {
			return nil, fmt.Errorf("push metrics: %s=%s: only %s is supported", name, p, protocol)
		} else if p != "" {
			break
		}
	}
	registry := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	to, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("push metrics: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "gpumem")),
		resource.WithHost(),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("push metrics: %w", err)
	}
	reader := metric.NewPeriodicReader(&exporter{Exporter: to, warn: warn},
		metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(registry))))
	return &Pusher{metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(about))}, nil
}

// lastPush is how long the last push may take.
const lastPush = 5 * time.Second

// Close pushes once more and ends.
func (p *Pusher) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastPush)
	defer cancel()
	if err := p.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("push metrics for the last time: %w", err)
	}
	return nil
}

// exporter tells of its own failures: the library would print each.
type exporter struct {
	metric.Exporter
	warn   func(error)
	failed atomic.Bool
}

// Export implements metric.Exporter.
func (e *exporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	err := e.Exporter.Export(ctx, m)
	if errors.Is(err, context.Canceled) {
		return nil // the end cuts a push off and pushes once more
	}
	if failed := err != nil; e.failed.Swap(failed) != failed && failed {
		e.warn(fmt.Errorf("push metrics: %w", err))
	}
	return nil
}
