package env

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"hone/internal/blob"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
)

// keyVariable holds the key that clients of a server in a cluster send.
const keyVariable = "HONE_ENV_KEY"

// Deployment is what the user asks of hone cluster render.
type Deployment struct {
	Namespace, Image      string
	Config                string // the configuration's file; "": hone.yaml, where there is one
	Servers               string // file with the servers; "": the configuration's
	Dataset               string // scenarios file; "": the configuration's
	Replicas, MaxSessions int
}

// manifests is what manifests.yaml is filled in with.
type manifests struct {
	Deployment
	Name      string // of all objects
	Files     []manifestFile
	HasConfig bool
	Hash      string   // of the files
	Variables []string // that the Secret holds
	Memory    string
	InPods    []podServer // the servers that run so
}

type manifestFile struct{ Name, Text string }

// podServer is a server that runs in a pod for each session.
type podServer struct {
	Label, Pool string
	Labels      map[string]string
	Port        int
	Network     bool
	Spec        map[string]any // of its pods; nil where a pool is there already, whose owner says what they may reach
}

// MakesPods reports whether sessions make pods themselves.
func (m manifests) MakesPods() bool {
	return slices.ContainsFunc(m.InPods, func(s podServer) bool { return s.Pool == "" })
}

// Claims reports whether sessions claim pods of pools.
func (m manifests) Claims() bool {
	return slices.ContainsFunc(m.InPods, func(s podServer) bool { return s.Pool != "" })
}

//go:embed manifests.yaml
var manifestsText string

// Render writes the Kubernetes manifests by which a cluster runs hone env serve with the configuration, the servers and
// the scenarios here. What it would refuse there is refused here.
func Render(e job.Env, c config.Config, d Deployment) error {
	if err := d.check(); err != nil {
		return err
	}
	d.Servers = cmp.Or(d.Servers, c.MCP.Config)
	m := manifests{Deployment: d, Name: "hone-env", Variables: []string{keyVariable}}
	if err := m.readFiles(e.Host, c); err != nil {
		return err
	}
	servers, err := m.readServers(e.Host, c.MCP.Only)
	if err != nil {
		return err
	}
	if err := m.place(e.Host, c, servers); err != nil {
		return err
	}
	if name := c.Rollout.Summary.KeyEnv; name != "" && !slices.Contains(m.Variables, name) {
		m.Variables = append(m.Variables, name)
	}
	for _, name := range m.Variables { // which go into a shell's command, too
		if !variable.MatchString(name) {
			return &fault.Error{Code: fault.CodeUsage, What: "no Secret has such a variable",
				Where: strconv.Quote(name),
				Why:   "names of variables are letters, digits and _, and no digit is first",
				Next:  "correct it in " + m.Servers + " or in hone.yaml"}
		}
	}
	t, err := template.New("").Funcs(template.FuncMap{"json": quote, "text": block}).
		Parse(manifestsText)
	if err != nil {
		return err
	}
	if err := t.Execute(e.Data, m); err != nil {
		return err
	}
	e.Say("the Secret comes first: kubectl -n %s create secret generic %s%s", d.Namespace, m.Name,
		literals(m.Variables))
	return nil
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// literals are the arguments of kubectl that take variables of the shell into a Secret.
func literals(variables []string) string {
	text := ""
	for _, name := range variables {
		text += fmt.Sprintf(` --from-literal=%s="$%s"`, name, name)
	}
	return text
}

// label is what names of namespaces are.
var label = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

func (d Deployment) check() error {
	if !label.MatchString(d.Namespace) {
		return &fault.Error{Code: fault.CodeUsage, What: "Kubernetes has no such names",
			Where: "--namespace " + d.Namespace, Next: "write up to 63 small letters, digits and -, a letter first"}
	}
	if d.Image == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no image: --image names none",
			Next: "copy the image of a release into a registry, and name it as --image REGISTRY/hone:VERSION"}
	}
	if d.Replicas < 1 || d.MaxSessions < 1 {
		return &fault.Error{Code: fault.CodeUsage, What: "--replicas and --max-sessions must be positive",
			Next: "hone cluster render --help"}
	}
	return nil
}

// key is what names of files in a ConfigMap are, so that YAML reads them as they stand.
var key = regexp.MustCompile(`^[a-z]+\.[A-Za-z0-9]+$`)

// mostInConfigMap is what Kubernetes takes in one, with room for the rest of the object.
const mostInConfigMap = 1000 << 10

// readFiles reads the files that hone env serve is given, and refuses what it would.
func (m *manifests) readFiles(h *host.Host, c config.Config) error {
	var err error
	if m.Dataset, err = job.Dataset(m.Dataset, c); err != nil {
		return err
	}
	list, err := job.LoadForTraining(h, m.Dataset, false, len(c.Rewards.Expressions) > 0)
	if err != nil {
		return err
	}
	if list, err = servable(h, c, list, m.Dataset); err != nil {
		return err
	}
	for _, s := range list {
		if len(s.Template) > 0 {
			return &fault.Error{Code: fault.CodeUsage, What: "a scenario begins in a folder, which no ConfigMap holds",
				Where: m.Dataset + ", scenario " + s.ID,
				Next:  "build an image that holds the servers with their folders, and leave such scenarios out"}
		}
	}
	path := m.Config
	if path == "" {
		path = config.DefaultFile
	}
	size := 0
	scenarios := "scenarios" + filepath.Ext(m.Dataset)
	if !key.MatchString(scenarios) {
		scenarios = "scenarios.json" // as all are read that are not .jsonl
	}
	files := []struct{ path, name string }{{path, "hone.yaml"}, {m.Servers, "mcp.json"}, {m.Dataset, scenarios}}
	m.Dataset = files[2].name
	for _, f := range files {
		text, err := os.ReadFile(f.path)
		if f.name == "hone.yaml" && m.Config == "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return &fault.Error{Code: fault.CodeUsage, What: "cannot read a file of the deployment", Where: f.path,
				Err: err, Next: "correct its path or its permissions"}
		}
		m.HasConfig = m.HasConfig || f.name == "hone.yaml"
		m.Files = append(m.Files, manifestFile{f.name, string(text)})
		m.Hash, size = blob.Parts(m.Hash, string(text)).String(), size+len(text)
	}
	if size > mostInConfigMap {
		return &fault.Error{Code: fault.CodeUsage, What: "the configuration is too large for a ConfigMap",
			Where: m.Dataset, Why: fmt.Sprintf("with the servers it has %d bytes, of %d", size, mostInConfigMap),
			Next: "serve fewer scenarios in each of several namespaces"}
	}
	return nil
}

