package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/doctor"
	"hone/internal/fault"
	"hone/internal/learn/engine"
	"hone/internal/learn/engine/programs"
)

// programCache is where compiled programs are kept: a folder of hone's downloads. It keeps none where the configuration has
// it so, where there is no folder, and where XLA is told to dump what it compiles, which it would not otherwise.
func (a *app) programCache(e config.Engine) engine.Cache {
	flags := a.compilerEnvironment()
	if !a.KeepsPrograms || strings.Contains(flags, "xla_dump") {
		return engine.Cache{}
	}
	s, err := a.Store()
	if err != nil {
		return engine.Cache{}
	}
	return engine.Cache{Folder: filepath.Join(s.Dir, "programs"), Bytes: int64(e.ProgramCache * (1 << 30)), Environment: flags,
		Notice: func(text string) { a.Say("warning: %s", text) }}
}

// compilerEnvironment is what XLA and the libraries it calls read of the environment, sorted. XLA_FLAGS may name a file of
// flags.
func (a *app) compilerEnvironment() string {
	var found []string
	for _, entry := range a.Environ {
		name, value, _ := strings.Cut(entry, "=")
		logs := strings.HasPrefix(name, "TF_CPP_")
		if logs || !strings.HasPrefix(name, "XLA_") && !strings.HasPrefix(name, "TF_") && name != "NVIDIA_TF32_OVERRIDE" {
			continue
		}
		if name == "XLA_FLAGS" && !strings.HasPrefix(value, "-") {
			text, _ := os.ReadFile(value) // the compiler says what is wrong with it
			entry += "\n" + string(text)
		}
		found = append(found, entry)
	}
	slices.Sort(found)
	return strings.Join(found, "\n")
}

// sayPrograms says how many programs were compiled and how many needed not be. Of several devices, each counts its own.
func (a *app) sayPrograms(e *engine.Engine) {
	if e.NumDevices() == 1 && e.NumCompiled+e.NumLoaded > 0 && !e.PureGo() {
		a.Say("programs: %d compiled, %d that were kept from earlier", e.NumCompiled, e.NumLoaded)
	}
}

// checkPrograms looks at the compiled programs that are kept, and whether the devices' can be.
func (a *app) checkPrograms(e config.Engine, opened *engine.Engine) doctor.Check {
	check := doctor.Check{Name: "compiled programs", Status: doctor.OK}
	c := a.programCache(e)
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
	check.Detail = fmt.Sprintf("%s: %s, %.1f MiB of at most %s", c.Folder, fault.Count(n, "program"), float64(size)/(1<<20), gib(c.Bytes))
	return check
}
