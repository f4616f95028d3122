package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/pool"
	"github.com/gpumem/gpumem/workloads"
)

func newWorkloadsCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "workloads",
		Short: "List the bundled programs, their faults, settings and pool policies",
		Args:  usage.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			for _, w := range workloads.All() {
				if _, err := fmt.Fprintln(std.out, workloadText(&w)); err != nil {
					return err
				}
			}
			fmt.Fprintln(std.out, "pool policies (--policy)")
			for _, p := range pool.Policies() {
				if _, err := fmt.Fprintf(std.out, "    %-14s %s\n", p.Name, p.Summary); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func workloadNames() []string {
	var names []string
	for _, w := range workloads.All() {
		names = append(names, w.Name)
	}
	return names
}

// workloadCompletions are the names with what a shell shows beside them.
func workloadCompletions() []string {
	var list []string
	for _, w := range workloads.All() {
		list = append(list, w.Name+"\t"+w.Summary)
	}
	return list
}
