package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hone/internal/assets"
	"hone/internal/config"
	"hone/internal/doctor"
	"hone/internal/fault"
	"hone/internal/mcp"
)

func newDoctor(a *app) *cobra.Command {
	var servers serverFlags
	c := &cobra.Command{
		Use:     "doctor",
		Short:   "Check the plug-in, the model, memory, disk and the MCP servers",
		Long:    "Check what a run needs of this machine. Exit 1 where something is missing that a run cannot do without.",
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

// checkServers connects to each server by itself, so that one that fails does not hide the others.
func (a *app) checkServers(ctx context.Context, c config.Config, f serverFlags) []doctor.Check {
	servers, err := a.servers(c, f)
	if errors.Is(err, fs.ErrNotExist) && f == (serverFlags{}) {
		return []doctor.Check{{Name: "MCP servers", Status: doctor.Warn, Detail: "none is configured: there is no " + c.MCP.Config,
			Next: "hone doctor --mcp URL"}}
	}
	if err != nil {
		return []doctor.Check{doctor.FromError("MCP servers", err)}
	}
	var checks []doctor.Check
	for _, name := range slices.Sorted(maps.Keys(servers.Servers)) {
		one, err := servers.Only(name)
		if err != nil {
			return append(checks, doctor.FromError("MCP server "+name, err))
		}
		began := time.Now()
		catalog, err := mcp.Discover(ctx, one)
		if err != nil {
			checks = append(checks, doctor.FromError("MCP server "+name, err))
			continue
		}
		s := catalog.Servers[0]
		checks = append(checks, doctor.Check{Name: "MCP server " + name, Status: doctor.OK, Detail: fmt.Sprintf("%s over %s, %d tools, listed in %s",
			s.Era, s.Transport, len(s.Tools), time.Since(began).Round(time.Millisecond))})
	}
	return checks
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
			rows = append(rows, []string{"", "", "next: " + c.Next})
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
