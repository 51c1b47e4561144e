package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hone/internal/assets"
	"hone/internal/doctor"
	"hone/internal/fault"
)

func newDoctor(a *app) *cobra.Command {
	var servers serverFlags
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the plug-in, the model, memory, disk and the MCP servers",
		Long: "Check what a run needs of this machine. Of each server: protocol, transport, tools, what is wrong with them, what it\n" +
			"prints where no message belongs, how fast it answers, and whether episodes can be isolated. Exit 1 where something is\n" +
			"missing that a run cannot do without.",
		Example: "  hone doctor\n  hone doctor --json",
		Args:    arguments(0, 0, ""),
		RunE:    func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), a, servers) },
	}
	servers.register(a, c.Flags())
	return c
}

func runDoctor(ctx context.Context, a *app, f serverFlags) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	s, err := a.store()
	if err != nil {
		return err
	}
	checks := []doctor.Check{}
	for _, x := range assets.All() {
		checks = append(checks, checkAsset(s, x))
	}
	checks = append(checks, doctor.Memory(), doctor.Disk("disk for runs", c.RunsDir), doctor.Disk("disk for downloads", s.Dir))
	return a.reportChecks(append(checks, a.checkServers(ctx, c, f)...))
}

func checkAsset(s assets.Store, x assets.Asset) doctor.Check {
	name := "model " + x.Name
	if x.Platform != "" {
		name = "plug-in " + x.Name
	}
	if err := s.Verify(x); err != nil {
		check := doctor.FromError(name, err)
		check.Next = "hone engine install " + x.Name
		return check
	}
	return doctor.Check{Name: name, Status: doctor.OK, Detail: s.Path(x)}
}

func (a *app) reportChecks(checks []doctor.Check) error {
	rows, failed, next := [][]string{}, 0, ""
	for _, c := range checks {
		rows = append(rows, []string{string(c.Status), c.Name, c.Detail})
		if c.Next != "" {
			rows = append(rows, []string{"", "", "next: " + a.invoked(c.Next)})
		}
		if c.Status == doctor.Fail {
			if failed++; next == "" {
				next = c.Next
			}
		}
	}
	if err := a.print(checks, rows); err != nil {
		return err
	}
	if failed > 0 {
		return &fault.Error{Code: fault.CodeError, What: fmt.Sprintf("%d of %d checks failed", failed, len(checks)), Next: next}
	}
	return nil
}
