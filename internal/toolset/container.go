package toolset

import (
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/toolset/packages"
)

// engineEnv are the user's variables by which an engine of images finds what it needs.
func engineEnv(h *host.Host) (env []string) {
	for _, name := range packages.EngineVariables() {
		if value, set := h.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// inContainer reports whether a server is an image that its engine keeps in at least as well as the sandbox would: run
// as hone servers add writes it, with no folder and no network that the configuration does not grant. Its client speaks
// to the engine's socket, which the sandbox would keep from it.
func inContainer(c config.Sandbox, name string, server mcp.Server, folder string, args []string) bool {
	run, _, ok := packages.ReadContainer(args)
	if !ok || !slices.Contains(packages.Engines(), server.Command) || server.Cwd != "" ||
		run.Network && len(server.Hosts) == 0 && !c.NetworkFor(name) {
		return false
	}
	for variable := range server.Env { // the client itself has them too
		if !slices.Contains(run.Env, variable) || steers(variable) {
			return false
		}
	}
	for _, v := range run.Volumes {
		granted := append(c.WriteFor(name), folder)
		if strings.HasSuffix(v, ":ro") {
			granted = append(granted, c.ReadFor(name)...)
		}
		from, _, _ := strings.Cut(v, ":")
		if real, err := filepath.EvalSymlinks(from); err != nil ||
			!InFolders(real, slices.DeleteFunc(granted, func(g string) bool { return g == "" })) {
			return false
		}
	}
	return true
}

// steers reports whether a variable changes which program runs, or which engine is spoken to.
func steers(variable string) bool {
	if slices.Contains(packages.EngineVariables(), variable) || slices.Contains([]string{"PATH", "TMPDIR"}, variable) {
		return true
	}
	return slices.ContainsFunc(
		[]string{"LD_", "DYLD_",
			"DOCKER_", "CONTAINER", "PODMAN_", "XDG_", "GODEBUG", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "SSL_CERT"},
		func(prefix string) bool { return strings.HasPrefix(strings.ToUpper(variable), prefix) },
	)
}

// intoContainer has an engine's client see the user's engine and images: each episode has a HOME of its own, where
// there are none. Where the configuration grants the network, the image has it.
func intoContainer(h *host.Host, c config.Sandbox, name string, cmd *exec.Cmd) {
	env := map[string]string{}
	for _, entry := range slices.Concat(cmd.Env, engineEnv(h)) {
		variable, value, _ := strings.Cut(entry, "=")
		env[variable] = value
	}
	cmd.Env = []string{}
	for _, variable := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, variable+"="+env[variable])
	}
	if run, rest, ok := packages.ReadContainer(cmd.Args[1:]); ok && c.NetworkFor(name) {
		run.Network = true
		cmd.Args = slices.Concat(cmd.Args[:1], run.Args(), rest)
	}
}

// sayContainer tells of a server that is an image, which what is said of the sandbox does not hold for.
func sayContainer(h *host.Host, c config.Sandbox, name string, server mcp.Server) {
	run, _, _ := packages.ReadContainer(server.Args)
	reach := "without the network"
	switch {
	case c.NetworkFor(name):
		reach = "with the network"
	case run.Network:
		reach = "with the whole network: nothing holds an image to its hosts"
	}
	h.Say("server %s is an image, which %s runs, %s", name, server.Command, reach)
}

// checkVolumes refuses a volume that is none, or that nothing would mount.
func (x *Addition) checkVolumes() error {
	for _, v := range x.Volumes {
		if !strings.HasPrefix(x.Package, "oci:") {
			return &fault.Error{Code: fault.CodeUsage, What: "only an image has volumes", Where: "--volume " + v,
				Next: "grant the server a folder with mcp.sandbox.write in hone.yaml"}
		}
		if !packages.GoodVolume(v) {
			return &fault.Error{
				Code:  fault.CodeUsage,
				What:  "that is no volume",
				Where: "--volume " + v,
				Next: "write --volume '${HONE_EPISODE_DIR}:/data', or /folder:/data:ro, " +
					"which mcp.sandbox.read must grant",
			}
		}
	}
	return nil
}
