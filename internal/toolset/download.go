package toolset

import (
	"bytes"
	"context"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/mcp/sandbox"
)

// download has launchers fetch what they start, with the network and before it is started, and tells them to do without
// from then on. What is in their cache is not fetched again. Nothing of a package runs while the network is there.
func (o *Housing) download(ctx context.Context, c config.Sandbox) error {
	for _, name := range sortedNames(o.Servers) {
		server := o.Servers.Servers[name]
		r, isLauncher := LauncherOf(o.host, server.Command)
		if !isLauncher || o.Sandbox.Level() == sandbox.None || slices.Contains(c.Exempt, name) || c.NetworkFor(name) {
			continue
		}
		if args, ok := fetching(server.Command, server.Args); !ok {
			o.host.Say("server %s: what %s downloads is not known, so nothing is; mcp.sandbox.network grants it "+
				"the network", name, CommandLine(server))
		} else if _, err := o.launch(ctx, c, name, args, r, false); err != nil {
			out, err := o.launch(ctx, c, name, args, r, true)
			if err != nil {
				return &fault.Error{Code: fault.CodeUnavailable, What: "cannot download the server",
					Where: "server " + name, Why: lastLines(out), Err: err,
					Next: "run its command by hand; a package that has to be built needs hone servers add --build"}
			}
			o.host.Say(`server %s is downloaded, and runs without the network; "hosts": ["api.example.com"] in its entry opens some`, name)
		}
		server.Env = maps.Clone(server.Env)
		maps.Copy(server.Env, map[string]string{"npm_config_offline": "true", "UV_OFFLINE": "1"})
		o.Servers.Servers[name] = server
	}
	return nil
}

// launch runs a launcher that is to start nothing, with the user's settings for downloads and none of the server's
// secrets.
func (o *Housing) launch(
	ctx context.Context, c config.Sandbox, name string, args []string, r Launcher, network bool,
) ([]byte, error) {
	server := o.Servers.Servers[name]
	env := map[string]string{"npm_config_ignore_scripts": "true", "npm_config_offline": "true", "UV_OFFLINE": "1"}
	if network {
		env = map[string]string{"npm_config_ignore_scripts": "true"}
	}
	if !slices.Contains(args, "run") { // a project of the user's own may have to be built
		env["UV_NO_BUILD"] = "1"
	}
	for variable, value := range server.Env {
		if _, ours := r.env[variable]; ours || strings.HasPrefix(strings.ToLower(variable), "npm_config_") ||
			strings.HasPrefix(variable, "UV_") {
			env[variable] = value
		}
	}
	env["PATH"], _ = o.host.LookupEnv("PATH")
	env["HOME"], _ = o.host.LookupEnv("HOME")
	g := Grants(o.host, c, name, server, "", nil)
	g.Network, g.Env = network, slices.Collect(maps.Keys(env))
	ctx, cancel := context.WithTimeout(ctx, downloadTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, server.Command, args...)
	cmd.Dir, cmd.WaitDelay = server.Cwd, time.Second // what it started may hold its output
	for variable, value := range env {
		cmd.Env = append(cmd.Env, variable+"="+value)
	}
	if err := o.Sandbox.Wrap(cmd, g); err != nil {
		return nil, err
	}
	return cmd.CombinedOutput()
}

// lastLines is where a package manager says what was wrong.
func lastLines(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(bytes.ToValidUTF8(out, nil))), "\n")
	return strings.Join(lines[max(0, len(lines)-6):], "\n")
}

// flagsWithValue are the launchers' flags whose value stands behind them.
func flagsWithValue() []string {
	return strings.Fields("-c --call --registry --cache --prefix --userconfig -w --workspace " +
		"--with --with-requirements --with-editable --python -p --index --default-index --index-url -i " +
		"--extra-index-url --find-links -f --constraints --overrides --directory --project --refresh-package " +
		"--env-file --group --extra --only-group --index-strategy --keyring-provider --resolution --prerelease " +
		"--config-file --cache-dir --exclude-newer --link-mode --color")
}

// fetching are the arguments with which a launcher downloads what it would start with args, and starts nothing. It
// reports false where it cannot tell what that is.
func fetching(command string, args []string) (out []string, ok bool) {
	base := filepath.Base(command)
	isNPM := base == "npx" || base == "npm"
	verbs := map[string][]string{"npm": {"exec", "x"}, "uv": {"tool", "run"}}[base]
	ran := base != "npm" && base != "uv" // the verb is behind us
	var packages []string
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		takes := !joined && slices.Contains(flagsWithValue(), flag)
		switch {
		case flag == "--package" || flag == "-p" && isNPM || flag == "--from":
			if !joined && i+1 < len(args) {
				i++
				value = args[i]
			}
			packages = append(packages, value)
		case flag == "--" && ran && i+1 < len(args):
		case (flag == "-c" || flag == "--call") && isNPM:
			i++
		case strings.HasPrefix(flag, "-"):
			out = append(out, args[i])
			if takes && i+1 < len(args) {
				i++
				out = append(out, args[i])
			}
		case !ran && slices.Contains(verbs, args[i]):
			out = append(out, args[i])
			ran = args[i] != "tool"
		case !ran:
			return nil, false
		default:
			if len(packages) == 0 {
				packages = []string{args[i]}
			}
			i = len(args)
		}
	}
	project := base == "uv" && slices.Contains(out, "run") && !slices.Contains(out, "tool")
	switch {
	case len(packages) == 0 || !ran:
		return nil, false
	case isNPM:
		out = append(out, "-y")
		for _, p := range packages {
			out = append(out, "--package="+p)
		}
		return append(out, "-c", "true"), true
	case !project:
		out = append(out, "--from", requirement(packages[0]))
	}
	return append(out, "python", "-c", "pass"), true
}

// requirement is what uvx is told to start, as its flag --from takes it: name@1.2 is name==1.2.
func requirement(spec string) string {
	name, version, ok := strings.Cut(spec, "@")
	switch {
	case !ok || strings.ContainsAny(spec, "/: "):
		return spec
	case version == "latest":
		return name
	}
	return name + "==" + version
}
