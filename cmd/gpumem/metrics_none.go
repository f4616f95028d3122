//go:build !metrics

package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// metricsFlags is empty: this program was built without metrics.
type metricsFlags struct{}

func (*metricsFlags) add(*pflag.FlagSet) {}

func (*metricsFlags) publish(context.Context, stdio, *ttmetal.Server) (func() error, error) {
	return func() error { return nil }, nil
}
