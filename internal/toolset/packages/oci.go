package packages

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hone/internal/fault"
)

// imagePattern is a reference of an image (OCI distribution, reference grammar) with its registry's host:
// HOST/PATH[:TAG][@DIGEST].
var imagePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?$`)

// idPattern is an image without a registry, by its own hash.
var idPattern = regexp.MustCompile(`^(sha256:)?[a-f0-9]{64}$`)

var variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// Engines run images; the first that is there is taken.
func Engines() []string { return []string{"docker", "podman"} }

// EngineVariables are the variables by which an engine's client finds its engine, its images and its keys.
func EngineVariables() []string {
	return []string{
		"HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY",
		"CONTAINER_HOST", "CONTAINERS_CONF", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
		"XDG_DATA_HOME",
	}
}

// ImageName is the whole name of an image, with host: of mcp/time:1 it is docker.io/mcp/time:1. ok is false where it is
// none.
func ImageName(text string) (name string, ok bool) {
	first, _, several := strings.Cut(text, "/")
	switch {
	case !several:
		text = "docker.io/library/" + text
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		text = "docker.io/" + text
	}
	return text, imagePattern.MatchString(text)
}

// image downloads an image, and finds the hash that it is run by. The engine downloads: it is a program of the user's,
// and has sandboxes of its own.
func (r Request) image(ctx context.Context, text string) (in Installed, err error) {
	name, ok := ImageName(text)
	if !ok {
		return in, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("%q is no name of an image", text),
			Next: "write oci:HOST/NAME:TAG or oci:HOST/NAME@sha256:DIGEST"}
	}
	path := ""
	for _, engine := range Engines() {
		if path, err = r.find(engine); err == nil {
			in.Command = engine
			break
		}
	}
	if in.Command == "" {
		return in, &fault.Error{Code: fault.CodeUsage,
			What: "the server is an image, and neither docker nor podman is on PATH", Where: r.Package,
			Next: "install one of them (apt install podman), then give the same command again"}
	}
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Env = append([]string{"PATH=" + r.PATH}, r.EngineEnv...)
		return cmd.CombinedOutput()
	}
	_, digest, _ := strings.Cut(name, "@")
	described, err := run("image", "inspect", name)
	if digest == "" || err != nil { // a tag may lead to another image by now
		pulled, failed := run("pull", name)
		if failed != nil && err != nil { // one that was built here can be in no registry
			return in, r.installError(failed, pulled)
		}
		if failed == nil {
			described, err = run("image", "inspect", name)
		}
	}
	if err != nil {
		return in, r.installError(err, described)
	}
	if in.Image, in.Version, err = imageByHash(name, described); err != nil {
		return in, r.installError(err, described)
	}
	in.Packages, in.Lock = 1, filepath.Join(r.Dir, "oci.lock")
	return in, os.WriteFile(in.Lock, []byte(name+" "+in.Image+"\n"), 0o644)
}

// imageByHash is an image by its hash, as an engine describes it, and the version that its tag or its label states.
func imageByHash(name string, described []byte) (image, version string, err error) {
	var list []struct {
		ID          string `json:"Id"`
		RepoDigests []string
		Config      struct{ Labels map[string]string }
	}
	if err := json.Unmarshal(described, &list); err != nil || len(list) == 0 {
		return "", "", fmt.Errorf("what the engine says of the image cannot be read: %w", err)
	}
	tagged, digest, _ := strings.Cut(name, "@")
	repository := tagged
	if colon := strings.LastIndex(tagged, ":"); colon > strings.LastIndex(tagged, "/") {
		repository, version = tagged[:colon], tagged[colon+1:]
	}
	if label := list[0].Config.Labels["org.opencontainers.image.version"]; label != "" {
		version = label
	}
	for _, d := range list[0].RepoDigests {
		of, sum, _ := strings.Cut(d, "@")
		if whole, _ := ImageName(of); digest == "" && whole == repository {
			digest = sum
		}
	}
	image = repository + "@" + digest
	if digest == "" {
		image = list[0].ID
	}
	if !imagePattern.MatchString(image) && !idPattern.MatchString(image) {
		return "", "", fmt.Errorf("the engine names no hash of the image, but %q", image)
	}
	return image, version, nil
}

// Container is how an image is run.
type Container struct {
	Image   string
	Env     []string // names of variables that it gets; values are in no argument, which all users of a machine can see
	Volumes []string // HOST:CONTAINER, or HOST:CONTAINER:ro
	Network bool
}

// Args are the engine's arguments, before those of the server.
func (c Container) Args() []string {
	args := []string{"run", "--rm", "-i", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"}
	if !c.Network {
		args = append(args, "--network", "none")
	}
	slices.Sort(c.Env)
	for _, name := range c.Env {
		args = append(args, "--env", name)
	}
	for _, v := range c.Volumes {
		args = append(args, "--volume", v)
	}
	return append(args, c.Image)
}

// ReadContainer reads what Args wrote, with the server's arguments behind it. ok is false of any other: an engine's
// other flags can give a server all of the machine.
func ReadContainer(args []string) (c Container, rest []string, ok bool) {
	if len(args) == 0 || args[0] != "run" {
		return c, nil, false
	}
	c.Network = true
	seen := map[string]bool{}
	for args = args[1:]; len(args) > 0 && strings.HasPrefix(args[0], "-"); args = args[1:] {
		flag := args[0]
		if flag != "--rm" && flag != "-i" {
			if len(args) == 1 {
				return c, nil, false
			}
			args = args[1:]
			flag += " " + args[0]
		}
		name, value, _ := strings.Cut(flag, " ")
		seen[flag] = true
		switch {
		case slices.Contains([]string{"--rm", "-i", "--cap-drop ALL", "--security-opt no-new-privileges"}, flag):
		case flag == "--network none":
			c.Network = false
		case name == "--env" && variablePattern.MatchString(value):
			c.Env = append(c.Env, value)
		case name == "--volume" && GoodVolume(value):
			c.Volumes = append(c.Volumes, value)
		default:
			return c, nil, false
		}
	}
	if len(args) == 0 || !imagePattern.MatchString(args[0]) && !idPattern.MatchString(args[0]) || !seen["--rm"] ||
		!seen["-i"] || !seen["--cap-drop ALL"] || !seen["--security-opt no-new-privileges"] {
		return c, nil, false
	}
	c.Image = args[0]
	return c, args[1:], true
}

// GoodVolume reports whether a text is a volume of Container, of a folder rather than of a name that the engine keeps.
func GoodVolume(text string) bool {
	parts := strings.Split(text, ":")
	host := parts[0]
	return (len(parts) == 2 || len(parts) == 3 && parts[2] == "ro") &&
		(strings.HasPrefix(host, "/") || strings.HasPrefix(host, "${")) && strings.HasPrefix(parts[1], "/") &&
		!strings.Contains(host, "..")
}
