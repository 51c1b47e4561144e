package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/reward"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/job/episodes"
	"hone/internal/mcp"
	"hone/internal/testing/fakes"
)

// wrongEpisode is one that a scenario's checks must not let pass: its turns, and the types of the checks that fail.
type wrongEpisode struct {
	turns  []string
	failed string
}

func callOf(name, arguments string) string { return fakes.Call(name, arguments) }

// wrongEpisodes are, by scenario of testdata/tasks, the ways in which it can go wrong.
func wrongEpisodes() map[string][]wrongEpisode {
	ann := callOf("open_nodes", `{"names": ["Ann"]}`)
	eve := `{"entities": [{"name": "Eve", "entityType": "person", "observations": ["likes gin"]}]}`
	return map[string][]wrongEpisode{
		"answer alone": {
			{[]string{ann, "milk"}, "answer"},
			{[]string{callOf("delete_entities", `{"entityNames": ["Bob"]}`), "tea"}, "unchanged"},
			{[]string{"tea or rum"}, "answer"},
		},
		"another start": {{[]string{ann, "tea"}, "answer"}},
		"graph": {{[]string{"Done."}, "state"}, {[]string{callOf("create_entities", eve), "Done."}, "state"},
			{[]string{callOf("create_entities", eve), callOf("create_relations", `{"relations": [{"from": "Ann", "to": "Eve", "relationType": "knows"}, {"from": "Eve", "to": "Bob", "relationType": "knows"}]}`), "Done."}, "state"}},
		"no tool fits": {{[]string{ann, "None of my tools books flights."}, "no_call"}},
		"list in any order": {
			{[]string{callOf("list_directory", `{"path": "."}`), "debts.txt and lines.txt"}, "answer"},
			{[]string{callOf("list_directory", `{"path": "."}`), "account.json, debts.txt, lines.txt, more.txt"}, "answer"},
			{
				append(slices.Repeat([]string{callOf("list_directory", `{"path": "."}`)}, 4),
					"account.json, debts.txt, lines.txt"),
				"max_calls",
			},
		},
		"json file": {
			{[]string{callOf("write_file", `{"path": "account.json", "content": "{\"open\": false}"}`), "Done."}, "file"},
			{[]string{callOf("write_file", `{"path": "account.json", "content": "closed"}`), "Done."}, "file"},
			{
				[]string{
					callOf("write_file",
						`{"path": "account.json", "content": "{\"open\": false, \"owner\": \"Ann\"}"}`),
					callOf("write_file", `{"path": "debts.txt", "content": ""}`), "Done.",
				},
				"unchanged",
			},
		},
		"refused": {
			{[]string{callOf("write_file", `{"path": "debts.txt", "content": "one\ntwo\nthree\n"}`), "Done; debts.txt exists."}, "call unchanged"},
			{[]string{callOf("move_file", `{"source": "lines.txt", "destination": "debts.txt"}`), "Done."}, "answer"},
			{[]string{"I cannot."}, "call"},
		},
		"optional arguments": {{[]string{callOf("list_directory_with_sizes", `{"path": "desk"}`), "lines.txt"}, "call"},
			{[]string{callOf("list_directory_with_sizes", `{"path": "."}`), "lines.txt or debts.txt"}, "answer"}},
		"rows": {{[]string{"Done."}, "sql sql"},
			{[]string{callOf("write_query", `{"query": "INSERT INTO orders (name, item, count, price) VALUES ('Ann', 'tea', 3, 7.5)"}`), "Done."}, "sql"},
			{[]string{callOf("write_query", `{"query": "DROP TABLE orders"}`), "Done."}, "sql sql"}},
	}
}

// rightEpisode makes the gold calls; where there are other right ways, one of those.
func rightEpisode(s scenario.Scenario) []string {
	var turns []string
	for _, g := range s.Gold {
		arguments := string(g.Arguments)
		if s.ID == "optional arguments" {
			arguments = `{"path": "./"}`
		}
		turns = append(turns, callOf(g.Name, arguments))
	}
	return append(turns, s.GoldAnswer)
}

// An episode is a Node of its own: make soak has the tasks of all three servers.
func TestTasksOnAStatefulServer(t *testing.T) {
	if all := wrongEpisodes(); len(tasksOn(t, "files")) >= len(all) {
		t.Errorf("of %d tasks none was played", len(all))
	}
}

