package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/doctor"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/host"
	"hone/internal/job/episodes"
	"hone/internal/mcp"
	"hone/internal/testing/fakes"
	"hone/internal/toolset"
)

const hats = `[
 {"id": "hat", "task": "Buy a hat.", "split": "train", "setup": [{"name": "look", "arguments": {"name": "sea"}}],
  "gold": [{"name": "buy", "arguments": {"name": "hat"}}], "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]},
 {"id": "cap", "task": "Buy a cap.", "split": "validation", "setup": [{"name": "look", "arguments": {"name": "sky"}}],
  "checks": [{"type": "call", "name": "buy", "arguments": {"name": "cap"}}]}
]`

// Where nobody sits beside a verb, what a person would have to be asked is refused before anything begins, with the
// rules to add; what the rules deny is not needed by any setup. The plug-in is not there, so that a run that is let
// through ends with that.
func TestUnattended(t *testing.T) {
	const noPlugin = "no/plugin.so"
	for _, tc := range []struct {
		name, rules string
		args        []string
		says        string // "" where the run is let through
		warns       bool   // that buy destroys
	}{
		{"default", "", nil, "", true},
		{"default, denied", "{deny: [\"*/buy\"]}", nil, "", false},
		{"auto", "mode: auto", nil, "", false},
		{"ask", "mode: ask", nil, `add "127.0.0.1" to mcp.approval.allow in hone.yaml`, false},
		{"ask, and yes", "mode: ask", []string{"--yes"}, "", false},
		{"ask, one tool allowed", "{mode: ask, allow: [\"*/look\"]}", nil, `add "127.0.0.1/buy" to mcp.approval.allow`, false},
		{"ask, one denied", "{mode: ask, allow: [\"*/look\"], deny: [\"*/buy\"]}", nil, "", false},
		{"a rule asks", "{ask: [\"*/buy\"]}", nil, `take "*/buy" out of mcp.approval.ask; add "127.0.0.1/buy"`, false},
		{"a rule asks, and yes", "{ask: [\"*/buy\"]}", []string{"--yes"}, "", true},
		{"readonly", "mode: readonly", nil, "", false},
		{"the setup is denied", "{deny: [\"*/look\"]}", nil, `denied by the rule "*/look"`, true},
		{"the setup is denied, and yes", "{deny: [\"*/look\"]}", []string{"--yes"}, `denied by the rule "*/look"`, true},
	} {
		for _, verb := range [][]string{
			{"train", "--output-dir", "out", "--num-gpus", "0"},
			{"eval", "--split", "validation"},
		} {
			for _, dry := range []bool{false, true} {
				name := fmt.Sprintf("%s/%s/dry=%v", tc.name, verb[0], dry)
				url, sold := shop(t)
				workFolder(t, map[string]string{"tasks.json": hats,
					"hone.yaml": "engine: {plugin: " + noPlugin + "}\nmcp: {approval: " + rulesOf(tc.rules) + "}\n"})
				args := append(slices.Concat(verb,
					[]string{"--mcp", url, "--base-model", "base", "--dataset", "tasks.json"}), tc.args...)
				toyModel(t, "base/toy.gguf")
				if dry {
					args = append(args, "--dry-run")
				}
				var said bytes.Buffer
				code := toyApp(&said, nil).main(t.Context(), args)
				through := strings.Contains(said.String(), "where: "+noPlugin)
				if through != (tc.says == "") || !strings.Contains(said.String(), tc.says) ||
					!through && code != 2 || code == 0 {
					t.Errorf("%s: exit code %d, %s", name, code, &said)
				}
				if warned := strings.Contains(said.String(),
					`mcp.approval.deny names them: "127.0.0.1/buy"`); warned != tc.warns {
					t.Errorf("%s: warned %v: %s", name, warned, &said)
				}
				if _, err := os.Stat("out"); err == nil || len(sold()) > 0 {
					t.Errorf("%s: something was begun, or sold: %q", name, sold())
				}
			}
		}
	}
}

func rulesOf(text string) string {
	if text == "" || text[0] != '{' {
		return "{" + text + "}"
	}
	return text
}

// The gold calls of scenarios validate pass the rules too.
func TestValidateUnderRules(t *testing.T) {
	for _, tc := range []struct {
		rules string
		code  int
		says  string
		sold  []string
	}{
		{"", 0, "nothing is wrong with 2 scenarios", []string{"hat"}},
		{"{deny: [\"*/buy\"]}", 2, "gold[0] (buy): denied: The call was denied", nil},
		{"mode: readonly", 2, "denied by the mode readonly", nil},
		{"mode: ask", 2, "nobody sits beside this command", nil},
	} {
		url, sold := shop(t)
		workFolder(t, map[string]string{"tasks.json": hats,
			"hone.yaml": "mcp: {approval: " + rulesOf(tc.rules) + "}\n"})
		var stdout, stderr bytes.Buffer
		a := &app{Host: &host.Host{Stdin: strings.NewReader(""), Data: sanitize.New(&stdout),
			Talk: sanitize.New(&stderr), LookupEnv: os.LookupEnv}}
		code := a.main(t.Context(), []string{"scenarios", "validate", "tasks.json", "--mcp", url})
		if said := stdout.String() + stderr.String(); code != tc.code || !strings.Contains(said, tc.says) {
			t.Errorf("%q: exit code %d, %s", tc.rules, code, said)
		}
		if got := sold(); !slices.Equal(got, tc.sold) {
			t.Errorf("%q: sold %q", tc.rules, got)
		}
	}
}

