package main

import "github.com/spf13/cobra"

func newSelftestCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "selftest",
		Short: "Test holdfast itself: that it finds what is wrong, and accuses nothing that is right",
		Long: `Tests holdfast itself. gallery plays locks that are wrong on purpose, and counts
those that survive. vary plays variations of scenarios, and looks for false
alarms and missed violations. fidelity compares the simulator with real servers.`,
		Example: `  holdfast selftest gallery
  holdfast selftest vary --seeds 10000
  holdfast selftest fidelity holder-pause`,
		RunE: helpOnly,
	}
	c.AddCommand(newGalleryCmd(), newVaryCmd(), newFidelityCmd())
	return c
}
