package toolset

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/mcp"
)

// Only what an engine keeps in is started outside of the sandbox.
func TestContained(t *testing.T) {
	folder, other := t.TempDir(), t.TempDir()
	const good = "run --rm -i --cap-drop ALL --security-opt no-new-privileges --network none"
	const image = " images.example.com/x/y@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	open := strings.Replace(good, " --network none", "", 1)
	for _, tc := range []struct {
		args string
		s    mcp.Server
		c    config.Sandbox
		want bool
	}{
		{good + image, mcp.Server{Command: "docker"}, config.Sandbox{}, true},
		// an argument of the server
		{good + image + " --privileged", mcp.Server{Command: "podman"}, config.Sandbox{}, true},
		{good + " --privileged" + image, mcp.Server{Command: "docker"}, config.Sandbox{}, false},
		{good + image, mcp.Server{Command: "/tmp/docker"}, config.Sandbox{}, false},
		{good + image, mcp.Server{Command: "docker", Cwd: "/tmp"}, config.Sandbox{}, false},
		{good + image, mcp.Server{Command: "sh"}, config.Sandbox{}, false},
		{strings.Replace(good, "--cap-drop ALL ", "", 1) + image, mcp.Server{Command: "docker"}, config.Sandbox{}, false},
		{open + image, mcp.Server{Command: "docker"}, config.Sandbox{}, false},
		{open + image, mcp.Server{Command: "docker", Hosts: []string{"a.example"}}, config.Sandbox{}, true},
		{open + image, mcp.Server{Command: "docker"}, config.Sandbox{Network: []string{"s"}}, true},
		{good + " --network host" + image, mcp.Server{Command: "docker"}, config.Sandbox{}, false},
		{good + " --env KEY" + image, mcp.Server{Command: "docker", Env: map[string]string{"KEY": "v"}}, config.Sandbox{}, true},
		{good + " --env KEY=v" + image, mcp.Server{Command: "docker"}, config.Sandbox{}, false},
		{good + image, mcp.Server{Command: "docker", Env: map[string]string{"KEY": "v"}}, config.Sandbox{}, false},
		{good + " --env LD_PRELOAD" + image, mcp.Server{Command: "docker", Env: map[string]string{"LD_PRELOAD": "v"}}, config.Sandbox{}, false},
		{good + " --env DOCKER_HOST" + image, mcp.Server{Command: "docker", Env: map[string]string{"DOCKER_HOST": "v"}}, config.Sandbox{}, false},
		{good + " --volume " + folder + ":/data" + image, mcp.Server{Command: "docker"}, config.Sandbox{}, true},
		{good + " --volume " + other + ":/data" + image, mcp.Server{Command: "docker"}, config.Sandbox{}, false},
		{good + " --volume " + other + ":/data" + image, mcp.Server{Command: "docker"}, config.Sandbox{Write: []string{"s:" + other}}, true},
		{good + " --volume " + other + ":/data" + image, mcp.Server{Command: "docker"}, config.Sandbox{Read: []string{"s:" + other}}, false},
		{good + " --volume " + other + ":/data:ro" + image, mcp.Server{Command: "docker"}, config.Sandbox{Read: []string{"s:" + other}}, true},
		{good, mcp.Server{Command: "docker"}, config.Sandbox{}, false},
		{"exec" + image, mcp.Server{Command: "docker"}, config.Sandbox{}, false},
		{"", mcp.Server{Command: "docker"}, config.Sandbox{}, false},
	} {
		if got := inContainer(tc.c, "s", tc.s, folder, slices.Clone(strings.Fields(tc.args))); got != tc.want {
			t.Errorf("%s %s: %v", tc.s.Command, tc.args, got)
		}
	}
}