// What episodes open their sessions on holds the rules on a real server, whether its tools are shown or searched: a
// denied call never arrives, and decision and denial are in the results that trajectories are made of.
func TestRulesBetweenEpisodesAndServer(t *testing.T) {
	workFolder(t, map[string]string{"template/notes.txt": "4711", "mcp.json": files(t)})
	servers, err := mcp.LoadConfig("mcp.json", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range []float64{0, 0.01} {
		c := config.Default()
		c.MCP.Approval.Deny, c.MCP.SearchShare = []string{"files/write_file"}, share
		l, err := episodes.Open(t.Context(), toyApp(&bytes.Buffer{}, nil).Host, c, servers, "")
		if err != nil {
			t.Fatal(err)
		}
		session, err := l.Selection.Tools.Open(t.Context(), "e")
		if err != nil {
			t.Fatal(err)
		}
		calls := []chat.ToolCall{{ID: "1", Name: "write_file", Arguments: `{"path": "notes.txt", "content": "gone"}`},
			{ID: "2", Name: "read_text_file", Arguments: `{"path": "notes.txt"}`}}
		if share > 0 {
			for _, query := range []string{"write file overwrite", "read text file"} {
				session.Call(t.Context(),
					[]chat.ToolCall{{Name: l.Selection.List[0].Name, Arguments: fmt.Sprintf(`{"query": %q}`, query)}})
			}
		}
		r := session.Call(t.Context(), calls)
		if r[0].Status != trajectory.CallDenied ||
			r[0].Text != `The call was denied: denied by the rule "files/write_file"` || r[0].Approval == "" {
			t.Errorf("share %g: %+v", share, r[0])
		}
		if r[1].Status != trajectory.CallOK || r[1].Text != "4711" || r[1].Approval != "allowed by the mode auto" {
			t.Errorf("share %g: %+v", share, r[1])
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		l.Close()
	}
}

// A server that is made as new by a call which the rules deny cannot be used.
func TestDeniedReset(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, map[string]string{
		"tasks.json": hats, "hone.yaml": "engine: {plugin: no/plugin.so}\nmcp: {approval: {mode: readonly}}\n",
		"mcp.json": fmt.Sprintf(
			`{"mcpServers": {"shop": {"url": %q, "reset": {"tool": "buy", "arguments": {"name": "all"}}}}}`, url,
		),
	})
	toyModel(t, "base/toy.gguf")
	var said bytes.Buffer
	code := toyApp(&said, nil).main(t.Context(), []string{"train", "--mcp-config", "mcp.json", "--dataset",
		"tasks.json", "--base-model", "base", "--output-dir", "out"})
	if code != 2 || !strings.Contains(said.String(), "server shop, reset by buy") {
		t.Errorf("exit code %d, %s", code, &said)
	}
}

// The doctor makes the call that separates episodes only where the rules let it be sent.
func TestDoctorAsksTheRules(t *testing.T) {
	for name, x := range map[string]struct {
		approval string
		yes      bool
		sold     int
		says     string
	}{
		"no rule":       {"{}", false, 2, "isolation reset works"},
		"denied":        {"{deny: [shop/buy]}", false, 0, `the call of buy is denied by the rule "shop/buy"`},
		"denied, --yes": {"{deny: [shop/buy]}", true, 0, "denied by the rule"},
		"readonly":      {"{mode: readonly}", false, 0, "denied by the mode readonly"},
		"allowed":       {"{mode: readonly, allow: [shop/buy]}", false, 2, "isolation reset works"},
		"ask":           {"{mode: ask}", false, 0, "denied because nobody can be asked"},
		"ask, --yes":    {"{mode: ask}", true, 2, "isolation reset works"},
	} {
		url, sold := shop(t)
		workFolder(t, map[string]string{"hone.yaml": "mcp: {approval: " + x.approval + "}\n",
			"mcp.json": fmt.Sprintf(
				`{"mcpServers": {"shop": {"url": %q, "reset": {"tool": "buy", "arguments": {"name": "all"}}}}}`, url,
			)})
		a := toyApp(&bytes.Buffer{}, nil)
		newRoot(a)
		a.Yes = x.yes
		c, err := a.config()
		if err != nil {
			t.Fatal(err)
		}
		checks := doctor.Servers(t.Context(), a.Host, c, toolset.Source{File: "mcp.json"})
		last := checks[len(checks)-1]
		if !strings.Contains(last.Detail, x.says) || (last.Status == doctor.OK) != (x.sold > 0) ||
			len(sold()) != x.sold {
			t.Errorf("%s: %+v; sold %q", name, last, sold())
		}
	}
}

// A dry run of train names what is missing, and leaves nothing behind where all is there.
func TestTrainDryRun(t *testing.T) {
	url, sold := shop(t)
	gone := filepath.Join("no", "plugin.so")
	crowded := strings.Replace(toyConfig, "slots: 4", "slots: 4, memory: 0.0001", 1)
	long := strings.Replace(toyConfig, "max_turns: 2, max_tokens: 8", "max_turns: 100, max_tokens: 100", 1) +
		"model: {context: 9000}\n"
	for name, x := range map[string]struct {
		config string
		args   []string
		code   int
		says   string
	}{
		"all is there":    {"", nil, 0, "would take 4 steps"},
		"memory":          {"", nil, 0, " planned, "},
		"little memory":   {crowded, nil, 6, "the memory does not hold this run"},
		"few positions":   {long, nil, 2, "the model has positions for 8192"},
		"no server":       {"", []string{"--mcp", "http://127.0.0.1:1/mcp"}, 5, "refused"},
		"no program":      {"", []string{"--mcp", "./nowhere"}, 5, "install the program"},
		"no model":        {"", []string{"--base-model", "nowhere"}, 2, "nowhere"},
		"no plug-in":      {"engine: {backend: cpu, plugin: " + gone + "}\n", nil, 2, "where: " + gone},
		"no CUDA plug-in": {"", []string{"--num-gpus", "1"}, 6, "no CUDA plug-in found"},
		// before a server is started
		"several of one": {"engine: {backend: go, devices: 2}\n", []string{"--mcp", "./nowhere"}, 2, "there are not 2 devices but 1"},
	} {
		if x.config == "" {
			x.config = toyConfig
		}
		workFolder(t, map[string]string{"scenarios.json": hats, "hone.yaml": x.config})
		toyModel(t, "base/toy.gguf")
		var said bytes.Buffer
		args := append([]string{"train", "--dry-run", "--output-dir", "out", "--base-model", "base", "--mcp", url},
			x.args...)
		code := toyApp(&said,
			map[string]string{"VIRTUAL_ENV": "", "PJRT_PLUGIN_LIBRARY_PATH": ""}).main(t.Context(), args)
		if code != x.code || !strings.Contains(said.String(), x.says) {
			t.Errorf("%s: exit code %d, %s", name, code, &said)
		}
		if _, err := os.Stat("out"); err == nil {
			t.Errorf("%s: a run directory was made", name)
		}
	}
	if len(sold()) > 0 {
		t.Errorf("sold %q", sold())
	}
}

// An episode of training on a real server: the model sees a denial as its tool's result and goes on, and the trajectory
// keeps who decided what.
func TestDenialInATrajectory(t *testing.T) {
	url, sold := shop(t)
	c := config.Default()
	c.MCP.Approval.Deny = []string{"*/buy"}
	a := toyApp(&bytes.Buffer{}, nil)
	servers, err := toolset.LoadServers(a.Host, c, toolset.Source{Server: url})
	if err != nil {
		t.Fatal(err)
	}
	l, err := episodes.Open(t.Context(), a.Host, c, servers, "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const denial = `The call was denied: denied by the rule "*/buy"`
	sampler := &fakes.Sampler{Reply: func(prompt string, _ policy.Request) (string, error) {
		switch {
		case strings.Contains(prompt, "in stock"):
			return "It is there, but I may not.", nil
		case strings.Contains(prompt, denial):
			return fakes.Call("look", `{"name": "hat"}`), nil
		}
		return fakes.Call("buy", `{"name": "hat"}`), nil
	}}
	list, err := scenario.Load(savedHats(t))
	if err != nil {
		t.Fatal(err)
	}
	r := rollout.New(rollout.Options{
		Policy:    rollout.Sampled{Sampler: sampler, Renderer: fakes.Renderer{}},
		MaxTokens: 100,
		Environment: environment.New(environment.Options{Tools: l.Selection.Tools, ToolList: l.Selection.List,
			MaxTurns: 4}),
	})
	one, _ := r.Episode(t.Context(), list[0], 0, 0, 0)
	calls := one.Calls()
	if one.Outcome != trajectory.OK || len(calls) != 2 || calls[0].Status != trajectory.CallDenied ||
		calls[0].Text != denial || calls[0].Approval != `denied by the rule "*/buy"` ||
		calls[1].Approval != "allowed by the mode auto" || calls[1].Text != "in stock" {
		t.Errorf("%s %s %+v", one.Outcome, one.Error, calls)
	}
	if len(sold()) > 0 {
		t.Errorf("sold %q", sold())
	}
}

func savedHats(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasks.json")
	if err := os.WriteFile(path, []byte(hats), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
