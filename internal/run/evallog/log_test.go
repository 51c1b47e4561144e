package evallog_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/run/evallog"
)

var update = flag.Bool("update", false, "write testdata/log.json; make parity then writes read.json")

// measured is a system with an episode of each kind of end, and two repeats of one scenario.
func measured() stats.System {
	known := map[string]*scenario.Scenario{}
	for _, id := range []string{"add", "lost", "long", "blind"} {
		known[id] = &scenario.Scenario{ID: id, Task: "Add 2 and 3.", Tags: []string{"kind:sum"}, Difficulty: "easy",
			Gold: []scenario.Gold{{Name: "add", Arguments: json.RawMessage(`{"a":2,"b":3}`)}}, GoldAnswer: "5"}
	}
	good := chat.ToolCall{ID: "call_0", Name: "add", Arguments: `{"a":2,"b":3}`}
	bad := chat.ToolCall{ID: "call_1", Name: "add", Arguments: `{"a":2,`}
	ask := []chat.Message{
		{Role: chat.System, Content: "Use tools. " + strings.Repeat("Be brief. ", 20)},
		{Role: chat.User, Content: "Add 2 and 3."},
	}
	say := func(list ...chat.Message) []chat.Message { return append(ask[:2:2], list...) }
	turn := func(text string, call *chat.ToolCall, result trajectory.ToolResult) trajectory.Turn {
		t := trajectory.Turn{BridgeIDs: make([]int32, 10), CompletionIDs: make([]int32, 4),
			SamplerLogprobs: make([]float32, 4), Content: text, SampleSeconds: 0.5}
		if call != nil {
			result.Call = *call
			t.Calls, t.Results = []chat.ToolCall{*call}, []trajectory.ToolResult{result}
		}
		return t
	}
	sum := trajectory.ToolResult{Status: trajectory.CallOK, Text: "5", Seconds: 0.25}
	refused := trajectory.ToolResult{Status: trajectory.CallInvalid, Text: "no JSON",
		Error: "the arguments are no JSON"}
	terms := func(score float64) []trajectory.Term {
		return []trajectory.Term{{Name: "checks", Score: score, Weight: 1}, {Name: "call", Score: 1, Weight: 0.5}}
	}
	ts := []*trajectory.Trajectory{
		{
			ID:         "add/0/0",
			ScenarioID: "add",
			Split:      "test",
			Outcome:    trajectory.OK,
			StopReason: trajectory.StopCompleted,
			Reward:     1.5,
			Terms:      terms(1),
			Seconds:    1.5,
			Messages: say(
				chat.Message{Role: chat.Assistant, ReasoningContent: "sums", ToolCalls: []chat.ToolCall{good}},
				chat.Message{Role: chat.ToolRole, Name: "add", ToolCallID: "call_0", Content: "5"},
				chat.Message{Role: chat.Assistant, Content: "5"},
			),
			Turns: []trajectory.Turn{turn("", &good, sum), turn("5", nil, sum)},
		},
		{
			ID:         "add/0/1",
			ScenarioID: "add",
			Rollout:    1,
			Outcome:    trajectory.PolicyError,
			StopReason: trajectory.StopParseError,
			Reward:     -0.25,
			Terms:      terms(0),
			Seconds:    0.5,
			Messages: say(chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{bad}},
				chat.Message{Role: chat.ToolRole, Name: "add", ToolCallID: "call_1", Content: "no JSON"},
				chat.Message{Role: chat.Assistant, Content: "It is </think> 6."}),
			Turns: []trajectory.Turn{turn("", &bad, refused), turn("It is </think> 6.", nil, sum)},
		},
		{ID: "long/0/0", ScenarioID: "long", Outcome: trajectory.Limit, StopReason: trajectory.StopContextOverflow,
			Terms: terms(0), Seconds: 0.5,
			Messages: say(chat.Message{Role: chat.Assistant, Content: strings.Repeat("and ", 60)}),
			Turns:    []trajectory.Turn{turn(strings.Repeat("and ", 60), nil, sum)}},
		{ID: "lost/0/0", ScenarioID: "lost", Outcome: trajectory.EnvironmentError, StopReason: trajectory.StopError,
			Error: "the server add ended", Messages: say(), Stderr: map[string]string{"add": "killed"}},
		{ID: "blind/0/0", ScenarioID: "blind", Outcome: trajectory.OK, StopReason: trajectory.StopCompleted,
			Terms: terms(0), Messages: say(chat.Message{Role: chat.Assistant, Content: "5"}),
			Turns: []trajectory.Turn{turn("5", nil, sum)}},
	}
	// an endpoint
	ts[4].Turns[0].BridgeIDs, ts[4].Turns[0].CompletionIDs, ts[4].Turns[0].Usage =
		nil, nil, &trajectory.Usage{PromptTokens: 30, CompletionTokens: 7}
	passes := func(t *trajectory.Trajectory) bool { return t.Terms[0].Score == 1 }
	s := stats.NewSystem("sft", ts, stats.Criteria{
		FirstCall: passes,
		Episode:   passes,
		Describe:  func(r *stats.Row) { r.NumGold, r.Kind = 1, "sum" },
		Unjudged: func(t *trajectory.Trajectory) []string {
			if t.ScenarioID == "blind" {
				return []string{"checks[0] (sql)"}
			}
			return nil
		},
	})
	s.Model = stats.Model{Base: "SmolLM2-135M-Instruct", Adapter: "sft/final"}
	for _, t := range ts {
		s.Episodes = append(s.Episodes, stats.Example{Trajectory: t, Scenario: known[t.ScenarioID]})
	}
	return s
}

