package doctor

import (
	"fmt"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/engine/stablehlo"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/plan"
)

// Machine checks what a run of the configuration needs of this machine: plug-in and devices, downloads, memory, disks.
func Machine(h *host.Host, c config.Config) ([]Check, error) {
	s, err := h.Store()
	if err != nil {
		return nil, err
	}
	checks := checkPlugin(h, c.Engine)
	for _, x := range host.Assets() {
		// a plug-in need not be hone's, and another model not be wanted
		if x.Name == host.BaseModelAsset().Name || s.Has(x) {
			checks = append(checks, checkAsset(s, x))
		}
	}
	if u, ok := basemodel.CheckNewTokens(h, c); ok {
		checks = append(checks, checkTokens(c, u))
	}
	return append(checks, Memory(), Disk("disk for runs", c.RunsDir), Disk("disk for downloads", s.Dir)), nil
}

func checkAsset(s host.AssetStore, x host.Asset) Check {
	name := "model " + x.Name
	if x.Platform != "" {
		name = "download " + x.Name
	}
	if err := s.Verify(x); err != nil {
		check := FromError(name, err)
		check.Next = "hone engine install " + x.Name
		return check
	}
	return Check{Name: name, Status: OK, Detail: s.Path(x)}
}

// checkTokens says whether a base model knows the tokens that it is prompted with.
func checkTokens(c config.Config, u basemodel.Untrained) Check {
	base := c.Model.Base
	if found := u.Describe(); found != "" {
		return Check{Name: "tokens of " + base, Status: Warn, Detail: found, Next: u.Help(c.LoRA)}
	}
	return Check{Name: "tokens of " + base, Status: OK, Detail: "it was trained on those that it is prompted with"}
}

// checkPlugin looks at the plug-in a run would use: where it was found, its version, its devices and their memory.
func checkPlugin(h *host.Host, e config.Engine) []Check {
	const name = "plug-in"
	p, err := basemodel.FindPlugin(h, e)
	if err != nil {
		return []Check{FromError(name, err)}
	}
	if p.Path == "" {
		if e.Backend == "go" {
			return []Check{{Name: name, Status: OK, Detail: "none: engine.backend is go"}}
		}
		return []Check{
			{Name: name, Status: Fail, Detail: "none is installed; pure Go is slow", Next: "hone engine install cpu"},
		}
	}
	l, err := engine.Probe(p.Path)
	if err != nil {
		return []Check{FromError(name, err)}
	}
	checks := []Check{
		{Name: name, Status: OK, Detail: fmt.Sprintf("%s, by %s; PJRT API %d.%d", p.Path, p.By, l.Major, l.Minor)},
	}
	if p.IsCUDA() {
		checks = append(checks, checkCUDA(h, l.Path)...)
		if checks[len(checks)-1].Status == Fail { // without a GPU there is no device to open
			return checks
		}
	}
	opened, err := engine.Open(engine.Options{Plugin: p.Path, Devices: e.Devices})
	if err != nil {
		return append(checks, FromError("devices", err))
	}
	defer opened.Close()
	return append(checks,
		Check{Name: "devices", Status: OK, Detail: opened.Description() + ": " + strings.Join(opened.Devices(), ", ")},
		checkPrograms(h, e, opened))
}

// checkCUDA looks at NVIDIA's libraries and at the memory of the GPUs.
func checkCUDA(h *host.Host, plugin string) []Check {
	libraries := Check{Name: "NVIDIA libraries", Status: OK, Detail: "found"}
	path, _ := h.LookupEnv("LD_LIBRARY_PATH")
	switch missing, err := host.MissingNVIDIA(plugin, host.LoaderFolders(path)); {
	case err != nil:
		libraries = FromError(libraries.Name, err)
	case len(missing) > 0:
		libraries.Status, libraries.Detail = Warn, "not found: "+strings.Join(missing, ", ")
		libraries.Next = `pip install "jax[cuda13]" in a virtual environment and activate it, or put their folders on LD_LIBRARY_PATH`
	}
	gpus, err := host.GPUs(host.CUDADriver)
	if err == nil && len(gpus) == 0 {
		err = &fault.Error{Code: fault.CodeExhausted, What: "no GPU is to be seen",
			Why: "NVIDIA's driver is not installed or shows none", Next: "nvidia-smi"}
	}
	if err != nil {
		return []Check{libraries, FromError("GPU", err)}
	}
	checks := []Check{libraries}
	for i, g := range gpus {
		checks = append(checks, Check{Name: fmt.Sprintf("GPU %d", i), Status: OK,
			Detail: fmt.Sprintf("%s, %s free of %s", g.Name, plan.GiB(g.Free), plan.GiB(g.Total))})
	}
	return checks
}

// checkPrograms looks at the compiled programs that are kept, and whether the devices' can be.
func checkPrograms(h *host.Host, e config.Engine, opened *engine.Engine) Check {
	check := Check{Name: "compiled programs", Status: OK}
	c := basemodel.ProgramCache(h, e)
	if c.Folder == "" || c.Bytes == 0 {
		check.Detail = "none are kept: engine.program_cache is 0, there is no cache folder, " +
			"or XLA_FLAGS has it dump programs"
		return check
	}
	if err := opened.CanKeepPrograms(); err != nil {
		check.Status, check.Detail =
			Warn, "each start compiles again: this plug-in's programs cannot be kept: "+err.Error()
		return check
	}
	if err := Writable(c.Folder); err != nil {
		check.Status, check.Detail, check.Next =
			Warn, "each start compiles again: "+err.Error(), "name another folder with --cache"
		return check
	}
	n, size, err := stablehlo.ProgramUsage(c.Folder)
	if err != nil {
		return FromError(check.Name, err)
	}
	check.Detail = fmt.Sprintf("%s: %s, %.1f MiB of at most %s",
		c.Folder, fault.Count(n, "program"), float64(size)/(1<<20), plan.GiB(c.Bytes))
	return check
}
