package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/books"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/publishing"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// serveFlags are the flags of `gpumem serve`.
type serveFlags struct {
	options ttmetal.Options
	log     string
	devices []string
	metrics publishing.Flags
	every   time.Duration // between samples of metrics
}

func newServeCommand(std stdio) *cobra.Command {
	f := serveFlags{options: ttmetal.Options{
		Socket: ttmetal.DefaultSocket, SweepEvery: 5 * time.Second, StatisticsEvery: 10 * time.Second,
	}}
	o := &f.options
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Keep the books of allocations that programs report over a socket",
		Long: `serve speaks the protocol of the tt-metal allocation server: programs with that
client (TT_ALLOC_TRACKING_ENABLED=1) report to it unchanged. It prints each
allocation and free, a dump of what remains when asked (gpumem dump), counters
every 10 s and at its end, and takes the buffers of dead processes off the
books. docs/allocation-server.md has the formats and what differs.

The socket is for the user's own programs and root; --shared opens it. A
program is charged for what it allocates itself, whatever PID it names, unless
--trust-pids says otherwise.`,
		Example: `  gpumem serve
  gpumem serve -q --state /var/tmp/gpumem.state --log allocations.log
  gpumem serve --history --socket /tmp/mine.sock`,
		Args: usage.Exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), std, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Socket, "socket", o.Socket, "path of the socket")
	flags.BoolVar(&o.Shared, "shared", false, "let other users connect: mode 0666, not 0600")
	flags.BoolVar(&o.TrustPIDs, "trust-pids", false,
		"believe the PID in a message, for clients that report for others")
	flags.BoolVarP(&o.Quiet, "quiet", "q", false, "print dumps and dead processes only")
	flags.BoolVar(&o.History, "history", false,
		"keep the last 50 events of each buffer and report double frees")
	flags.BoolVar(&o.SixDigits, "six-digits", false,
		"print sizes as the C++ server did (0.0117188 MB, 12 KB)")
	flags.StringVar(&o.StatePath, "state", "", "file that keeps the books, even through a SIGKILL")
	flags.StringVar(&f.log, "log", "", "file to append what is printed to")
	flags.DurationVar(&o.SweepEvery, "sweep", o.SweepEvery,
		"time between checks for dead processes (negative: never)")
	flags.DurationVar(&o.StatisticsEvery, "statistics", o.StatisticsEvery,
		"time between counters (negative: never)")
	flags.StringArrayVar(&f.devices, "device", nil,
		"what a device is, for clients that ask: ID:ARCH:DRAM:L1, as 0:wormhole_b0:12GiB:75MiB")
	f.metrics.Add(flags)
	flags.DurationVar(&f.every, "metrics-interval", books.Every,
		"time between samples; a verdict takes 150 of them")
	return cmd
}

// serve serves until it is told to stop.
func serve(ctx context.Context, std stdio, f serveFlags) error {
	o := f.options
	var err error
	if f.every < 10*time.Millisecond || f.every > time.Hour {
		return usagef("--metrics-interval %s: must be from 10ms to 1h", f.every)
	}
	if o.Devices, err = parseDevices(f.devices); err != nil {
		return err
	}
	// A reader of the event lines that goes away must not end the server.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	o.Out = std.out
	o.Warn = func(text string) { fmt.Fprintf(std.err, "gpumem serve: %s\n", text) }
	if f.log != "" {
		log, err := os.OpenFile(f.log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		if err != nil {
			return fmt.Errorf("open log: %w", err)
		}
		defer log.Close()
		o.Log = log
	}
	s, err := ttmetal.Listen(o)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.err, "🚀 Allocation Server started\n   Listening on: %s\n", o.Socket)
	pub, err := f.publish(std, s, o.Devices)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	<-ctx.Done()
	err = errors.Join(pub.End(), s.Close())
	fmt.Fprintln(std.err, "🛑 Allocation Server stopped")
	return err
}

// publish publishes the programs of the server, and its own totals.
func (f *serveFlags) publish(std stdio, s *ttmetal.Server,
	devices map[int32]ttmetal.DeviceInfo) (*publishing.Published, error) {
	if !f.metrics.On() {
		return nil, nil
	}
	programs := books.NewPrograms(s, devices, f.every)
	return f.metrics.Start(std.err, programs.Book, programs.Run, books.Collector(s))
}

// archs are the names of tt-metal's architectures by their number.
var archs = [...]string{"invalid", "grayskull", "wormhole_b0", "blackhole", "quasar"}

// parseDevices reads the values of --device.
func parseDevices(values []string) (map[int32]ttmetal.DeviceInfo, error) {
	devices := map[int32]ttmetal.DeviceInfo{}
	for _, v := range values {
		var id int32
		parts := strings.Split(v, ":")
		if len(parts) != 4 {
			return nil, usagef("--device %s: must be ID:ARCH:DRAM:L1", v)
		}
		if _, err := fmt.Sscanf(parts[0]+" ", "%d ", &id); err != nil || id < 0 || id >= ttmetal.MaxDevices {
			return nil, usagef("--device %s: %s is not the number of a device", v, parts[0])
		}
		arch := -1
		for i, name := range archs {
			if strings.EqualFold(name, parts[1]) {
				arch = i
			}
		}
		if arch < 0 {
			return nil, usagef("--device %s: no such architecture%s", v, usage.Suggest(parts[1], archs[:]))
		}
		dram, err := option.ParseSize(parts[2])
		if err != nil {
			return nil, usagef("--device %s: %v", v, err)
		}
		l1, err := option.ParseSize(parts[3])
		if err != nil {
			return nil, usagef("--device %s: %v", v, err)
		}
		devices[id] = ttmetal.DeviceInfo{Available: true, Arch: uint32(arch), DRAMBytes: uint64(dram),
			L1Bytes: uint64(l1)}
	}
	return devices, nil
}