var begun = time.Date(2026, 11, 22, 19, 9, 0, 0, time.UTC)

func written(t *testing.T) (log []byte, file string) {
	t.Helper()
	c := stats.Comparison{Systems: []stats.System{measured()}}
	run := evallog.Run{Name: "evaluated", Verb: "hone eval", Created: begun, Dataset: "tasks.jsonl", Version: "v1",
		Facts: map[string]string{"seed": "1"}}
	files, err := evallog.Write(t.TempDir(), run, c, func(system string) any {
		return map[string]int{"n": len(system)}
	})
	if err != nil {
		t.Fatal(err)
	}
	if log, err = os.ReadFile(files[0]); err != nil || len(files) != 1 {
		t.Fatal(err, files)
	}
	return log, filepath.Base(files[0])
}

// read is what Inspect reads of testdata/log.json: testdata/make_read.py wrote it.
type read struct {
	Log     string // SHA-256 of the file
	Status  string
	Model   string
	Task    string
	Epochs  int
	Metrics map[string]map[string]float64 // as written
	Again   map[string]map[string]float64 // as Inspect computes them from the samples
	Samples []struct {
		ID       string
		Epoch    int
		Input    int
		Target   string
		Messages []struct {
			Role, Text, Reasoning string
			Calls                 []struct {
				Function  string
				Arguments map[string]any
				Broken    bool
			}
			Error string
		}
		Scores  map[string]float64
		Events  []string
		Asked   []map[string]any // arguments of the tool events
		Error   string
		Limit   string
		Seconds float64
		Tokens  int
	}
}

