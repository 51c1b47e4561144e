package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/synth"
	"hone/internal/synth/generate"
)

// teachingEndpoint serves models by name: "wise" thinks of tasks of the shop, "strict" picks and scores, "pupil" buys
// what a task quotes.
func teachingEndpoint(t *testing.T) (url string, asked map[string]*atomic.Int64) {
	t.Helper()
	asked = map[string]*atomic.Int64{"wise": {}, "other": {}, "strict": {}, "pupil": {}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model    string
			Messages []chat.Message
			Tools    []json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || asked[q.Model] == nil {
			http.Error(w, "no such model", http.StatusNotFound)
			return
		}
		asked[q.Model].Add(1)
		rule, said := q.Messages[0].Content, q.Messages[len(q.Messages)-1].Content
		task := said
		if at := strings.LastIndex(said, "Request: "); at >= 0 {
			task, _, _ = strings.Cut(said[at+9:], "\n")
		}
		reply, finish := chat.Message{Role: chat.Assistant}, "stop"
		quoted := regexp.MustCompile(`"(\w+)"`).FindStringSubmatch(task + `"hat"`)[1]
		buys := strings.Contains(said, "Tool: buy") || strings.Contains(said, "own")
		switch {
		case len(q.Tools) > 0 && q.Model == "pupil" && q.Messages[len(q.Messages)-1].Role == chat.User && buys:
			reply.ToolCalls, finish =
				[]chat.ToolCall{{ID: "c", Name: "buy", Arguments: fmt.Sprintf(`{"name": %q}`, quoted)}}, "tool_calls"
		case len(q.Tools) > 0:
			reply.Content = "Done."
		case strings.HasPrefix(rule, "You write requests"):
			for _, thing := range []string{"hat", "cap", "tie", "boat", "lamp"} {
				if buys {
					reply.Content += fmt.Sprintf("It is time that I own the thing they call %q.\n", thing)
				} else {
					reply.Content += fmt.Sprintf("Is there still a %q on your shelves?\n", thing)
				}
			}
		case strings.HasPrefix(rule, "You write the arguments"):
			reply.Content = fmt.Sprintf(`{"name": %q}`, quoted)
		case strings.HasPrefix(rule, "You choose"):
			reply.Content = "look"
			if buys {
				reply.Content = "buy"
			}
		case strings.HasPrefix(rule, "You judge"):
			reply.Content = "clarity: 9\nspecificity: 9\nrelevance: 9\ncompleteness: 9\ncorrectness: 9"
		case strings.HasPrefix(rule, "Imagine"):
			reply.Content = "Folks, could somebody sort this out today, thanks a lot: " +
				strings.TrimSuffix(said[strings.LastIndex(said, "job: ")+5:], "\nThe message:")
		default:
			reply.Content = task + " Today."
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"message": reply, "finish_reason": finish}},
			"usage":   map[string]int{"prompt_tokens": 50, "completion_tokens": 10},
		})
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// Each of the models that the flags name is asked for what it is there for; what they said is in the provenance, what
// they cost is told, and the same command pays for nothing again.
func TestSynthTeacher(t *testing.T) {
	url, _ := shop(t)
	endpoint, asked := teachingEndpoint(t)
	workFolder(t, map[string]string{
		"hone.yaml": fmt.Sprintf("providers: {near: {url: %s/v1, prices: {wise: {prompt: 1, completion: 2}, other: "+
			"{prompt: 1}, strict: {prompt: 1}, pupil: {prompt: 1}}}}\n", endpoint),
	})
	args := []string{
		"synth", "--config", "hone.yaml", "--cache", "cache", "--mcp", url, "--call-all", "--out", "made.json", "-n",
		"16", "--teacher", "near/wise", "--held-teacher", endpoint + "/v1/other", "--judge", "near/strict",
		"--reference", "near/pupil", "--reference-runs", "2", "--json",
	}
	code, printed, said := hone(t, "", args...)
	var r generate.Report
	if err := json.Unmarshal([]byte(printed), &r); err != nil || code != 0 {
		t.Fatalf("%d %v\n%s%s", code, err, printed, said)
	}
	for name, n := range asked {
		if n.Load() == 0 {
			t.Errorf("%s was not asked", name)
		}
	}
	if !strings.Contains(said, "where a price is known") {
		t.Errorf("what it cost is not told: %s", said)
	}
	list, err := scenario.Load("made.json")
	if err != nil || len(list) < 6 {
		t.Fatalf("%d scenarios, %v\n%v", len(list), err, r.Rows())
	}
	for _, x := range list {
		p := x.Provenance
		if want := map[bool]string{true: "wise", false: "other"}[x.Split == scenario.Train]; p.Teacher != want ||
			p.Quality != 9 || p.Reference == nil || p.Reference.By != "pupil" || p.Reference.Runs != 2 ||
			p.Reference.Passed == 0 {
			t.Errorf("%s: %s %+v %+v", x.Task, x.Split, p, p.Reference)
		}
	}
	var gap synth.Compared
	write(t, "said.jsonl", `{"messages": [{"role": "user", "content": "Get me a hat."}, {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "buy", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "c", "content": "sold"}, {"role": "assistant", "content": "Done."}]}`)
	write(t, "hand.jsonl", `{"task": "Look for a tie.", "gold": [{"name": "look", "arguments": {"name": "tie"}}]}`)
	if code, printed, said = hone(t, "", "synth", "report", "made.json", "--scenarios", "hand.jsonl", "--data",
		"said.jsonl", "--json"); code != 0 || json.Unmarshal([]byte(printed), &gap) != nil ||
		gap.Distance == nil || len(gap.Distance.Shapes) != 3 || gap.Distance.Shapes[0].Tasks != len(list) ||
		gap.Distance.Shapes[1].Words != 4 || gap.Distance.Shapes[2].Calls != 1 ||
		gap.Gap.Overlaps[0] != r.Gap.Overlaps[0] {
		t.Errorf("%d %+v\n%s%s", code, gap, printed, said)
	}
	if code, _, said = hone(t, "", "synth", "report", "none.json"); code != 2 || !strings.Contains(said, "none.json") {
		t.Errorf("%d %s", code, said)
	}
	before := asked["wise"].Load()
	if code, _, said = hone(t, "", args...); code != 0 || asked["wise"].Load() != before {
		t.Errorf("%d; %d more were asked\n%s", code, asked["wise"].Load()-before, said)
	}
	for _, tc := range []struct {
		name string
		code int
		want string
		args []string
	}{
		{"tokens", 4, "--token-budget", []string{"--teacher", "near/wise", "--token-budget", "2000"}},
		{"dollars", 4, "--budget-usd", []string{"--teacher", "near/wise", "--budget-usd", "0.002"}},
		{"dollars without a price", 2, "prices", []string{"--teacher", endpoint + "/v1/wise", "--budget-usd", "1"}},
		{"a model that nobody has", 2, "--judge nobody/x", []string{"--teacher", "near/wise", "--judge", "nobody/x"}},
		{"a held teacher without a teacher", 2, "--held-teacher", []string{"--held-teacher", "near/wise"}},
		{"what fell into the same file", 2, "--rejected", []string{"--rejected", "other.json"}},
		{"no run", 2, "--reference-runs 0", []string{"--reference-runs", "0"}},
		{"a negative budget", 2, "--budget-usd", []string{"--budget-usd", "-1"}},
		{"a reference that solves nothing", 3, "reference", []string{"--reference", "near/strict", "--reference-runs", "1"}},
	} {
		args := append([]string{"synth", "--config", "hone.yaml", "--cache", t.TempDir(), "--mcp", url, "--call-all",
			"--out", "other.json", "--work", t.TempDir() + "/w", "-n", "16"}, tc.args...)
		if code, _, said := hone(t, "", args...); code != tc.code || !strings.Contains(said, tc.want) {
			t.Errorf("%s: %d\n%s", tc.name, code, said)
		}
	}
	code, _, said = hone(t, "", "synth", "--config", "hone.yaml", "--mcp", url, "--call-all", "--out", "gated.json",
		"-n", "16", "--judge", "near/strict", "--rejected", "fell.json")
	if list, err = scenario.Load("gated.json"); code != 0 || err != nil || list[0].Provenance.Quality != 9 ||
		list[0].Provenance.Teacher != "" {
		t.Errorf("%d %v\n%s", code, err, said)
	}
	if list, err = scenario.Load("fell.json"); err != nil || len(list) == 0 ||
		!strings.Contains(strings.Join(list[len(list)-1].Tags, " "), "fell:") {
		t.Errorf("%v %v", list, err)
	}
	code, _, said = hone(t, "", "synth", "--config", "hone.yaml", "--mcp", url, "--call-all", "--out", "hard.json",
		"-n", "16", "--reference", "near/strict", "--reference-runs", "1", "--keep-unsolved")
	if list, err = scenario.Load("hard.json"); code != 0 || err != nil || list[0].Provenance.Reference == nil {
		t.Errorf("%d %v\n%s", code, err, said)
	}
}
