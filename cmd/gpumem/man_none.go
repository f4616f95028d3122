//go:build !man

package main

import "github.com/spf13/cobra"

// newManCommand is nil without the build tag man.
func newManCommand() *cobra.Command { return nil }
