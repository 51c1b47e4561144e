// Package packages puts the package of an MCP server into a folder of its own, once and with the network, so that the
// server then runs without one. The folder says what is in it: npm's package-lock.json or pip's requirements.lock, with
// versions and hashes.
//
// It also reads lists of servers: the official registry's API and its server.json (schema 2025-12-11), the lists of
// Smithery and Glama, mcp.json files, and folders of such files. Reading a list runs nothing of what is in it. Lists
// are written by strangers. An entry that could be taken for something else is left out, with the reason: a package
// name that npm or pip would read as a path or a flag, a text that asks for the user's variables.
package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hone/internal/fault"
)

// Request names a package and where it goes.
type Request struct {
	// npm:NAME[@VERSION] or pypi:NAME[==VERSION], or a file in the place of NAME; mcpb:FILE or mcpb:URL#SHA256;
	// oci:IMAGE
	Package string
	Lock    *Lock  // in the place of Package: what a lock says is installed
	Bin     string // which of its programs; needed where it has several and none is named like it
	Dir     string // folder to make
	Build   bool   // run the packages' own install scripts; without it nothing of theirs runs
	Python  string // interpreter of a PyPI package's environment
	PATH    string // to find npm, Python and the engine of images on
	// EngineEnv are NAME=VALUE of EngineVariables.
	EngineEnv []string
	// Constraints bound the versions of what a PyPI package needs, such as "mcp<2" (pip, constraints files).
	Constraints []string
}

// Network is what a command of an installation may reach.
type Network int

const (
	NoNetwork Network = iota
	Registry          // whatever the package manager asks for: nothing of the packages' own runs
	Scripts           // what is public, and the registry: the packages' own scripts run
)

// Run runs a command of the package manager, kept in: it may write to dir and read the files given, and may use the
// network as far as that is said. It returns what was printed.
type Run func(ctx context.Context, cmd *exec.Cmd, dir string, read []string, network Network) ([]byte, error)

// network is what a command reaches that runs the packages' own scripts with Build.
func (r Request) network() Network {
	if r.Build {
		return Scripts
	}
	return Registry
}

// Installed is what was installed.
type Installed struct {
	Command  string            `json:"command"`         // the program, absolute
	Args     []string          `json:"args,omitempty"`  // that its package wants before the user's
	Image    string            `json:"image,omitempty"` // by its hash; Command is the engine that runs it
	Env      map[string]string `json:"env,omitempty"`   // that its package sets
	Version  string            `json:"version"`
	Packages int               `json:"packages"` // of all, with what the package needs
	Lock     string            `json:"lock"`     // the file with versions and hashes
	// Unbuilt are the packages that have install scripts which did not run.
	Unbuilt []string `json:"unbuilt,omitempty"`
}

// Add installs. On an error nothing is left of Dir; a *fault.Error says what to do.
func Add(ctx context.Context, r Request, run Run) (in Installed, err error) {
	if r.Lock != nil {
		r.Package = r.Lock.Package
	}
	kind, name, ok := strings.Cut(r.Package, ":")
	if r.Lock == nil && (!ok || name == "" || kind != "npm" && kind != "pypi" && kind != "mcpb" && kind != "oci") {
		return in, &fault.Error{
			Code: fault.CodeUsage,
			What: fmt.Sprintf("%q names no package", r.Package),
			Next: "write npm:NAME or pypi:NAME, such as npm:@modelcontextprotocol/server-memory@2026.8.31, " +
				"or mcpb:FILE, or oci:IMAGE",
		}
	}
	if strings.HasPrefix(name, "-") {
		return in, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("%q is a flag, not a package", name),
			Next: "write npm:NAME or pypi:NAME"}
	}
	for _, c := range r.Constraints {
		if kind != "pypi" || c == "" || strings.HasPrefix(c, "-") || strings.ContainsAny(c, "\r\n") {
			return in, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("%q bounds no version", c),
				Where: r.Package, Next: "for a PyPI package write NAME<VERSION, such as mcp<2"}
		}
	}
	if r.Dir, err = filepath.Abs(r.Dir); err != nil {
		return in, err
	}
	if _, err := os.Lstat(r.Dir); err == nil {
		return in, &fault.Error{Code: fault.CodeUsage, What: "something is installed there already", Where: r.Dir,
			Next: "remove the folder, or give the server another --name"}
	}
	made := missing(filepath.Dir(r.Dir))
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return in, &fault.Error{Code: fault.CodeExhausted, What: "cannot make the server's folder", Where: r.Dir,
			Err: err, Next: "name another with --dir"}
	}
	defer func() {
		if err == nil {
			return
		}
		_ = os.RemoveAll(r.Dir) // what is half there would be taken for the whole
		for _, dir := range slices.Backward(made) {
			_ = os.Remove(dir) // one that is not empty has another's
		}
	}()
	switch {
	case r.Lock != nil:
		return r.installLock(ctx, run)
	case kind == "mcpb":
		return r.mcpb(ctx, name)
	case kind == "oci":
		return r.image(ctx, name)
	}
	var read []string
	info, statErr := os.Stat(name)
	if statErr == nil && info.IsDir() {
		return in, &fault.Error{
			Code:  fault.CodeUsage,
			What:  "a folder cannot be locked, for it changes",
			Where: name,
			Next: "pack it (npm pack, or pip wheel) and name the file; or write its program into the MCP " +
				"configuration by hand",
		}
	}
	if statErr == nil && info.Mode().IsRegular() {
		if name, err = filepath.Abs(name); err != nil {
			return in, err
		}
		read = append(read, name)
	}
	if kind == "npm" {
		return r.npm(ctx, name, read, run)
	}
	return r.pypi(ctx, name, read, run)
}

