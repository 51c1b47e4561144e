package main

import (
	"bytes"

	"github.com/spf13/cobra"

	"hone/internal/config"
)

func newConfig(a *app) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Show, check or describe hone.yaml"}
	c.AddCommand(
		&cobra.Command{
			Use:     "show",
			Short:   "Print every key with the value in force",
			Example: "  hone config show > hone.yaml\n  hone config show --json --config other.yaml",
			Args:    arguments(0, 0, ""),
			RunE:    func(*cobra.Command, []string) error { return runConfigShow(a) },
		},
		&cobra.Command{
			Use:     "validate [FILE]",
			Short:   "Check a configuration file; exit 2 points at what is wrong",
			Example: "  hone config validate\n  hone config validate other.yaml",
			Args:    arguments(0, 1, "at most one file"),
			RunE:    func(_ *cobra.Command, args []string) error { return runConfigValidate(a, args) },
		},
		&cobra.Command{
			Use:     "schema",
			Short:   "Print a JSON Schema of hone.yaml, for editors",
			Example: "  hone config schema > hone.schema.json",
			Args:    arguments(0, 0, ""),
			RunE:    func(*cobra.Command, []string) error { return runConfigSchema(a) },
		},
	)
	return group(c)
}

func runConfigShow(a *app) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	write := c.YAML
	if a.JSON {
		write = c.JSON
	}
	text, err := write()
	if err != nil {
		return err
	}
	_, err = a.Data.Write(append(bytes.TrimRight(text, "\n"), '\n'))
	return err
}

func runConfigValidate(a *app, args []string) error {
	path := a.configPath
	if len(args) == 1 {
		path = args[0]
	}
	if path == "" {
		path = config.DefaultFile
	}
	if _, err := config.Load(path); err != nil {
		return err
	}
	a.Say("%s is valid; hone doctor looks at the machine next", path)
	return nil
}

func runConfigSchema(a *app) error {
	b, err := config.Schema()
	if err != nil {
		return err
	}
	_, err = a.Data.Write(append(b, '\n'))
	return err
}
