package toolset

import (
	"strings"

	"hone/internal/config"
)

// again is the command line that adds the server once more in the place of the one that is there now, with the flags
// that were given and some more, without its arguments.
func (x Wanted) again(c config.Config, name string, more ...string) string {
	words := []string{"hone servers add", ShellWord(x.Package), "--name", ShellWord(name)}
	add := func(flag string, values ...string) {
		for _, value := range values {
			if value != "" &&
				!(flag == "--constraint" && len(more) > 1 && more[0] == flag && more[1] == ShellWord(value)) {
				words = append(words, flag, ShellWord(value))
			}
		}
	}
	if x.File != c.MCP.Config {
		add("--mcp-config", x.File)
	}
	add("--dir", x.Dir)
	add("--bin", x.Bin)
	if x.Python != "python3" { // as the flag has it where nobody gives it
		add("--python", x.Python)
	}
	add("--host", x.Hosts...)
	add("--volume", x.Volumes...)
	add("--constraint", x.Constraints...)
	add("--registry", x.Registry)
	add("--set", x.Set...)
	add("--env", x.Env...)
	if x.Build {
		words = append(words, "--build")
	}
	return strings.Join(append(append(words, "--force"), more...), " ") + AllowFlag(x.AllowFindings)
}
