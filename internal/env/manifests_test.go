package env

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
)

var update = flag.Bool("update", false, "write the manifests that are expected anew")

// deployments are by the name of the file that holds what is expected.
func deployments() map[string]struct{ servers, config string } {
	return map[string]struct{ servers, config string }{
		"url.yaml": {
			`{"mcpServers": {"shop": {"url": "${SHOP_URL}", "headers": {"Authorization": "Bearer ${SHOP_TOKEN}"}}}}`,
			"",
		},
		"pods.yaml": {`{"mcpServers": {
	"Notes_2": {"url": "http://pod:8000/mcp", "kubernetes": {"image": "registry/notes:1", "args": ["--http"]}},
	"web": {"url": "http://pod/mcp", "kubernetes": {"image": "registry/web:1", "secret": "web-keys"}},
	"local": {"command": "node", "args": ["server.js"]}}}
`, "# of the team\nmcp:\n  sandbox:\n    network: [web]\n\n\n"},
		"claims.yaml": {`{"mcpServers": {
	"files": {"url": "http://pod:8000/mcp", "kubernetes": {"pool": "files", "image": "registry/files:1",
		"env": {"ROOT": "/tmp"}, "memory": "512Mi", "cpu": "250m", "runtimeClass": "gvisor"}},
	"theirs": {"url": "http://pod:9000/mcp", "kubernetes": {"pool": "shared-pool"}}}}`, "seed: 7"},
	}
}

const oneScenario = `[{"id": "a", "task": "Say – \"hi\".", "split": "train",
  "checks": [{"type": "call", "name": "hi", "arguments": {}}]}]
`

// render renders files in a folder of their own.
func render(t *testing.T, servers, configuration, scenarios string, d Deployment) (written, said string, err error) {
	t.Helper()
	dir := t.TempDir()
	d.Servers, d.Dataset = filepath.Join(dir, "servers.json"), filepath.Join(dir, cmp.Or(d.Dataset, "tasks.json"))
	d.Config = filepath.Join(dir, "h.yaml")
	for path, text := range map[string]string{d.Servers: servers, d.Dataset: scenarios, d.Config: configuration} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(d.Config)
	if err != nil {
		t.Fatal(err)
	}
	if configuration == "" {
		d.Config = ""
	}
	var out, talk bytes.Buffer
	err = Render(job.Env{Host: &host.Host{Data: sanitize.New(&out), Talk: sanitize.New(&talk),
		LookupEnv: func(string) (string, bool) { return "", false }}}, c, d)
	return out.String(), talk.String(), err
}

func usual() Deployment {
	return Deployment{Namespace: "rl", Image: "registry/hone:v1", Replicas: 2, MaxSessions: 16}
}

func TestManifests(t *testing.T) {
	for name, c := range deployments() {
		t.Run(name, func(t *testing.T) {
			got, _, err := render(t, c.servers, c.config, oneScenario, usual())
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "manifests", name)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("not as in %s; go test ./internal/env -run Manifests -update rewrites it:\n%s", path, got)
			}
			data := configMapOf(t, got)
			for key, text := range map[string]string{"mcp.json": c.servers, "hone.yaml": c.config,
				"scenarios.json": oneScenario} {
				if data[key] != text {
					t.Errorf("the ConfigMap has as %s\n%q\nwant\n%q", key, data[key], text)
				}
			}
		})
	}
}

// configMapOf is the data of the ConfigMap, as a reader of YAML has them; each of the manifests has to be readable.
func configMapOf(t *testing.T, manifests string) (data map[string]string) {
	t.Helper()
	documents := yaml.NewDecoder(strings.NewReader(manifests))
	for {
		var one struct {
			Kind string
			Data map[string]string
		}
		err := documents.Decode(&one)
		if errors.Is(err, io.EOF) {
			return data
		}
		if err != nil || one.Kind == "" {
			t.Fatalf("%+v, %v", one, err)
		}
		if one.Kind == "ConfigMap" {
			data = one.Data
		}
	}
}

// What cannot run in a cluster is refused before anything is written.
func TestDeploymentsRefused(t *testing.T) {
	const servers = `{"mcpServers": {"shop": {"url": "http://shop/mcp"}}}`
	folder := strings.Replace(oneScenario, `"split"`, `"template": ".", "split"`, 1)
	for name, c := range map[string]struct {
		config, scenarios string
		change            func(*Deployment)
		want              string
	}{
		"no image":                {"", oneScenario, func(d *Deployment) { d.Image = "" }, "no image"},
		"a namespace in capitals": {"", oneScenario, func(d *Deployment) { d.Namespace = "RL" }, "--namespace RL"},
		"no replica":              {"", oneScenario, func(d *Deployment) { d.Replicas = 0 }, "must be positive"},
		"what no trainer has":     {"rewards: {repair: -0.1}", oneScenario, func(*Deployment) {}, "rewards.repair"},
		"a folder":                {"", folder, func(*Deployment) {}, "scenario a"},
		"too many scenarios": {"", oneScenario + strings.Repeat(" ", mostInConfigMap), func(*Deployment) {},
			"too large for a ConfigMap"},
	} {
		t.Run(name, func(t *testing.T) {
			d := usual()
			c.change(&d)
			written, _, err := render(t, servers, c.config, c.scenarios, d)
			if f, is := errors.AsType[*fault.Error](err); !is || !strings.Contains(f.Error(), c.want) || f.Next == "" {
				t.Errorf("error %v, want one with %q and what to do", err, c.want)
			}
			if written != "" {
				t.Errorf("wrote %d bytes all the same", len(written))
			}
		})
	}
}

