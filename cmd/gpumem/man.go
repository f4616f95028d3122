//go:build man

package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/gpumem/gpumem/cmd/gpumem/usage"
)

// newManCommand is in builds with the tag man only, which scripts/release.sh makes
// to write the manual pages; what writes them is no part of gpumem.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Hidden: true,
		Args:   usage.Exactly(1, "one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true // it would hold the day of the build
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			// The pages' date is SOURCE_DATE_EPOCH, as for everything in a release.
			header := &doc.GenManHeader{Title: "GPUMEM", Section: "1", Source: "gpumem " + release,
				Manual: "gpumem"}
			return doc.GenManTree(root, header, args[0])
		},
	}
}
