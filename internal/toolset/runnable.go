package toolset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
)

// Programs is the environment of the programs that checks name, nil where the configuration does not let any run.
func Programs(h *host.Host, c config.Config) []string {
	if !c.Scenarios.Programs {
		return nil
	}
	return ProgramEnviron(h)
}

// ProgramEnviron is the whole environment of users' programs.
func ProgramEnviron(h *host.Host) []string {
	environ := []string{}
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if value, ok := h.LookupEnv(name); ok {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

// checkPrograms refuses scenarios that name programs which nobody has allowed: a file of scenarios may come from
// anywhere.
func checkPrograms(c config.Config, list []scenario.Scenario) error {
	names := scenario.Programs(list)
	if len(names) == 0 || c.Scenarios.Programs {
		return nil
	}
	slices.Sort(names)
	return &fault.Error{
		Code:  fault.CodeUsage,
		What:  "checks of the scenarios run programs on this machine, which is not allowed",
		Where: "scenarios.programs",
		Why:   "they name " + strings.Join(slices.Compact(names), ", "),
		Next:  "read the programs; then write scenarios: {programs: true} into hone.yaml",
	}
}

// Runnable refuses scenarios that ask for what the servers cannot give: a folder of the episode's own, a tool, a
// template. Later each of their episodes would fail for it.
func (s *Set) Runnable(c config.Config, list []scenario.Scenario) error {
	if err := checkPrograms(c, list); err != nil {
		return err
	}
	own, takers := s.Pool.Folders()
	var names []string
	for _, t := range s.Catalog.Tools() {
		names = append(names, t.Name)
	}
	known := func(name string) bool { return slices.Contains(names, name) }
	for _, x := range list {
		for server := range x.Template {
			if _, err := mcp.OneOf(server, takers); err != nil {
				return unrunnable(x.ID+", template", err, `give that server isolation process, which starts it anew for each episode, or take the template out`)
			}
		}
		for i, check := range x.Checks {
			where := fmt.Sprintf("%s, checks[%d] (%s)", x.ID, i, check.Type)
			if check.Opens() {
				if _, err := mcp.OneOf(check.Server, own); err != nil {
					return unrunnable(where, fmt.Errorf("folder of the episode: %w", err),
						`give the check the key "server", or that server isolation process and ${HONE_EPISODE_DIR}; of a server behind a URL, use a state check`)
				}
			}
			// an attack by no tool would always have failed
			if (check.Asks() || check.Type == scenario.NoAttackCheck && check.Name != "") && !known(check.Name) {
				return unrunnable(where, errors.New(fault.NoTool(check.Name, names)), "hone discover lists the tools")
			}
		}
		if x.User == nil {
			continue
		}
		for _, name := range x.User.EndsOn {
			if !known(name) {
				return unrunnable(x.ID+", ends_on of the user", errors.New(fault.NoTool(name, names)),
					"hone discover lists the tools")
			}
		}
	}
	return nil
}

func unrunnable(where string, err error, next string) error {
	return &fault.Error{Code: fault.CodeUsage, What: "a scenario asks for what the servers cannot give",
		Where: "scenario " + where, Err: err, Next: next}
}
