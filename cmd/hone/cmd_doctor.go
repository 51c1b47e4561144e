package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/assets"
	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/doctor"
	"hone/internal/fault"
	"hone/internal/hardware"
	"hone/internal/host"
	"hone/internal/learn/engine"
	"hone/internal/learn/engine/programs"
	"hone/internal/learn/plan"
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
	s, err := a.Store()
	if err != nil {
		return err
	}
	checks := a.checkPlugin(c.Engine)
	for _, x := range assets.All() {
		if x.Platform == "" || s.Installed(x) { // a plug-in need not be hone's
			checks = append(checks, checkAsset(s, x))
		}
	}
	checks = append(checks, doctor.Memory(), doctor.Disk("disk for runs", c.RunsDir), doctor.Disk("disk for downloads", s.Dir))
	return a.reportChecks(append(checks, a.checkServers(ctx, c, f)...))
}

func checkAsset(s assets.Store, x assets.Asset) doctor.Check {
	name := "model " + x.Name
	if x.Platform != "" {
		name = "download " + x.Name
	}
	if err := s.Verify(x); err != nil {
		check := doctor.FromError(name, err)
		check.Next = "hone engine install " + x.Name
		return check
	}
	return doctor.Check{Name: name, Status: doctor.OK, Detail: s.Path(x)}
}

// checkPlugin looks at the plug-in a run would use: where it was found, its version, its devices and their memory.
func (a *app) checkPlugin(e config.Engine) []doctor.Check {
	const name = "plug-in"
	p, err := basemodel.FindPlugin(a.Host, e)
	if err != nil {
		return []doctor.Check{doctor.FromError(name, err)}
	}
	if p.Path == "" {
		if e.Backend == "go" {
			return []doctor.Check{{Name: name, Status: doctor.OK, Detail: "none: engine.backend is go"}}
		}
		return []doctor.Check{{Name: name, Status: doctor.Fail, Detail: "none is installed; pure Go is slow", Next: "hone engine install cpu"}}
	}
	l, err := engine.Probe(p.Path)
	if err != nil {
		return []doctor.Check{doctor.FromError(name, err)}
	}
	checks := []doctor.Check{{Name: name, Status: doctor.OK, Detail: fmt.Sprintf("%s, by %s; PJRT API %d.%d", p.Path, p.By, l.Major, l.Minor)}}
	if p.IsCUDA() {
		checks = append(checks, a.checkCUDA(l.Path)...)
		if checks[len(checks)-1].Status == doctor.Fail { // without a GPU there is no device to open
			return checks
		}
	}
	opened, err := engine.Open(engine.Options{Plugin: p.Path, Devices: e.Devices})
	if err != nil {
		return append(checks, doctor.FromError("devices", err))
	}
	defer opened.Close()
	return append(checks, doctor.Check{Name: "devices", Status: doctor.OK, Detail: opened.Description() + ": " + strings.Join(opened.Devices(), ", ")},
		a.checkPrograms(e, opened))
}

// checkCUDA looks at NVIDIA's libraries and at the memory of the GPUs.
func (a *app) checkCUDA(plugin string) []doctor.Check {
	libraries := doctor.Check{Name: "NVIDIA libraries", Status: doctor.OK, Detail: "found"}
	path, _ := a.LookupEnv("LD_LIBRARY_PATH")
	switch missing, err := hardware.MissingNVIDIA(plugin, hardware.LoaderFolders(path)); {
	case err != nil:
		libraries = doctor.FromError(libraries.Name, err)
	case len(missing) > 0:
		libraries.Status, libraries.Detail = doctor.Warn, "not found: "+strings.Join(missing, ", ")
		libraries.Next = `pip install "jax[cuda13]" in a virtual environment and activate it, or put their folders on LD_LIBRARY_PATH`
	}
	gpus, err := hardware.GPUs(hardware.CUDADriver)
	if err == nil && len(gpus) == 0 {
		err = &fault.Error{Code: fault.CodeExhausted, What: "no GPU is to be seen", Why: "NVIDIA's driver is not installed or shows none", Next: "nvidia-smi"}
	}
	if err != nil {
		return []doctor.Check{libraries, doctor.FromError("GPU", err)}
	}
	checks := []doctor.Check{libraries}
	for i, g := range gpus {
		checks = append(checks, doctor.Check{Name: fmt.Sprintf("GPU %d", i), Status: doctor.OK, Detail: fmt.Sprintf("%s, %s free of %s", g.Name, plan.GiB(g.Free), plan.GiB(g.Total))})
	}
	return checks
}

// checkPrograms looks at the compiled programs that are kept, and whether the devices' can be.
func (a *app) checkPrograms(e config.Engine, opened *engine.Engine) doctor.Check {
	check := doctor.Check{Name: "compiled programs", Status: doctor.OK}
	c := basemodel.ProgramCache(a.Host, e)
	if c.Folder == "" || c.Bytes == 0 {
		check.Detail = "none are kept: engine.program_cache is 0, there is no cache folder, or XLA_FLAGS has it dump programs"
		return check
	}
	if err := opened.CanKeepPrograms(); err != nil {
		check.Status, check.Detail = doctor.Warn, "each start compiles again: this plug-in's programs cannot be kept: "+err.Error()
		return check
	}
	if err := doctor.Writable(c.Folder); err != nil {
		check.Status, check.Detail, check.Next = doctor.Warn, "each start compiles again: "+err.Error(), "name another folder with --cache"
		return check
	}
	n, size, err := programs.Usage(c.Folder)
	if err != nil {
		return doctor.FromError(check.Name, err)
	}
	check.Detail = fmt.Sprintf("%s: %s, %.1f MiB of at most %s", c.Folder, fault.Count(n, "program"), float64(size)/(1<<20), plan.GiB(c.Bytes))
	return check
}

func (a *app) reportChecks(checks []doctor.Check) error {
	rows, failed, next := [][]string{}, 0, ""
	for _, c := range checks {
		rows = append(rows, []string{string(c.Status), c.Name, host.OneLine(c.Detail)})
		if c.Next != "" {
			rows = append(rows, []string{"", "", "next: " + a.Invoked(c.Next)})
		}
		if c.Status == doctor.Fail {
			if failed++; next == "" {
				next = c.Next
			}
		}
	}
	if err := a.Print(checks, rows); err != nil {
		return err
	}
	if failed > 0 {
		return &fault.Error{Code: fault.CodeError, What: fmt.Sprintf("%d of %d checks failed", failed, len(checks)), Next: next}
	}
	return nil
}
