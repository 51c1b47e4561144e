package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/mcp"
	"hone/internal/run"
	"hone/internal/testing/fakes"
	"hone/internal/toolset"
)

func namesOf(tools []chat.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

const hatTask = `{"id": "hat", "task": "Buy a hat.", "gold": [{"name": "buy", "arguments": {"name": "hat"}}], "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}` + "\n"

// searcher is an endpoint that looks for a tool, buys a hat with what it found, and answers. It notes the tools of each
// request.
func searcher(t *testing.T) (url string, told *[][]string) {
	t.Helper()
	told = &[][]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []chat.Message
			Tools    []chat.Tool
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		*told = append(*told, namesOf(q.Tools)) // one request at a time
		reply := []chat.Message{
			{ToolCalls: []chat.ToolCall{{ID: "a", Name: "search_tools", Arguments: `{"query":"buy"}`}}},
			{ToolCalls: []chat.ToolCall{{ID: "b", Name: "buy", Arguments: `{"name":"hat"}`}}},
			{Content: "sold"},
		}[len(*told)-1]
		reply.Role = chat.Assistant
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"message": reply, "finish_reason": "stop"}},
			"usage":   map[string]int{},
		})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", told
}

// What collect showed is what sft trains on: the one tool that was chosen, not both of the catalog.
func TestShownToolsAreTrainedOn(t *testing.T) {
	url, _ := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name":"hat"}`})
	for most, want := range map[string][]string{"1": {"buy"}, "2": {"buy", "look"}} {
		workFolder(t, map[string]string{"hone.yaml": "mcp: {max_tools: " + most + "}\n", "tasks.jsonl": hatTask})
		if code, _, said := hone(t, "", "collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset",
			"tasks.jsonl", "--output-dir", "out", "--yes"); code != 0 {
			t.Fatalf("exit code %d, %s", code, said)
		}
		text, err := os.ReadFile("out/trajectories.jsonl")
		if err != nil || bytes.Contains(text, []byte(`"tools"`)) || bytes.Contains(text, []byte(`"properties"`)) {
			t.Errorf("the catalog is written again: %v, %s", err, text)
		}
		d, err := job.ReadConversations(fakes.QuietHost(t), "out/trajectories.jsonl", "", false)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := d.Demonstrations(toyApp(&bytes.Buffer{}, nil).Host, config.Default())
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		got := namesOf(rows[0].Tools)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("max_tools %s: trained on %v, shown were %v", most, got, want)
		}
		// Without the catalog, or with another, nobody knows what was shown.
		if err := os.Rename("out/catalog.json", "kept.json"); err != nil {
			t.Fatal(err)
		}
		other, err := mcp.Load("kept.json")
		if err == nil {
			if other, err = other.Only("look"); err == nil {
				err = other.Save("other.json")
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		toyModel(t, "toy.gguf")
		for args, says := range map[string]string{
			"":                     "of a catalog that is not there",
			"--catalog other.json": "the tools of another catalog",
		} {
			code, _, said := hone(
				t, "", append([]string{"sft", "--dry-run", "--data", "out/trajectories.jsonl", "--base-model",
					"toy.gguf", "--output-dir", "trained"}, strings.Fields(args)...)...,
			)
			if code != 2 || !strings.Contains(said, says) || !strings.Contains(said, "trajectories.jsonl:1") {
				t.Errorf("%q: exit code %d, %s", args, code, said)
			}
		}
	}
}

// Rows that name no tools show those of an episode, not the whole catalog.
func TestRowsWithoutToolsShowAnEpisodes(t *testing.T) {
	url, _ := shop(t)
	row := `{"id": "hat", "messages": [{"role": "user", "content": "Buy a hat."}, {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "type": "function",
		"function": {"name": "buy", "arguments": "{\"name\":\"hat\"}"}}]}, {"role": "tool", "tool_call_id": "a", "content": "sold"}, {"role": "assistant", "content": "Sold."}]}`
	for setting, want := range map[string]struct{ tools, says string }{
		"max_tools: 1":       {"buy", "rows that name no tools (1) show those of an episode: of 2 tools, each episode is shown 1"},
		"max_tools: 2":       {"buy look", ""},
		"search_share: 0.01": {"buy look", "warning: rows that name no tools (1) show all of the catalog"},
	} {
		workFolder(t, map[string]string{"hone.yaml": "mcp: {" + setting + "}\nengine: {backend: go}\n",
			"rows.jsonl": strings.ReplaceAll(row, "\n\t\t", "") + "\n"})
		if code, _, said := hone(t, "", "discover", "--mcp", url, "--out", "catalog.json"); code != 0 {
			t.Fatalf("exit code %d, %s", code, said)
		}
		toyModel(t, "toy.gguf")
		code, _, said := hone(t, "", "sft", "--dry-run", "--data", "rows.jsonl", "--base-model", "toy.gguf",
			"--output-dir", "trained")
		if code != 0 || !strings.Contains(said, want.says) ||
			want.says == "" && strings.Contains(said, "name no tools") {
			t.Errorf("%s: exit code %d, %s", setting, code, said)
		}
		d, err := job.ReadConversations(fakes.QuietHost(t), "rows.jsonl", "", false)
		if err != nil {
			t.Fatal(err)
		}
		c, err := config.Load("hone.yaml")
		if err != nil {
			t.Fatal(err)
		}
		c.Model.Context = 2048 // which sft takes for that model
		rows, err := d.Demonstrations(toyApp(io.Discard, nil).Host, c)
		if err != nil || len(rows) != 1 {
			t.Fatalf("%s: %d rows, %v", setting, len(rows), err)
		}
		got := namesOf(rows[0].Tools)
		if slices.Sort(got); strings.Join(got, " ") != want.tools {
			t.Errorf("%s: %v, want %s", setting, got, want.tools)
		}
	}
}

// A collection that goes on shows what it showed when it was begun.
func TestCollectGoesOnWithItsTools(t *testing.T) {
	url, _ := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name":"hat"}`})
	workFolder(t, map[string]string{"tasks.jsonl": hatTask})
	for samples, most := range []string{"1", "2"} {
		if err := os.WriteFile("hone.yaml", []byte("mcp: {max_tools: "+most+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, said := hone(t, "", "collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset",
			"tasks.jsonl", "--output-dir", "out", "--yes", "--samples", strconv.Itoa(samples+1)); code != 0 {
			t.Fatalf("exit code %d, %s", code, said)
		}
	}
	got := trajectoriesOf(t, "out")
	if len(got) != 2 {
		t.Fatalf("%d episodes", len(got))
	}
	for _, x := range got {
		if x.Shown == nil || x.Shown.All || !slices.Equal(x.Shown.Names, []string{"buy"}) {
			t.Errorf("%s was shown %+v", x.ID, x.Shown)
		}
	}
}

// A row with gold calls passes and earns all there is by way of a search, and sft takes what collect wrote.
func TestSearchedEpisode(t *testing.T) {
	url, sold := shop(t)
	endpoint, told := searcher(t)
	// a share of train's context here, not of an endpoint's
	workFolder(t, map[string]string{"hone.yaml": "mcp: {search_share: 0.02}\nengine: {backend: go}\nlora: {rank: 2}\n",
		"tasks.jsonl": hatTask})
	if code, _, said := hone(t, "", "collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset",
		"tasks.jsonl", "--output-dir", "out", "--yes"); code != 0 ||
		!strings.Contains(said, "1 of 1 episode passed all checks") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	if code, _, said := hone(t, "", "collect", "--gold", "--mcp", url, "--dataset", "tasks.jsonl", "--output-dir",
		"gold", "--yes"); code != 2 || !strings.Contains(said, "mcp.search_share") {
		t.Errorf("gold calls without a search: exit code %d, %s", code, said)
	}
	if got := *told; len(got) != 3 || !slices.Equal(got[0], []string{"search_tools"}) ||
		!slices.Contains(got[1], "buy") || len(sold()) != 1 {
		t.Errorf("told %v, sold %v", got, sold())
	}
	got := trajectoriesOf(t, "out")[0]
	if got.Reward != 1.9 || got.Shown == nil || len(got.Shown.Own) != 1 || got.Shown.Own[0].Name != "search_tools" ||
		len(got.Shown.Names) != 0 || got.Shown.All {
		t.Errorf("earned %g of 1.9, shown %+v, terms %+v", got.Reward, got.Shown, got.Terms)
	}
	d, err := job.ReadConversations(fakes.QuietHost(t), "out/trajectories.jsonl", "", false)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.Demonstrations(toyApp(&bytes.Buffer{}, nil).Host, config.Default())
	if err != nil || len(rows) != 1 || !slices.Equal(namesOf(rows[0].Tools), []string{"search_tools"}) {
		t.Fatalf("%+v, %v", rows, err)
	}
	toyModel(t, "toy.gguf")
	if code, _, said := hone(t, "", "sft", "--dry-run", "--data", "out/trajectories.jsonl", "--base-model", "toy.gguf",
		"--output-dir", "trained"); code != 0 {
		t.Errorf("sft: exit code %d, %s", code, said)
	}
	// Success is what it is in evaluations.
	list, err := scenario.Load("tasks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	success := (&episodes.Episodes{Set: &toolset.Set{}}).Criteria(scenario.ByID(list), nil)
	if rows := stats.NewSystem("", []*trajectory.Trajectory{&got}, success).Rows; !rows[0].FirstCall ||
		!rows[0].Episode || rows[0].NumExtraCalls != 0 || rows[0].NumGold != 1 {
		t.Error("an evaluation counts the search as a call")
	}
	// A call of what neither the search could find nor the row shows is refused as before.
	text, err := os.ReadFile("out/trajectories.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "out/trajectories.jsonl", strings.ReplaceAll(string(text), `"name":"buy"`, `"name":"steal"`))
	if code, _, said := hone(t, "", "sft", "--dry-run", "--data", "out/trajectories.jsonl", "--base-model", "toy.gguf",
		"--output-dir", "trained"); code != 2 || !strings.Contains(said, `the tool "steal"`) {
		t.Errorf("sft of an invented tool: exit code %d, %s", code, said)
	}
}

// A run that goes on, and whoever reads its episodes back, has them with the tools they were shown.
func TestLogKeepsShownTools(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, nil)
	if code, _, said := hone(t, "", "discover", "--mcp", url, "--out", "catalog.json"); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	catalog, err := mcp.Load("catalog.json")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := run.Create("out", nil, job.Begun{Verb: "train"})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	log := records.Journal{Dir: dir, Say: t.Logf, Episodes: &episodes.Episodes{Set: &toolset.Set{Catalog: catalog}}}
	all := catalog.Tools()
	for id, tools := range map[string][]chat.Tool{
		"whole":    all,
		"chosen":   all[1:],
		"searched": {{Name: "search_tools", InputSchema: json.RawMessage(`{}`)}},
	} {
		if err := log.Trajectory("grpo", 0, &trajectory.Trajectory{ID: id, Tools: tools}); err != nil {
			t.Fatal(err)
		}
	}
	ts, err := log.Trajectories("grpo", 0)
	if err != nil || len(ts) != 3 {
		t.Fatalf("%d trajectories, %v", len(ts), err)
	}
	for _, x := range ts {
		want := map[string][]string{"whole": namesOf(all), "chosen": namesOf(all[1:]),
			"searched": {"search_tools"}}[x.ID]
		if !slices.Equal(namesOf(x.Tools), want) || len(x.Tools[0].InputSchema) == 0 {
			t.Errorf("%s: %+v, want %v", x.ID, x.Tools, want)
		}
	}
	if log.Episodes.Catalog, err = catalog.Only("look"); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Trajectories("grpo", 0); err == nil || !strings.Contains(err.Error(), "another catalog") {
		t.Errorf("read under another catalog: %v", err)
	}
	if _, err := os.Stat(filepath.Join("out", "ledger.db")); err != nil {
		t.Error(err)
	}
}