// tasksOn are tasks on servers that keep state, written, proven and scored: right episodes pass their checks and wrong
// ones fail those that are meant to catch them. A kept record is scored alike when the servers are gone. What is left
// was not played.
func tasksOn(t *testing.T, names ...string) (left map[string][]wrongEpisode) {
	t.Helper()
	tasks, err := filepath.Abs("testdata/tasks")
	if err != nil {
		t.Fatal(err)
	}
	sqlite, err := filepath.Abs("testdata/servers/node_modules/mcp-server-sqlite-npx/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	left = wrongEpisodes()
	for name, server := range map[string]map[string]any{
		"memory": {"command": "node", "args": []string{npmServer(t, "server-memory")},
			"env": map[string]string{"MEMORY_FILE_PATH": mcp.EpisodeDir + "/memory.jsonl"}},
		"files": {"command": "node", "args": []string{npmServer(t, "server-filesystem"), mcp.EpisodeDir},
			"cwd": mcp.EpisodeDir, "template": filepath.Join(tasks, "desk")},
		"shop": {"command": "node", "args": []string{sqlite, mcp.EpisodeDir + "/shop.db"}},
	} {
		if !slices.Contains(names, name) {
			continue
		}
		text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: server}})
		if err != nil {
			t.Fatal(err)
		}
		workFolder(t, map[string]string{"mcp.json": string(text)})
		path := filepath.Join(tasks, name+".jsonl")
		if code, stdout, stderr := hone(t, "", "scenarios", "validate", path, "--mcp-config", "mcp.json"); code != 0 {
			t.Errorf("%s: exit code %d\n%s%s", name, code, stdout, stderr)
		}
		list, err := scenario.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		servers, err := mcp.LoadConfig("mcp.json", os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		l, err := episodes.Open(t.Context(), toyApp(&bytes.Buffer{}, nil).Host, config.Default(), servers, "")
		if err != nil {
			t.Fatal(err)
		}
		playTasks(t, l, list, left)
		l.Close()
	}
	return left
}

// playTasks plays each scenario's right episode and its wrong ones, and takes those off the list.
func playTasks(t *testing.T, l *episodes.Episodes, list []scenario.Scenario, wrong map[string][]wrongEpisode) {
	var rows []scenario.Scenario // each episode is a row of its own
	var want []wrongEpisode
	for _, s := range list {
		for _, w := range append([]wrongEpisode{{rightEpisode(s), ""}}, wrong[s.ID]...) {
			one := s
			one.ID = fmt.Sprintf("%s/%d", s.ID, len(rows))
			one.Task = fmt.Sprintf("<row %d>%s", len(rows), s.Task)
			rows, want = append(rows, one), append(want, w)
		}
		delete(wrong, s.ID)
	}
	sampler := &fakes.Sampler{Slots: 4, Reply: func(prompt string, _ policy.Request) (string, error) {
		_, after, _ := strings.Cut(prompt, "<row ")
		number, _, _ := strings.Cut(after, ">")
		var i int
		if _, err := fmt.Sscan(number, &i); err != nil {
			return "", err
		}
		return want[i].turns[strings.Count(prompt, "<assistant>")-1], nil
	}}
	runner := rollout.New(rollout.Options{Policy: rollout.Sampled{Sampler: sampler, Renderer: fakes.Renderer{}},
		Environment: environment.New(environment.Options{Tools: l.Tools, ToolList: l.Catalog.Tools()})})
	for i, row := range rows {
		ran, err := runner.Episode(t.Context(), row, 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(ran)
		if err != nil {
			t.Fatal(err)
		}
		kept := &trajectory.Trajectory{}
		if err := json.Unmarshal(text, kept); err != nil {
			t.Fatal(err)
		}
		var failed []string
		for _, c := range rows[i].Checks {
			if reward.Unmet(c, kept, l.Scorer.Defaults) != "" {
				failed = append(failed, c.Type)
			}
		}
		alone := trajectory.Group{ScenarioID: rows[i].ID, Trajectories: []*trajectory.Trajectory{kept}}
		scores, err := l.Scorer.Score(t.Context(), &rows[i], alone)
		if err != nil {
			t.Fatal(err)
		}
		alone.Take(scores)
		passed := len(kept.Terms) > 0 && kept.Terms[0].Name == "checks" && kept.Terms[0].Score == 1
		if strings.Join(failed, " ") != want[i].failed || passed != (want[i].failed == "") ||
			kept.Outcome != trajectory.OK {
			t.Errorf("%s: %s %s, failed %q, want %q; %+v",
				rows[i].ID, kept.Outcome, kept.Error, failed, want[i].failed, kept.Terms)
		}
	}
}
