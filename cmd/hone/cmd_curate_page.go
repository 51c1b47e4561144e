package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/data"
)

// newCuratePage makes that curate with a file and no other command is the page on a terminal.
func newCuratePage(a *app, c *cobra.Command, at atDesk) *cobra.Command {
	base := ""
	page := at(func(c *cobra.Command, d *data.Desk, _ []string) error {
		return a.withConfig(func(ctx context.Context,
			cfg config.Config) error {
			return d.Page(ctx, a.Host, cfg, base)
		})(c, nil)
	})
	group := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			if _, err := os.Stat(args[0]); err == nil {
				return page(c, args)
			}
		}
		return group(c, args)
	}
	modelFlag(c, &base)
	return c
}
