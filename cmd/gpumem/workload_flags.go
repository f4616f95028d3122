package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/pool"
	"github.com/gpumem/gpumem/workloads"
)

// workloadFlags are the settings that every workload takes; they mean nothing
// to a program of the user's.
type workloadFlags struct {
	device, fault, policy string
	seed                  int64
	repeat                int
}

func defaultWorkloadFlags() workloadFlags {
	return workloadFlags{device: device.Auto, policy: "default", seed: 1, repeat: 1}
}

// add defines the flags with the present values as defaults, so that they can
// be given before and after the workload's name.
func (f *workloadFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.device, "device", f.device, deviceHelp)
	flags.StringVar(&f.fault, "fault", f.fault, "defect to plant in a workload (see gpumem workloads)")
	flags.StringVar(&f.policy, "policy", f.policy, "pool policy of a workload (see gpumem workloads)")
	flags.Int64Var(&f.seed, "seed", f.seed, "seed of a workload")
	flags.IntVar(&f.repeat, "repeat", f.repeat, "times a workload repeats itself")
}

// names of the flags of add.
func workloadFlagNames() []string { return []string{"device", "fault", "policy", "seed", "repeat"} }

// addOwn defines the flags of one workload and returns a function that reads
// those that were given.
func addOwn(flags *pflag.FlagSet, w *workloads.Workload) func() map[string]string {
	values := map[string]*string{}
	for _, f := range w.Flags {
		values[f.Name] = flags.String(f.Name, f.Default, f.Help)
		flags.Lookup(f.Name).NoOptDefVal = f.Bare
	}
	return func() map[string]string {
		given := map[string]string{}
		for name, value := range values {
			if flags.Changed(name) {
				given[name] = *value
			}
		}
		return given
	}
}

// check refuses what the workload would not take, with the nearest name.
func (f *workloadFlags) check(w *workloads.Workload, own map[string]string) error {
	if err := checkDevice(f.device); err != nil {
		return err
	}
	if _, err := pool.PolicyByName(f.policy); err != nil {
		return usagef("--policy %s: no such policy%s", f.policy, usage.Suggest(f.policy, policyNames()))
	}
	if _, ok := w.Fault(f.fault); f.fault != "" && !ok {
		return usagef("--fault %s: %s has no such fault%s", f.fault, w.Name,
			usage.Suggest(f.fault, faultNames([]workloads.Workload{*w})))
	}
	if f.repeat < 1 {
		return usagef("--repeat %d: must be 1 or more", f.repeat)
	}
	e := workloads.Env{Flags: own, Seed: f.seed, Repeat: f.repeat, LookupEnv: os.LookupEnv}
	if err := w.Check(e); err != nil {
		return usagef("%s: %v", w.Name, err)
	}
	return nil
}

// arguments are the flags as a command line, what was not given left out.
func (f *workloadFlags) arguments(own map[string]string) []string {
	var args []string
	add := func(name, value, without string) {
		if value != without {
			args = append(args, "--"+name+"="+value)
		}
	}
	d := defaultWorkloadFlags()
	add("device", f.device, d.device)
	add("fault", f.fault, d.fault)
	add("policy", f.policy, d.policy)
	add("seed", strconv.FormatInt(f.seed, 10), strconv.FormatInt(d.seed, 10))
	add("repeat", strconv.Itoa(f.repeat), strconv.Itoa(d.repeat))
	names := make([]string, 0, len(own))
	for name := range own {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		args = append(args, "--"+name+"="+own[name])
	}
	return args
}

// workloadTarget reads and checks what follows a workload's name: flags of run,
// of all workloads and of its own. f takes what was given; before are the flags
// that stood before the name.
func workloadTarget(f *runFlags, before *pflag.FlagSet, w *workloads.Workload,
	args []string) (target, error) {
	flags := pflag.NewFlagSet(w.Name, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	f.add(flags)
	own := addOwn(flags, w)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return target{name: w.Name, workload: w, help: true}, nil
		}
		return target{}, usage.OfFlag(flags, err)
	}
	if flags.NArg() > 0 {
		return target{}, usagef("%s takes no arguments, %q was given; to trace a program: gpumem run -- CMD",
			w.Name, flags.Arg(0))
	}
	given := own()
	if err := f.workload.check(w, given); err != nil {
		return target{}, err
	}
	self, err := executable()
	if err != nil {
		return target{}, err
	}
	arguments := f.workload.arguments(given)
	command := append([]string{self, childCommand, w.Name, "--leftover=" + f.judging.Leftover.String()},
		arguments...)
	return target{
		name: w.Name, workload: w, command: command, given: givenToRun(before, flags, w),
		shown: append([]string{"gpumem", "run", w.Name}, arguments...),
	}, nil
}

// givenToRun are the flags of run itself among those before and after a
// workload's name, of which the later counts. Those of the workload stand in its
// command line.
func givenToRun(before, after *pflag.FlagSet, w *workloads.Workload) map[string]string {
	given := option.Given(before)
	maps.Copy(given, option.Given(after))
	for _, name := range workloadFlagNames() {
		delete(given, name)
	}
	for _, f := range w.Flags {
		delete(given, f.Name)
	}
	return given
}

// workloadText is the help of one workload.
func workloadText(w *workloads.Workload) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%-10s %s\n", w.Name, w.Summary)
	for _, f := range w.Faults {
		fmt.Fprintf(&s, "    --fault %-22s %-14s %s\n", f.Name, f.Truth, f.Summary)
	}
	for _, f := range w.Truths {
		fmt.Fprintf(&s, "    --policy %-21s %-14s %s\n", f.Name, f.Truth, f.Summary)
	}
	for _, f := range w.Flags {
		value := f.Default
		if value == "" {
			value = "–"
		}
		fmt.Fprintf(&s, "    --%-28s %-14s %s\n", f.Name, value, f.Help)
	}
	return s.String()
}

// bundledWords are the words in names of bundled workloads, of their flags and
// faults, and of policies: they tell nothing of who runs them.
func bundledWords() []string {
	names := append(workloadNames(), workloadFlagNames()...)
	for _, w := range workloads.All() {
		for _, f := range w.Faults {
			names = append(names, f.Name)
		}
		for _, f := range w.Flags {
			names = append(names, f.Name)
		}
	}
	for _, p := range pool.Policies() {
		names = append(names, p.Name)
	}
	var words []string
	for _, name := range names {
		words = append(words, strings.Split(name, "-")...)
	}
	return words
}
