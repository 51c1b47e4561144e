package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/run"
	"hone/internal/toolset"
)

const secret = "sesame-4711"

// No form of a server that a user names on the command line or in MCP_URL ends up in a run directory.
func TestKeptFlagsHoldNoSecret(t *testing.T) {
	for _, x := range []struct {
		flag, url string
		given     bool
	}{
		{flag: "npx srv --token " + secret, given: true},
		{flag: "http://h.test/" + secret + "/mcp", given: true},
		{flag: "http://h.test/mcp?key=" + secret, given: true},
		{url: "http://h.test/" + secret + "/mcp", given: true},
		{url: "", given: false},
	} {
		workFolder(t, nil)
		a := &app{Host: &host.Host{LookupEnv: os.LookupEnv}}
		a.withEnv(map[string]string{"MCP_URL": x.url})
		c := config.Default()
		begun := &job.Job{Env: a.jobs(c), Verb: "train", Path: "out", Config: c}
		begun.Kept.Keep(a.Host, c, toolset.Source{Server: x.flag})
		if err := begun.Begin(run.Input{Name: job.ScenariosFile, Data: []byte("[]")}); err != nil {
			t.Fatal(err)
		}
		begun.Close()
		private(t, "out")
		holdNo(t, "out", secret)

		a.withEnv(map[string]string{"MCP_URL": ""})
		kept := begun.Kept
		now, err := kept.Again(a.Host, toolset.Source{}, "out")
		if x.given != (err != nil) || err == nil && now.File != c.MCP.Config {
			t.Errorf("%+v: goes on with %+v, %v", x, now, err)
		}
		if now, err := kept.Again(a.Host, toolset.Source{Server: "npx again"}, "out"); err != nil ||
			now.Server != "npx again" {
			t.Errorf("%+v: given again: %+v, %v", x, now, err)
		}
		a.withEnv(map[string]string{"MCP_URL": "http://h.test/again"})
		if _, err := kept.Again(a.Host, toolset.Source{}, "out"); err != nil {
			t.Errorf("%+v: MCP_URL set again: %v", x, err)
		}
	}
}

// A directory that a run cannot begin in is met with what it holds, and with commands that work.
func TestFreeSaysWhatIsThere(t *testing.T) {
	workFolder(t, map[string]string{"thesis/thesis.tex": "x", "note": "x", "note-2": "x"})
	for _, verb := range []string{"eval", "train", "sft", "collect", "demo"} {
		dir, err := run.Create(verb, nil, job.Begun{Verb: verb})
		if err != nil {
			t.Fatal(err)
		}
		if verb == "sft" {
			defer dir.Close()
		} else if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		"eval":    {"a run of hone eval\n", "next:  hone runs resume ./eval goes on with it; or name another directory, such as eval-2"},
		"collect": {"a run of hone collect\n", "such as collect-2; hone runs show ./collect shows"},
		"train":   {"a run of hone train\n", "next:  hone runs resume ./train goes on with it; or name another directory, such as train-2"},
		"demo":    {"a run of hone demo\n", "next:  hone runs resume ./demo goes on"},
		"sft":     {"a run of hone sft, which pid ", "such as sft-2; hone runs show ./sft shows"},
		"thesis/": {"holds no run", "such as thesis-2"},
		"note":    {"not a directory", "such as note-3"},
		".":       {"holds no run", "such as run-2"},
	} {
		err := toyApp(&bytes.Buffer{}, nil).jobs(config.Config{}).Free(path)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != fault.CodeUsage || f.Where != path {
			t.Errorf("%s: %v", path, err)
		}
		for _, part := range want {
			if !strings.Contains(fmt.Sprint(err), part) {
				t.Errorf("%s: no %q in %v", path, part, err)
			}
		}
	}
	if err := toyApp(&bytes.Buffer{}, nil).jobs(config.Config{}).Free("new"); err != nil {
		t.Error(err)
	}
}

// private wants a folder, and what is in it, to be its user's alone.
func private(t *testing.T, dir string) {
	t.Helper()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, name := range []string{
		"version.json", "config.resolved.yaml", job.ScenariosFile, "trajectories.jsonl", "metrics.jsonl",
		"logs/attempt_1",
	} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func holdNo(t *testing.T, dir, text string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("%s holds %q", path, text)
		}
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("%d files, %v", files, err)
	}
}

// What cannot be used as a server is not echoed.
func TestServersAreNotEchoed(t *testing.T) {
	for name, x := range map[string]struct {
		args []string
		url  string
	}{
		"MCP_URL without a scheme": {nil, "h.test/" + secret},
		"an open quote":            {[]string{"--mcp", "npx 'srv --token " + secret}, ""},
		"a URL without a host":     {[]string{"--mcp", "http:///" + secret}, ""},
		"a file with a wrong URL":  {[]string{"--mcp-config", "mcp.json"}, ""},
	} {
		workFolder(t, map[string]string{"scenarios.json": sums,
			"mcp.json": `{"mcpServers": {"h": {"url": "ftp://h.test/` + secret + `"}}}`})
		var said bytes.Buffer
		code := toyApp(&said, map[string]string{"MCP_URL": x.url}).main(t.Context(),
			append([]string{"train", "--output-dir", "out"}, x.args...))
		if code != 2 || strings.Contains(said.String(), secret) || !strings.Contains(said.String(), "where: ") {
			t.Errorf("%s: exit code %d, %s", name, code, &said)
		}
	}
}

func TestTrainRefuses(t *testing.T) {
	for name, x := range map[string]struct {
		config string
		args   []string
		code   int
		want   string
	}{
		"less than none": {"", []string{"--num-gpus", "-1"}, 2, "cannot train on -1 GPUs"},
		"greedy":         {"rollout: {temperature: 0}\n", []string{"--dry-run"}, 2, "rollout.temperature"},
	} {
		workFolder(t, map[string]string{"scenarios.json": sums, "hone.yaml": x.config})
		var said bytes.Buffer
		code := toyApp(&said, map[string]string{"MCP_URL": "http://h.test/mcp"}).main(t.Context(),
			append([]string{"train", "--output-dir", "out"}, x.args...))
		if code != x.code || !strings.Contains(said.String(), x.want) {
			t.Errorf("%s: exit code %d, %s", name, code, &said)
		}
	}
}