// readServers reads the servers, whose variables need not be set here: they are noted for the Secret.
func (m *manifests) readServers(h *host.Host, only []string) (mcp.Config, error) {
	servers, err := mcp.ReadConfig(m.Servers, func(name string) (string, bool) {
		switch name {
		case "PATH", "HOME", "LANG", "TMPDIR": // the image's own
			return "", false
		}
		if !slices.Contains(m.Variables, name) {
			m.Variables = append(m.Variables, name)
		}
		if value, set := h.LookupEnv(name); set {
			return value, true
		}
		return "http://" + strings.ToLower(name), true // which is read as a text and as a URL
	})
	if err == nil && len(only) > 0 {
		servers, err = servers.Only(only...)
	}
	for _, name := range slices.Sorted(maps.Keys(servers.Wrong)) {
		return servers, servers.Wrong[name]
	}
	return servers, err
}

// Memory of a server of episodes, measured with room: of hone, of a session in it, and of a session's program.
const (
	baseMiB    = 512
	sessionMiB = 1
	programMiB = 64
)

// place says where each server runs: in a pod for each session, in hone's own, or elsewhere.
func (m *manifests) place(h *host.Host, c config.Config, servers mcp.Config) error {
	programs, of := 0, map[string]string{} // the server that a pool's pods are made for
	for _, name := range slices.Sorted(maps.Keys(servers.Servers)) {
		s := servers.Servers[name]
		if s.Command != "" {
			programs++
			h.Say("server %s is a program, so the image has to hold %s; each session starts it in hone's own pod",
				name, s.Command)
		}
		if s.WritesOut(m.text("mcp.json")) {
			h.Say("server %s has a secret written out in %s, which the ConfigMap shows to whoever reads it: write "+
				"${NAME} in its place, or name a Secret of the pod's as its key secret", name, m.Servers)
		}
		if s.Pod == nil {
			continue
		}
		port, err := s.Port()
		if err != nil {
			return &fault.Error{Code: fault.CodeUsage, What: "the port of a server is not known",
				Where: "server " + name, Err: err, Next: `write its url as "http://pod:8000/mcp"`}
		}
		p := podServer{Label: sandbox.PodLabels(name)[sandbox.ServerLabel], Labels: sandbox.PodLabels(name),
			Pool: s.Pod.Pool, Port: port, Network: c.MCP.Sandbox.NetworkFor(name)}
		if s.Pod.Image != "" {
			p.Spec = s.Pod.Spec(port)
		}
		if other := of[p.Pool]; p.Pool != "" && p.Spec != nil && other != "" {
			return &fault.Error{Code: fault.CodeUsage, What: "two servers make one pool of pods",
				Where: "servers " + other + " and " + name, Why: "both have an image and the pool " + p.Pool,
				Next: "give each a pool of its own, or leave the image out where the pool is there already"}
		} else if p.Spec != nil {
			of[p.Pool] = name
		}
		m.InPods = append(m.InPods, p)
	}
	if programs > 0 && len(m.InPods) > 0 {
		h.Say("servers that are programs run where the token is by which hone asks for pods: run those that you do " +
			"not trust with it in pods too")
	}
	m.Memory = fmt.Sprintf("%dMi", baseMiB+m.MaxSessions*(sessionMiB+programs*programMiB))
	return nil
}

// text is that of a file.
func (m *manifests) text(name string) string {
	i := slices.IndexFunc(m.Files, func(f manifestFile) bool { return f.Name == name })
	return m.Files[i].Text
}

// quote writes a value as JSON, which YAML reads too where no character stands in it that YAML takes for none.
func quote(value any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return notInYAML.ReplaceAllStringFunc(strings.TrimSuffix(b.String(), "\n"), func(c string) string {
		return fmt.Sprintf(`\u%04x`, []rune(c)[0])
	}), err
}

// notInYAML are characters that stand in JSON and not in YAML (https://yaml.org/spec/1.2.2, 5.1 and 5.4: what was a
// line break in YAML 1.1 is one to kubectl).
var notInYAML = regexp.MustCompile(`[\x{7f}-\x{9f}\x{2028}\x{2029}\x{feff}\x{fffe}\x{ffff}]`)

// plainText are texts that a block of YAML gives back as they are.
var plainText = regexp.MustCompile(`^[!-~][\t\n -~\x{a0}-\x{2027}\x{202a}-\x{d7ff}]*$`)

// block writes a text as a block of YAML below a key of a map in a map, or in quotes where a block would change it.
func block(text string) (string, error) {
	if !plainText.MatchString(text) {
		return quote(text)
	}
	keep := "+"
	if !strings.HasSuffix(text, "\n") {
		keep = "-"
	}
	const indent = "    "
	lines := strings.ReplaceAll(indent+strings.TrimSuffix(text, "\n"), "\n", "\n"+indent)
	return "|" + keep + "\n" + lines, nil
}