// The log is the one that Inspect was given, and what Inspect read of it is what was measured: samples, messages,
// calls, scores, and metrics, which it computes itself from the samples.
func TestAsInspectReads(t *testing.T) {
	log, _ := written(t)
	golden := filepath.Join("testdata", "log.json")
	if *update {
		if err := os.WriteFile(golden, log, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(log) != string(want) {
		t.Fatalf("the log is another than %s; -update writes it, and make parity has Inspect read it", golden)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "read.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got read
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(log)
	if got.Log != hex.EncodeToString(sum[:]) {
		t.Fatal("Inspect read another log: make parity")
	}
	if got.Status != "success" || got.Model != "hone/sft" || got.Task != "evaluated" || got.Epochs != 2 ||
		len(got.Samples) != 5 {
		t.Errorf("%+v", got)
	}
	if !reflect.DeepEqual(got.Metrics, got.Again) || got.Metrics["checks"]["accuracy"] != 0.25 ||
		got.Metrics["checks"]["stderr"] != 0.25 || got.Metrics["reward"]["mean"] != 0.3125 {
		t.Errorf("metrics: %v, as Inspect computes them %v", got.Metrics, got.Again)
	}
	for _, e := range measured().Episodes {
		sameEpisode(t, e, got)
	}
}

func sameEpisode(t *testing.T, e stats.Example, all read) {
	t.Helper()
	x := e.Trajectory
	for _, s := range all.Samples {
		if s.ID != x.ScenarioID || s.Epoch != x.Rollout+1 {
			continue
		}
		for k, c := range x.Calls() {
			if json.Valid([]byte(c.Call.Arguments)) != (s.Asked[k]["b"] == 3.0) {
				t.Errorf("%s: a tool was called with %v", x.ID, s.Asked[k])
			}
		}
		if s.Input != 1 || s.Target != "add {\"a\":2,\"b\":3}\n5" || len(s.Messages) != len(x.Messages) ||
			s.Seconds != x.Seconds {
			t.Errorf("%s: %+v", x.ID, s)
		}
		calls := x.Calls()
		for i, m := range s.Messages {
			want := x.Messages[i]
			if m.Role != want.Role || m.Text != want.Content || m.Reasoning != want.ReasoningContent ||
				len(m.Calls) != len(want.ToolCalls) {
				t.Errorf("%s, message %d: %+v, want %+v", x.ID, i, m, want)
			}
			for k, c := range m.Calls {
				if c.Function != want.ToolCalls[k].Name ||
					c.Broken == json.Valid([]byte(want.ToolCalls[k].Arguments)) ||
					!c.Broken && c.Arguments["b"] != 3.0 {
					t.Errorf("%s, call %d: %+v", x.ID, k, c)
				}
			}
			if m.Role == chat.ToolRole {
				if (m.Error != "") != (calls[0].Status != trajectory.CallOK) {
					t.Errorf("%s: error of a call %q", x.ID, m.Error)
				}
				calls = calls[1:]
			}
		}
		lost := x.ScenarioID == "lost" || x.ScenarioID == "blind"
		if (s.Error != "") != lost || (len(s.Scores) == 0) != lost ||
			!lost && (s.Scores["checks"] != x.Terms[0].Score || s.Scores["reward"] != x.Reward) {
			t.Errorf("%s: error %q, scores %v", x.ID, s.Error, s.Scores)
		}
		if (s.Limit == "context") != (x.Outcome == trajectory.Limit) {
			t.Errorf("%s: limit %q", x.ID, s.Limit)
		}
		prompt, completion := x.NumTokens()
		if s.Tokens != prompt+completion {
			t.Errorf("%s: %d tokens, want %d", x.ID, s.Tokens, prompt+completion)
		}
		if events := strings.Join(s.Events, " "); !strings.HasPrefix(events, "sample_init") ||
			strings.Count(events, "model") != len(x.Turns) || strings.Count(events, "tool") != len(x.Calls()) {
			t.Errorf("%s: events %s", x.ID, events)
		}
		return
	}
	t.Errorf("Inspect did not read %s", x.ID)
}

// A log's name begins as Inspect's viewer wants it, and holds none of its separators twice.
func TestFileName(t *testing.T) {
	_, file := written(t)
	if !strings.HasPrefix(file, "2026-11-22T19-09-00+00-00_evaluated-sft_") || strings.Count(file, "_") != 2 ||
		!strings.HasSuffix(file, ".json") {
		t.Errorf("%s", file)
	}
	c := stats.Comparison{Systems: []stats.System{{Name: "../../" + strings.Repeat("x", 500) + "_é"}}}
	dir := t.TempDir()
	files, err := evallog.Write(dir, evallog.Run{Name: "a/b"}, c, func(string) any { return nil })
	if err != nil || len(files) != 1 || filepath.Dir(files[0]) != dir {
		t.Errorf("%v %v", files, err)
	}
	if _, err := evallog.Write(filepath.Join(files[0], "below"), evallog.Run{}, c,
		func(string) any { return nil }); err == nil {
		t.Error("a file was taken for a folder")
	}
}

// Whatever an episode lacks or holds, its log is JSON, and its sample is there.
func TestMissingPieces(t *testing.T) {
	call := chat.ToolCall{Name: "\xff\x00</script>", Arguments: "{\"a\":1}{"}
	for name, x := range map[string]*trajectory.Trajectory{
		"nothing":        {},
		"opening beyond": {Opening: 9, Messages: []chat.Message{{Role: chat.User}}},
		"results without calls": {Messages: []chat.Message{
			{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}},
			{Role: chat.ToolRole},
			{Role: chat.ToolRole},
			{Role: "\x1b[2J"},
		}},
		"turns without messages": {
			Turns: []trajectory.Turn{
				{Calls: []chat.ToolCall{call}, Results: []trajectory.ToolResult{{Call: call}}},
			},
			Outcome:    trajectory.Limit,
			StopReason: "attachment://x",
			Error:      "\xff",
		},
		"a reference of its own": {Messages: []chat.Message{{Role: chat.User, Content: "attachment://" + strings.Repeat("f", 200)}}},
	} {
		s := stats.System{Name: "s\xff", Episodes: []stats.Example{{Trajectory: x}},
			Rows: []stats.Row{{ScenarioID: "another"}, {NumGold: 1}}}
		text, err := json.Marshal(evallog.Of(evallog.Run{}, s, nil))
		var log struct {
			Samples []struct {
				Messages []any
				Events   []any
			}
		}
		if err == nil {
			err = json.Unmarshal(text, &log)
		}
		if err != nil || len(log.Samples) != 1 || len(log.Samples[0].Messages) != len(x.Messages) ||
			len(log.Samples[0].Events) == 0 {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
	text, err := json.Marshal(evallog.Of(evallog.Run{Unfinished: []string{"none"}}, stats.System{Name: "none"}, nil))
	if err != nil || !strings.Contains(string(text), `"samples":[],"reductions":[]`) ||
		!strings.Contains(string(text), `"scores":[]`) || !strings.Contains(string(text), `"status":"cancelled"`) {
		t.Errorf("a system without episodes: %v: %s", err, text)
	}
}
