package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/mcp"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/testing/fakes"
	"hone/internal/toolset"
)

// Systems have the shortest names that tell them apart, and a name that fits nothing is refused with what there is.
func TestSystemsOf(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{
		"out/final", "other/final", "other/checkpoints/grpo_step_10/adapter", "deep/out/final", "local/m",
	} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, modelfile.ConfigFile), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := config.Default()
	c.Providers = map[string]config.Provider{
		"local": {URL: "http://127.0.0.1:1/v1", Prices: map[string]config.Price{"priced": {Prompt: 2}}},
		"spare": {URL: "http://127.0.0.1:2/v1", Episodes: 3},
	}
	for _, row := range []struct{ model, compare, names, wrong string }{
		{"", "", "base", ""}, {"out/final", "", "model", ""}, {"local/priced", "base,out/final", "base out model", ""},
		{"http://127.0.0.1:9/v1/m", "local/m2", "m2 model", ""}, {"base", "out/final", "out base", ""},
		{"nowhere", "", "", "no such system"},
		{"SmolLM2-135M-Instruct", "", "", "hone eval --base-model SmolLM2-135M-Instruct --model base"},
		{"local/priced", "http://127.0.0.1:1/v1/priced", "", "named twice"},
		{"base", "base", "", "named twice"},
		{"out/final", "base", "base model", ""},
		{"", "base,out/final,other/final", "base out other", ""},
		{"out/final", "other/final,other/checkpoints/grpo_step_10/adapter", "other grpo_step_10 model", ""},
		{"", "out/final,deep/out/final", "TEMP-out deep-out", ""},
		{"out/final", "openai/gpt-4o-mini,local/priced,http://10.0.0.1:8/v1/out/final", "gpt-4o-mini priced final model", ""},
		{"", "local/qwen/q,spare/qwen/q", "local-qwen-q spare-qwen-q", ""},
		{"", "local/a b,local/a-b", "local-a-b local-a-b-2", ""},
		{"", "./local/m,base", "m base", ""},
		{"", "local/m", "", "name of a model and of a folder"}, {"", "base,base", "", "named twice"},
		{"out/final", "out/final/", "", "named twice"},
		{"", "spare/x,http://127.0.0.1:2/v1/x", "", "named twice"}, {"", "nowhere", "", "provider: anthropic, local, " +
			"openai, openrouter, spare"}, {"", "local/", "", "no such system"},
		{"", "http://10.0.0.1:8/v1", "", "no model"}, {"", "http://10.0.0.1:8/models/x", "", "no model"},
	} {
		var compare []string
		if row.compare != "" {
			compare = strings.Split(row.compare, ",")
		}
		systems, err := SystemsOf(c, row.model, compare)
		var names []string
		for _, s := range systems {
			names = append(names, s.Name)
		}
		got := strings.Join(names, " ")
		got = strings.Replace(got, filepath.Base(filepath.Dir(mustAbs(t, "x"))), "TEMP", 1)
		if row.wrong == "" && (err != nil || got != row.names) ||
			row.wrong != "" && (err == nil || !strings.Contains(fmt.Sprint(err), row.wrong)) {
			t.Errorf("--model %q --compare %q: %q, %v", row.model, row.compare, got, err)
		}
	}
	systems, err := SystemsOf(c, "",
		[]string{"local/priced", "local/other", "spare/x", "openai/x", "http://10.0.0.1:8/api/v1/a/b"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []job.Remote{
		{URL: "http://127.0.0.1:1/v1", Model: "priced", Episodes: config.EpisodesAtOnce,
			Price: &config.Price{Prompt: 2}}, {URL: "http://127.0.0.1:1/v1", Model: "other",
			Episodes: config.EpisodesAtOnce},
		{URL: "http://127.0.0.1:2/v1", Model: "x", Episodes: 3}, {URL: "https://api.openai.com/v1", Model: "x",
			KeyEnv: "OPENAI_API_KEY", Episodes: config.EpisodesAtOnce},
		{URL: "http://10.0.0.1:8/api/v1", Model: "a/b", Episodes: config.EpisodesAtOnce},
	} {
		if !reflect.DeepEqual(*systems[i].Endpoint, want) {
			t.Errorf("%+v, want %+v", *systems[i].Endpoint, want)
		}
	}
}

func mustAbs(t *testing.T, path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// Everything that an episode depends on is in its content key, and nothing that it does not depend on: any key of the
// configuration counts, unless it is named here.
func TestContentKey(t *testing.T) {
	task := scenario.Scenario{ID: "a", Task: "Buy a hat.", Split: "test",
		Checks: []scenario.Check{{Type: scenario.NoCallCheck}}}
	lora := &model.LoRA{Rank: 2}
	who := speaker{Base: "b", Adapter: "x", Prompting: "p", LoRA: lora, Device: "cpu", DType: "f32"}
	key := func(c circumstances, s scenario.Scenario, repeat int) string {
		t.Helper()
		of, err := c.contentKeys([]scenario.Scenario{s})
		if err != nil {
			t.Fatal(err)
		}
		return of(s.ID, repeat)
	}
	of := func(c config.Config, who speaker) circumstances {
		return circumstances{Form: episodeForm, Hone: "v1", Settings: settingsOfEpisodes(c, who.URL == ""),
			Servers: "s", Tools: "t", Speaker: who}
	}
	was := of(config.Default(), who)
	seen := map[string]string{key(was, task, 0): "as it was"}
	differs := func(what string, c circumstances, s scenario.Scenario, repeat int) {
		t.Helper()
		k := key(c, s, repeat)
		if other, twice := seen[k]; twice {
			t.Errorf("%s has the key of: %s", what, other)
		}
		seen[k] = what
	}
	for what, change := range map[string]func(*circumstances){
		"form": func(c *circumstances) { c.Form++ }, "hone": func(c *circumstances) { c.Hone = "v2" },
		"servers": func(c *circumstances) { c.Servers = "" }, "tools": func(c *circumstances) { c.Tools = "u" },
		"versions":  func(c *circumstances) { c.Versions = []string{"s 2"} },
		"base":      func(c *circumstances) { c.Speaker.Base = "" },
		"adapter":   func(c *circumstances) { c.Speaker.Adapter = "" },
		"prompting": func(c *circumstances) { c.Speaker.Prompting = "" }, "lora": func(c *circumstances) {
			c.Speaker.LoRA = &model.LoRA{Rank: 3}
		},
		"device": func(c *circumstances) { c.Speaker.Device = "gpu" }, "dtype": func(c *circumstances) {
			c.Speaker.DType = "bf16"
		},
		"endpoint":  func(c *circumstances) { c.Speaker = speaker{URL: "http://x/v1", Model: "m"} },
		"its URL":   func(c *circumstances) { c.Speaker = speaker{URL: "http://y/v1", Model: "m"} },
		"its model": func(c *circumstances) { c.Speaker = speaker{URL: "http://x/v1", Model: "n"} },
	} {
		c := was
		change(&c)
		differs(what, c, task, 0)
	}
	differs("repeat", was, task, 1)
	for what, change := range map[string]func(*scenario.Scenario){
		"id": func(s *scenario.Scenario) { s.ID = "b" }, "task": func(s *scenario.Scenario) { s.Task = "Buy a cap." },
		"checks": func(s *scenario.Scenario) { s.Checks = nil },
	} {
		s := task
		change(&s)
		differs(what, was, s, 0)
	}
	moved := task
	moved.Split, moved.Tags, moved.Difficulty = "train", []string{"x"}, "hard"
	if key(was, moved, 0) != key(was, task, 0) {
		t.Error("a scenario that is only filed elsewhere has another key")
	}

	irrelevant := []string{
		"name", "runs_dir", "mcp.config", "mcp.only", "mcp.allow_findings", "model.base", "model.chat_template",
		"model.tool_format", "model.template_variables", "scenarios.", "rewards.", "judge.", "lora.", "sft.", "grpo.",
		"providers", "rollout.temperature", "eval.every", "eval.split", "eval.repeats", "eval.confidence",
		"eval.fail_on_error", "eval.stop_early", "engine.backend", "engine.plugin", "engine.dtype",
		"engine.decode_steps", "engine.micro_batch", "engine.recompute", "engine.keep_tokens", "engine.row_multiple",
		"engine.packing", "engine.moments", "engine.program_cache",
		"engine.memory",
	}
	for _, path := range leaves(reflect.TypeFor[config.Config](), "") {
		c := config.Default()
		alter(reflect.ValueOf(&c).Elem(), path)
		matters := !slices.ContainsFunc(irrelevant, func(p string) bool { return strings.HasPrefix(path, p) })
		if changed := key(of(c, who), task, 0) != key(was, task, 0); changed != matters {
			t.Errorf("%s: changes the key %v, want %v", path, changed, matters)
		}
	}
}

// leaves are the keys of a section.
func leaves(section reflect.Type, prefix string) (all []string) {
	for i := range section.NumField() {
		f := section.Field(i)
		if f.Type.Kind() == reflect.Struct {
			all = append(all, leaves(f.Type, prefix+f.Tag.Get("yaml")+".")...)
		} else {
			all = append(all, prefix+f.Tag.Get("yaml"))
		}
	}
	return all
}

// alter gives the key at path another value.
func alter(section reflect.Value, path string) {
	head, rest, nested := strings.Cut(path, ".")
	for i := range section.NumField() {
		if section.Type().Field(i).Tag.Get("yaml") != head {
			continue
		}
		v := section.Field(i)
		switch {
		case nested:
			alter(v, rest)
		case v.CanInt():
			v.SetInt(v.Int() + 1)
		case v.CanUint():
			v.SetUint(v.Uint() + 1)
		case v.CanFloat():
			v.SetFloat(v.Float() + 0.125)
		case v.Kind() == reflect.Bool:
			v.SetBool(!v.Bool())
		case v.Kind() == reflect.String:
			v.SetString(v.String() + "x")
		case v.Kind() == reflect.Slice:
			v.Set(reflect.ValueOf([]string{"x"}).Convert(v.Type()))
		case v.Type() == reflect.TypeFor[config.Variables]():
			v.Set(reflect.ValueOf(config.Variables{"x": 1}))
		default: // a map by name
			m := reflect.MakeMap(v.Type())
			m.SetMapIndex(reflect.ValueOf("x"), reflect.Zero(v.Type().Elem()))
			v.Set(m)
		}
	}
}

// What servers are started with, and what folders and programs of a scenario hold, changes the key.
func TestContentKeyOfFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put("start/a", "1")
	put("check.sh", "1")
	put("server/b", "1")
	put("env", "X=1")
	put("lib/server.js", "1")
	put("lib/setup.json", "1")
	put("helper.py", "1")
	put("venv/bin/inn", "1")
	put("venv/pyvenv.cfg", "")
	servers := mcp.Config{Servers: map[string]mcp.Server{
		"shop": {Command: "shop", Args: []string{"-x", "lib/server.js", "--setup=lib/setup.json", "no/such/path"}, Template: "server", EnvFile: "env"},
		"inn":  {Command: "venv/bin/inn"}, "far": {URL: "http://127.0.0.1:1/mcp"},
	}}
	task := scenario.Scenario{ID: "a", Template: scenario.Templates{"shop": "start"}, Checks: []scenario.Check{
		{Type: scenario.CommandCheck, Command: []string{"check.sh", "helper.py"}},
		{Type: scenario.CommandCheck, Command: []string{"true"}},
	}}
	seen := map[string]string{}
	look := func(what string) {
		t.Helper()
		start, err := startOf(&task, commandSums{})
		if err != nil {
			t.Fatal(err)
		}
		how, err := serversSum(servers)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := serversSum(servers); err != nil || again != how {
			t.Errorf("%s: the same servers have two sums", what)
		}
		if other, twice := seen[start+how]; twice {
			t.Errorf("%s is as %s", what, other)
		}
		seen[start+how] = what
	}
	look("the beginning")
	for _, path := range []string{"start/a", "start/deep/c", "check.sh", "server/b", "env"} {
		put(path, "2")
		look(path)
	}
	put("start/runs", "1")
	for what, do := range map[string]func() error{
		"an argument that is a file":  func() error { return os.WriteFile("lib/server.js", []byte("2"), 0o755) },
		"a file of a flag":            func() error { return os.WriteFile("lib/setup.json", []byte("2"), 0o755) },
		"an argument of a check":      func() error { return os.WriteFile("helper.py", []byte("2"), 0o755) },
		"a program in an environment": func() error { return os.WriteFile("venv/bin/inn", []byte("2"), 0o755) },
		"npm's lock":                  func() error { return os.WriteFile("package-lock.json", []byte("{}"), 0o644) },
		"an installed package":        func() error { return os.MkdirAll("venv/lib/python3.12/site-packages/inn-1.2.dist-info", 0o755) },
		"a link":                      func() error { return os.Symlink("nowhere", "start/link") },
		"a mode":                      func() error { return os.Chmod("start/a", 0o600) },
		"an empty folder":             func() error { return os.Mkdir("start/empty", 0o755) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
		look(what)
	}
	if err := errors.Join(os.Remove("start/link"), os.Symlink("../helper.py", "start/link")); err != nil {
		t.Fatal(err)
	}
	look("another target")
	for what, change := range map[string]func(*mcp.Server){
		"args": func(s *mcp.Server) { s.Args = nil }, "command": func(s *mcp.Server) { s.Command = "inn" },
		"env": func(s *mcp.Server) { s.Env = map[string]string{"A": "b"} },
		"url": func(s *mcp.Server) { s.URL = "http://x" }, "isolation": func(s *mcp.Server) {
			s.Isolation = "shared"
		},
	} {
		was := servers.Servers["shop"]
		s := was
		change(&s)
		servers.Servers["shop"] = s
		look(what)
		servers.Servers["shop"] = was
	}
}

// An episode that the context ended, or that the context now would, is not reused.
func TestEnters(t *testing.T) {
	turn := func(n int) []trajectory.Turn {
		return []trajectory.Turn{{BridgeIDs: make([]int32, 4), CompletionIDs: make([]int32, n)}}
	}
	s := stand{Episodes: &episodes.Episodes{Agent: episodes.Agent{Room: 10}}}
	s.Options.MaxTokens = 5
	for _, row := range []struct {
		t    trajectory.Trajectory
		want bool
	}{
		{trajectory.Trajectory{Turns: turn(5), StopReason: trajectory.StopCompleted}, true},
		{trajectory.Trajectory{Turns: turn(6), StopReason: trajectory.StopCompleted}, false},
		{trajectory.Trajectory{Turns: turn(2), StopReason: trajectory.StopContextOverflow}, false},
		{trajectory.Trajectory{Turns: turn(5), StopReason: trajectory.StopMaxTokens}, true},
		{trajectory.Trajectory{Turns: turn(3), StopReason: trajectory.StopMaxTokens}, false},
		{trajectory.Trajectory{StopReason: trajectory.StopMaxTokens}, false},
	} {
		if got := s.enters(&row.t); got != row.want {
			t.Errorf("%s after %d tokens: %v", row.t.StopReason, row.t.NumSampled(), got)
		}
	}
	if s.Room = 0; !s.enters(&trajectory.Trajectory{StopReason: trajectory.StopContextOverflow}) {
		t.Error("an endpoint has its own context")
	}
}

// Scenarios are run in an order that depends on the seed and their families alone, and a family is never split between
// two looks.
func TestOrderOfAnEarlyStop(t *testing.T) {
	var tasks []scenario.Scenario
	for i := range 100 {
		s := scenario.Scenario{ID: fmt.Sprint(i)}
		if i < 30 {
			s.Tags = []string{fmt.Sprintf("%s%d", stats.FamilyTag, i%3)}
		}
		tasks = append(tasks, s)
	}
	order := func(seed uint64, points float64, tasks []scenario.Scenario) string {
		b := &bench{Job: &job.Job{Config: config.Default()}, tasks: tasks}
		b.Config.Seed, b.Config.Eval.StopEarly = seed, points
		var out []string
		n := 0
		for _, block := range b.blocks() {
			var ids []string
			families := map[string]int{}
			for _, s := range block {
				ids = append(ids, s.ID)
				families[familyOf(s)]++
				n++
			}
			for name, k := range families {
				if strings.HasPrefix(name, stats.FamilyTag) && k != 10 {
					t.Errorf("%d of the family %s are in a block", k, name)
				}
			}
			out = append(out, strings.Join(ids, " "))
		}
		if n != len(tasks) || points > 0 && (len(out) < numLooks/2 || len(out) > numLooks) {
			t.Errorf("%d scenarios in %d blocks", n, len(out))
		}
		return strings.Join(out, "\n")
	}
	if got := order(1, 0, tasks); strings.Contains(got, "\n") || !strings.HasPrefix(got, "0 1 2 3") {
		t.Errorf("without an early stop: %s", got)
	}
	one := order(1, 5, tasks)
	if one != order(1, 5, tasks) || one == order(2, 5, tasks) {
		t.Error("the order is not that of the seed")
	}
	reversed := slices.Clone(tasks)
	slices.Reverse(reversed)
	first := func(order string) string { return strings.Fields(order)[len(strings.Fields(order))-1] }
	if first(one) != first(order(1, 5, reversed)) && !strings.Contains(one, "29") {
		t.Error("the order depends on the file's")
	}
}

// Differences that were known before the last block are those of confidence sequences in the order in which the
// scenarios are run, and hold together: of three systems each has a third of the chance to miss, also where one system
// was given up.
func TestKnownDifferences(t *testing.T) {
	b := &bench{Job: &job.Job{Config: config.Default()},
		local: &episodes.Episodes{Set: &toolset.Set{Catalog: &mcp.Catalog{}}}}
	b.Config.Eval.StopEarly = 1
	var systems []*measuring
	var rows [3][]stats.Row
	var episodes [3][]*trajectory.Trajectory
	for i := range rows {
		systems = append(systems, &measuring{System: job.System{Name: fmt.Sprint(i)},
			found: stats.System{Excluded: map[trajectory.Outcome]int{}}})
	}
	for n := range 60 {
		s := scenario.Scenario{ID: fmt.Sprint(n), Checks: []scenario.Check{{Type: scenario.NoCallCheck}}}
		if n < 20 {
			s.Tags = []string{fmt.Sprintf("%s%d", stats.FamilyTag, n%4)}
		}
		b.tasks = append(b.tasks, s)
		for i := range systems {
			episode := &trajectory.Trajectory{ScenarioID: s.ID, Outcome: trajectory.OK}
			done := n%3 < i
			if !done {
				call := chat.ToolCall{Name: "x", Arguments: "{}"}
				episode.Turns = []trajectory.Turn{
					{Calls: []chat.ToolCall{call},
						Results: []trajectory.ToolResult{{Call: call, Status: trajectory.CallOK}}},
				}
			}
			episodes[i] = append(episodes[i], episode)
			rows[i] = append(rows[i], stats.Row{ScenarioID: s.ID, Episode: done})
		}
	}
	for i, m := range systems { // in two parts
		m.criteria = b.local.Criteria(scenario.ByID(b.tasks), nil)
		m.add(episodes[i][:7], b.tasks[:7])
		m.add(episodes[i][7:], b.tasks[7:])
		if len(m.found.Rows) != 60 || len(m.found.Episodes) != 60 || m.found.Episodes[9].Scenario.ID != "9" {
			t.Fatalf("%d: %+v", i, m.found)
		}
	}
	var order [][]string
	for _, unit := range b.units() {
		order = append(order, nil)
		for _, s := range unit {
			order[len(order)-1] = append(order[len(order)-1], s.ID)
		}
	}
	if len(order) != 44 {
		t.Fatalf("%d units", len(order))
	}
	for _, gaveUp := range []bool{false, true} {
		systems[1].gaveUp = gaveUp
		known, enough := b.differences(systems)
		if want := map[bool]int{false: 3, true: 1}[gaveUp]; len(known) != want || !enough {
			t.Fatalf("%+v, enough %v", known, enough)
		}
		for _, k := range known {
			var old, new int
			fmt.Sscan(k.Old, &old)
			fmt.Sscan(k.New, &new)
			if want := stats.Sequential(order, rows[old], rows[new],
				stats.Bootstrap{Level: 1 - 0.05/3}); k.Interval != want || !want.ExcludesZero() || want.Clusters != 44 {
				t.Errorf("%+v, want %+v", k, want)
			}
		}
	}
	systems[2].found.Rows = systems[0].found.Rows
	for points, want := range map[float64]bool{1: false, 50: true} {
		b.Config.Eval.StopEarly = points
		if known, enough := b.differences(systems); enough != want {
			t.Errorf("to %g points: %+v, enough %v", points, known, enough)
		}
	}
	for _, gaveUp := range [][3]bool{{true, true, false}, {true, true, true}} {
		for i, m := range systems {
			m.gaveUp = gaveUp[i]
		}
		if known, enough := b.differences(systems); len(known) > 0 || enough {
			t.Errorf("given up %v: %+v, enough %v", gaveUp, known, enough)
		}
	}
	b.Config.Eval.StopEarly = 0
	if known, enough := b.differences(systems); known != nil || enough {
		t.Errorf("%+v without eval.stop_early", known)
	}
}

// Flags of a run of before there were Systems are read as what they meant.
func TestEvaluationOfBefore(t *testing.T) {
	for text, want := range map[string]string{
		`{"evaluation": {"split": "test"}}`:                      "base",
		`{"adapter": "x", "evaluation": {}}`:                     "model",
		`{"adapter": "x", "evaluation": {"compare_base": true}}`: "base model",
	} {
		var k job.Kept
		if err := json.Unmarshal([]byte(text), &k); err != nil {
			t.Fatal(err)
		}
		k.Settle()
		k.Settle()
		var names []string
		for _, s := range k.Evaluation.Systems {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// What the key is made of is what the bench has.
func TestCircumstances(t *testing.T) {
	b := &bench{
		Job:     &job.Job{Config: config.Default()},
		servers: "s",
		local: &episodes.Episodes{Set: &toolset.Set{Catalog: &mcp.Catalog{Hash: "t", Servers: []mcp.ServerTools{
			{Name: "shop", Version: "1.2"},
		}}}},
	}
	b.Config.Seed, b.Config.Engine.Slots = 7, 8
	who := speaker{URL: "http://x/v1", Model: "m"}
	got := b.circumstancesOf(who, b.Config)
	if got.Form != episodeForm || got.Hone == "" || got.Servers != "s" || got.Tools != "t" || got.Speaker != who ||
		got.Settings.Seed != 7 || !slices.Equal(got.Versions, []string{"shop 1.2"}) || got.Settings.Engine.Slots != 0 {
		t.Errorf("%+v", got)
	}
	if got := b.circumstancesOf(speaker{Base: "b"}, b.Config); got.Settings.Engine.Slots == 0 {
		t.Error("the slots of a sampler here do not count")
	}
}

// The notes explain what is too few wherever the table says it, and nowhere else.
func TestTooFewIsExplained(t *testing.T) {
	few, enough := stats.Interval{N: 9, TooFew: true}, stats.Interval{N: 9}
	results := func(whole, first, differs, firstDiffers stats.Interval) stats.Results {
		return stats.Results{
			Systems: map[string]stats.Summary{
				"a": {Metrics: map[string]stats.Interval{stats.Completion().Name: whole,
					stats.FirstCall().Name: first}},
			},
			Deltas: []stats.Delta{{Episode: differs, First: firstDiffers}},
		}
	}
	for i, x := range []stats.Results{
		results(few, enough, enough, enough), results(enough, few, enough, enough), results(enough, enough, few,
			enough), results(enough, enough, enough, few),
	} {
		if !tooFew(x) {
			t.Errorf("%d is not explained", i)
		}
	}
	if tooFew(results(enough, enough, enough, enough)) {
		t.Error("nothing is too few")
	}
}

// The numbers are computed once, and not at all where the report has them.
func TestResultsAreComputedOnce(t *testing.T) {
	m := Evaluated{Comparison: stats.Comparison{Systems: []stats.System{
		{Name: "a", Rows: []stats.Row{{ScenarioID: "x", Episode: true}}},
	}}}
	first := m.Results()
	m.Systems = nil
	if again := m.Results(); first.Systems["a"].N != 1 || !reflect.DeepEqual(again, first) {
		t.Errorf("%+v, then %+v", first, again)
	}
	m.results = &stats.Results{NeverDone: []string{"of the report"}}
	if got := m.Results(); len(got.NeverDone) != 1 {
		t.Errorf("%+v", got)
	}
}

// pass@1 is the mean over scenarios, and beside each pass^k stands how many scenarios have k attempts.
func TestPassesAreTold(t *testing.T) {
	rows := []stats.Row{
		{ScenarioID: "a", Episode: true},
		{ScenarioID: "a", Episode: true, Repeat: 1},
		{ScenarioID: "a", Episode: true, Repeat: 2},
		{ScenarioID: "b"},
	}
	m := Evaluated{Comparison: stats.Comparison{Systems: []stats.System{{Name: "model", Rows: rows}},
		Bootstrap: stats.Bootstrap{Level: 0.95}}}
	results := m.Results()
	x := results.Systems["model"]
	x.EpisodeSuccess = 0.75 // of episodes
	results.Systems["model"] = x
	said := strings.Join(m.Notes(results), "\n")
	if want := "model: pass@1 50.0% of 2 scenarios, pass^3 100.0%: all 3 repeats of a scenario, " +
		"of the 1 scenario with so many"; !strings.Contains(said, want) {
		t.Errorf("no %q in %s", want, said)
	}
}

// counted counts how often what was kept is read.
type counted struct {
	unkept
	reads int
}

func (c *counted) Trajectories(stage string, step int) ([]recipe.Kept, error) {
	c.reads++
	return c.unkept.Trajectories(stage, step)
}

// What an earlier attempt kept of a system is read once, and not again for each part; what is taken from elsewhere is
// among it.
func TestKeptEpisodesAreReadOnce(t *testing.T) {
	log := &counted{unkept: unkept{episodes: &episodes.Episodes{},
		reused: map[string][]recipe.Kept{"eval_x": {{Trajectory: &trajectory.Trajectory{ID: "a"}}}}}}
	r := &remembered{EvaluationLog: log}
	for i := range 3 {
		kept, err := r.Trajectories("eval_x", 0)
		if err != nil || len(kept) != 1+i {
			t.Fatalf("%d: %v, %v", i, kept, err)
		}
		for _, x := range []trajectory.Trajectory{{ID: "b", Reused: "earlier"}, {ID: "c"}} {
			if err := r.Trajectory("eval_x", 0, &x); err != nil {
				t.Fatal(err)
			}
		}
	}
	if log.reads != 1 || len(log.reused["eval_x"]) != 4 {
		t.Errorf("read %d times, %d kept", log.reads, len(log.reused["eval_x"]))
	}
}

// Of the episodes that an earlier evaluation kept, those are not taken that the context of now would have ended.
func TestReuseTakesWhatEnters(t *testing.T) {
	t.Chdir(t.TempDir())
	j := &job.Job{Env: job.Env{Host: fakes.QuietHost(t)}, Verb: "eval", Path: "earlier", Config: config.Default()}
	if err := j.Begin(); err != nil {
		t.Fatal(err)
	}
	for id, tokens := range map[string]int{"short": 4, "long": 40} {
		text, err := json.Marshal(&trajectory.Trajectory{
			ID:         id,
			ScenarioID: id,
			Outcome:    trajectory.OK,
			StopReason: trajectory.StopCompleted,
			ContentKey: id,
			Turns:      []trajectory.Turn{{BridgeIDs: make([]int32, 2), CompletionIDs: make([]int32, tokens)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Dir.PutTrajectory(run.TrajectoryRow{ID: "eval_model/" + id, Stage: "eval_model",
			JSON: text}); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	for room, want := range map[int][]string{20: {"short"}, 100: {"long", "short"}} {
		b := &bench{Job: &job.Job{Env: j.Env, Config: config.Default()}}
		var err error
		if b.earlier, err = earlierEpisodes(b.Job, []string{"earlier"}); err != nil {
			t.Fatal(err)
		}
		s := stand{Episodes: &episodes.Episodes{Agent: episodes.Agent{Room: room},
			KeyOf: func(t *trajectory.Trajectory) string { return t.ScenarioID }}}
		log := &unkept{episodes: s.Episodes, reused: map[string][]recipe.Kept{}}
		n, err := b.reuse(s, "eval_model", []scenario.Scenario{{ID: "long"}, {ID: "short"}, {ID: "other"}}, log)
		if err != nil || n != len(want) {
			t.Fatalf("%d are taken, want %q: %v", n, want, err)
		}
		var got []string
		for _, k := range log.reused["eval_model"] {
			got = append(got, k.ID)
		}
		if b.earlier.close(); !slices.Equal(got, want) {
			t.Errorf("with room for %d tokens %q is taken, want %q", room, got, want)
		}
	}
}

// Where scenarios begin with the same gold call, notes and page say that the first call says little.
func TestSharedFirstCallsAreTold(t *testing.T) {
	task := func(name, arguments string) scenario.Scenario {
		return scenario.Scenario{Gold: []scenario.Gold{{Name: name, Arguments: json.RawMessage(arguments)}}}
	}
	look, again := task("ls", `{"a": 1, "path": "."}`), task("ls", `{"path": ".", "a": 1.0}`)
	for i, c := range []struct {
		tasks []scenario.Scenario
		want  string
	}{
		{[]scenario.Scenario{look, task("read", `{}`), again, {}, task("ls", `{"path": "x"}`)}, "the first call says " +
			`little here: the gold calls of 2 of 4 scenarios begin with ls {"a":1,"path":"."}; look at whole episodes`},
		{[]scenario.Scenario{look, task("read", `{}`), again, {}, task("ls", `{}`), task("ls", `{"b": 1}`)}, ""},
		{[]scenario.Scenario{look}, ""}, // one alone shares it with none
		{[]scenario.Scenario{{}, {}}, ""},
	} {
		m := Evaluated{SharedFirst: sharedFirst(c.tasks)}
		for _, said := range [][]string{m.Notes(m.Comparison.Results()), m.remarks()} {
			if m.SharedFirst != c.want || slices.Contains(said, c.want) != (c.want != "") {
				t.Errorf("%d: %q, %q", i, m.SharedFirst, said)
			}
		}
	}
}