// missing are the folders on the way to one, and itself, that are not there, the outermost first.
func missing(dir string) (out []string) {
	for _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir; _, err = os.Lstat(dir) {
		out = append(out, dir)
		dir = filepath.Dir(dir)
	}
	slices.Reverse(out)
	return out
}

// find looks a program up on the request's PATH.
func (r Request) find(program string) (string, error) {
	if filepath.IsAbs(program) {
		return program, nil
	}
	for _, dir := range filepath.SplitList(r.PATH) {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("%s is not on PATH", program),
		Next: "install it, or put its folder on PATH"}
}

func (r Request) installError(err error, out []byte) error {
	text := strings.TrimSpace(string(out))
	f := &fault.Error{Code: fault.CodeUnavailable, What: "cannot install the package", Where: r.Package,
		Why: text, Err: err, Next: r.nextFor(text)}
	return f
}

// needsPython is how pip names the versions that it left out for the interpreter.
var needsPython = regexp.MustCompile(`Requires-Python:? ?>=? ?(\d+\.\d+)`)

// nextFor is what to do about what a package manager printed: npm and pip each have their own words for the same few
// reasons.
func (r Request) nextFor(text string) string {
	says := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
	}
	const build = "a package that has to be built needs --build, which runs its own scripts in the sandbox"
	switch older := needsPython.FindStringSubmatch(text); {
	case says("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "Temporary failure in name resolution",
		"NewConnectionError", "ConnectTimeoutError"):
		return r.hostAdvice(text)
	case older != nil && says("No matching distribution", "requires a different Python", "ResolutionImpossible"):
		return "it needs another Python: install Python " + older[1] + " or newer, and give --python python" + older[1]
	case says("E404", "404 Not Found"):
		return "look at the package's name: the registry has none of that name"
	case says("ETARGET", "No matching version"):
		return "look at the version: the registry has the package, and not that version of it"
	case says("No matching distribution") && !r.Build:
		return "look at the package's name and version; one that is there as source alone has to be built: " +
			"--build runs its own scripts in the sandbox"
	case says("No matching distribution"):
		return "look at the package's name and version"
	case r.Build:
		return "look at the reason; --verbose shows the whole of it"
	}
	return "look at the reason; --verbose shows the whole of it; " + build
}

var (
	// notFound are the words of npm, of its packages' scripts and of pip for a host that they do not reach.
	notFound = regexp.MustCompile(
		`(?:getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|(?:ECONNREFUSED|ETIMEDOUT)) ([A-Za-z0-9][\w.:-]*)|host='([^']+)'`,
	)
	ofScript = regexp.MustCompile(`npm (?:error|ERR!) command failed`)
)

// hostAdvice is what to do about a host that was not reached. With --build, a package's own script may ask for another
// than the registry.
func (r Request) hostAdvice(text string) string {
	var hosts []string
	for _, m := range notFound.FindAllStringSubmatch(text, -1) {
		if host := strings.TrimRight(m[1]+m[2], ".:"); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	switch named := strings.Join(hosts, ", "); {
	case named == "":
		return "look at the network: the package manager does not reach its registry"
	case r.Build && ofScript.MatchString(text):
		return "look at the network: an install script of a package does not reach " + named
	default:
		return "look at the network: the package manager does not reach " + named
	}
}

// choose picks the program: the one asked for, the only one, or the one named like the package. The package says what
// they are called: a name that leads elsewhere is none of its programs.
func (r Request) choose(pkg string, bins []string) (string, error) {
	bins = slices.DeleteFunc(bins, func(name string) bool {
		return name == "" || name == ".." || filepath.Base(name) != name
	})
	slices.Sort(bins)
	base := pkg[strings.LastIndex(pkg, "/")+1:]
	switch {
	case slices.Contains(bins, r.Bin):
		return r.Bin, nil
	case r.Bin == "" && len(bins) == 1:
		return bins[0], nil
	case r.Bin == "" && slices.Contains(bins, base):
		return base, nil
	case len(bins) == 0:
		return "", &fault.Error{Code: fault.CodeUsage, What: "the package has no program to start", Where: r.Package,
			Next: "look in its manual for the package of the server"}
	}
	return "", &fault.Error{Code: fault.CodeUsage, What: "which program of the package is the server?",
		Where: r.Package, Why: "it has " + strings.Join(bins, ", "), Next: "name one with --bin"}
}