// Who renders is told which variables the Secret has to hold, and which programs the image.
func TestWhatADeploymentNeeds(t *testing.T) {
	c := deployments()
	_, said, err := render(t, c["url.yaml"].servers, "", oneScenario, usual())
	if want := `kubectl -n rl create secret generic hone-env --from-literal=HONE_ENV_KEY="$HONE_ENV_KEY" ` +
		`--from-literal=SHOP_URL="$SHOP_URL" --from-literal=SHOP_TOKEN="$SHOP_TOKEN"`; err != nil ||
		!strings.Contains(said, want) {
		t.Errorf("said %q and error %v, want %q", said, err, want)
	}
	_, said, err = render(t, c["pods.yaml"].servers, "", oneScenario, usual())
	for _, want := range []string{"the image has to hold node", "where the token is"} {
		if err != nil || !strings.Contains(said, want) || strings.Contains(said, "written out") {
			t.Errorf("said %q and error %v, want %q", said, err, want)
		}
	}
	for _, server := range []string{`"url": "http://s/", "headers": {"Authorization": "Bearer 0123456789"}`,
		`"url": "http://pod:1/", "kubernetes": {"image": "i", "env": {"API_KEY": "0123456789"}}`} {
		_, said, err = render(t, `{"mcpServers": {"s": {`+server+`}}}`, "", oneScenario, usual())
		if err != nil || !strings.Contains(said, "server s has a secret written out") ||
			strings.Contains(said, "0123456789") {
			t.Errorf("of %s it said %q, and error %v", server, said, err)
		}
	}
	const pool = `{"url": "http://pod:1/", "kubernetes": {"image": "i", "pool": "p"}}`
	_, _, err = render(t, `{"mcpServers": {"a": `+pool+`, "b": `+pool+`}}`, "", oneScenario, usual())
	if err == nil || !strings.Contains(err.Error(), "two servers make one pool") {
		t.Errorf("of two servers with one pool: %v", err)
	}
}

// What names and texts hold adds nothing to the manifests, and what stands in the ConfigMap is read as it was.
func TestManifestsOfOddTexts(t *testing.T) {
	servers := `{"mcpServers": {"a.b": {"url": "http://pod:1/", "kubernetes": {"image": "i", "pool": "p\nkind: Odd"}},
	"a_b": {"url": "http://pod:1/", "kubernetes": {"image": "i"}}}}`
	scenarios := strings.Replace(oneScenario, "Say", "a\u2028kind: Odd\u2029\u0085\u007f\ufeff", 1)
	d := usual()
	d.Namespace, d.Dataset = "null", "tasks.x: y"
	written, _, err := render(t, servers, "# \u2028kind: Odd\n", scenarios, d)
	if err != nil {
		t.Fatal(err)
	}
	data := configMapOf(t, written)
	if len(data) != 3 || data["scenarios.json"] != scenarios || data["mcp.json"] != servers {
		t.Errorf("the ConfigMap has %q", data)
	}
	if strings.ContainsAny(written, "\u2028\u2029\u0085\u007f\ufeff") || strings.Contains(written, "\nkind: Odd") ||
		!strings.Contains(written, `namespace: "null"`) {
		t.Errorf("another reader of YAML may read something else:\n%s", written)
	}
	policies := regexp.MustCompile(`kind: NetworkPolicy\nmetadata:\n  name: (\S+)`).FindAllStringSubmatch(written, -1)
	if len(policies) != 2 || policies[0][1] == policies[1][1] {
		t.Errorf("two servers are under the policies %q", policies)
	}
}

// A variable's name comes from the servers' file, which may be a stranger's, and goes into a command that is pasted.
func TestVariablesThatNoSecretHas(t *testing.T) {
	for _, name := range []string{`A\" ; reboot; \"`, `A\nkind: Odd`, "$(reboot)", "1A"} {
		written, said, err := render(t, `{"mcpServers": {"s": {"url": "http://s/", "headers": {"X": "${`+name+`}"}}}}`,
			"", oneScenario, usual())
		if err == nil || !strings.Contains(err.Error(), "no Secret has such a variable") || written+said != "" {
			t.Errorf("%s: error %v, said %q, wrote %q", name, err, said, written)
		}
	}
}
