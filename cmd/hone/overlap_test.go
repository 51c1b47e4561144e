package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/data/overlap"
	"hone/internal/episode/scenario"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/run"
)

// Five scenarios to measure on: a near copy, a template filled in anew, a shared call, the same words, and a new task.
const overlapRows = `{"id": "a", "task": "Rename the file \"draft.md\" to \"minutes.md\" and move it into the folder for the spring meeting.", "split": "train", "gold": [{"name": "move", "arguments": {"from": "draft.md", "to": "minutes.md"}}]}
{"id": "b", "task": "Take 3 litres of paint off the stock, and reorder if fewer than 10 are left.", "split": "train", "gold": [{"name": "stock", "arguments": {"paint": -3}}]}
{"id": "c", "task": "What do we have in stock?", "split": "train", "gold": [{"name": "list", "arguments": {}}]}
{"id": "copy", "task": "Please rename the file \"draft.md\" to \"minutes.md\" and move it into the folder for the spring meeting!", "split": "test", "gold": [{"name": "move", "arguments": {"from": "draft.md", "to": "minutes.md"}}]}
{"id": "filled", "task": "Take 5 litres of paint off the stock, and reorder if fewer than 12 are left.", "split": "test", "gold": [{"name": "stock", "arguments": {"paint": -5}}]}
{"id": "same", "task": "What do we have in stock?", "split": "test", "gold": [{"name": "list", "arguments": {}}]}
{"id": "new", "task": "Which customers have not paid yet?", "split": "test", "gold": [{"name": "debtors", "arguments": {"since": "May"}}]}
`

func TestScenariosCheck(t *testing.T) {
	workFolder(t, map[string]string{"rows.jsonl": overlapRows,
		"more.jsonl": `{"id": "d", "task": "Which customers have not yet paid?", "split": "train", "gold": [{"name": "debtors", "arguments": {"since": "May"}}]}` + "\n",
		"talks.jsonl": `{"messages":[{"role":"user","content":"Tell me, which of the customers have not paid yet?"},{"role":"assistant","content":"None."}]}
{"split":"test","messages":[{"role":"user","content":"Which customers have not paid yet?"},{"role":"assistant","content":"None."}]}
`,
		"clean.jsonl": `{"task": "Add 2 and 3.", "split": "train"}
{"task": "Which customers have not paid yet?", "split": "test"}
`})
	check := func(args ...string) (records.Overlaps, int, string) {
		t.Helper()
		code, out, said := hone(t, "", append([]string{"scenarios", "check", "--json"}, args...)...)
		var found records.Overlaps
		if err := json.Unmarshal([]byte(out), &found); err != nil {
			t.Fatalf("%v: %s%s", err, out, said)
		}
		return found, code, said
	}
	found, code, said := check("rows.jsonl")
	var near []string
	for _, n := range found.Near {
		near = append(near, n.ScenarioID+" "+n.Source.Name)
		if n.SameValues != (n.ScenarioID != "filled") || n.Source.Where != "rows.jsonl" ||
			n.Similarity < found.Threshold {
			t.Errorf("%+v", n)
		}
	}
	if want := []string{"copy a", "filled b", "same c"}; code != 2 || !slices.Equal(near, want) {
		t.Errorf("exit code %d, near %q, want %q; %s", code, near, want, said)
	}
	want := []overlap.Count{
		{Unit: "task", Num: 4, Shared: []string{"What do we have in stock?"}}, {Unit: "call", Num: 4,
			Shared: []string{"list {}", `move {"from":"draft.md","to":"minutes.md"}`}},
		{Unit: "tool", Num: 4, Shared: []string{"list", "move", "stock"}}, {Unit: "server", Num: 0, Shared: []string{}},
	}
	for i, u := range found.Units {
		if u.Unit != want[i].Unit || u.Num != want[i].Num || !slices.Equal(u.Shared, want[i].Shared) {
			t.Errorf("%+v, want %+v", u, want[i])
		}
	}
	for _, words := range []string{
		"calls of the split: 4; of these also in what is learnt from: 2 (50%)",
		"2 scenarios near to what is learnt from; the first: copy to a of rows.jsonl",
		"1 task of the split test also stand", "2 calls of the split test",
	} {
		if !strings.Contains(said, words) {
			t.Errorf("no %q in %s", words, said)
		}
	}
	if found, _, _ := check("rows.jsonl", "--train", "more.jsonl", "--data", "talks.jsonl"); len(found.Near) != 4 ||
		found.Near[3].Source.Name != "d" || found.NumTrain != 4 || found.NumTexts != 1 {
		t.Errorf("with other files: %+v", found)
	}
	if found, _, _ := check("rows.jsonl", "--threshold", "1"); len(found.Near) != 1 ||
		found.Near[0].ScenarioID != "same" {
		t.Errorf("threshold 1: %+v", found.Near)
	}
	if found, code, said := check("clean.jsonl"); code != 0 || len(found.Near) != 0 {
		t.Errorf("clean: exit code %d, %+v, %s", code, found, said)
	}
	if found, code, said := check("clean.jsonl", "--by", "tool"); code != 0 || found.Units[2].Num != 0 {
		t.Errorf("without calls: exit code %d, %s", code, said)
	}
	if _, code, said := check("rows.jsonl", "--by", "tool"); code != 2 ||
		!strings.Contains(said, "3 tools of the split test") {
		t.Errorf("by tool: exit code %d, %s", code, said)
	}
	for _, tc := range [][]string{
		{"--by", "word"}, {"--threshold", "0"}, {"--by", "server"}, {"--split", "tests"}, {"--train", "nothing.json"},
		{"--data", "nothing.jsonl"},
	} {
		if code, _, said := hone(t, "", append([]string{"scenarios", "check", "rows.jsonl"}, tc...)...); code != 2 ||
			!strings.Contains(said, "next:") {
			t.Errorf("%q: exit code %d, %s", tc, code, said)
		}
	}
}

// What an adapter learnt from, in whichever form, is told where a scenario to measure on is a near copy of it.
func TestNearCopiesOfWhatWasLearntAreTold(t *testing.T) {
	workFolder(t, map[string]string{"rows.jsonl": overlapRows})
	text, err := new(config.Config).YAML()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	begin := func(name string, b job.Begun, input run.Input) {
		t.Helper()
		dir, err := run.Create(name, text, b, input)
		if err == nil {
			err = dir.Close()
		}
		if err == nil {
			err = os.Mkdir(name+"/final", 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	begin("sft", job.Begun{Verb: "sft", Folder: here}, run.Input{Name: job.ConversationsFile, Data: []byte(
		`{"messages":[{"role":"user","content":"Good morning."},{"role":"assistant","content":"Hello."},{"role":"user","content":"Say what you can do."},{"role":"assistant","content":"None."}]}
{"messages":[{"role":"user","content":"Which customer has not paid yet?"},{"role":"assistant","content":"None."}]}
{"outcome":"limit","messages":[{"role":"user","content":"Rename the file \"draft.md\" to \"minutes.md\" and move it into the folder for the spring meeting."},{"role":"assistant","content":"no"}]}
`)})
	begin("grpo", job.Begun{Verb: "train", Folder: here, Flags: job.Kept{Adapter: "sft/final"}}, run.Input{
		Name: job.ScenariosFile,
		Data: []byte("[" + strings.Join(strings.Split(strings.TrimSpace(overlapRows), "\n"), ",") + "]"),
	})
	begin("odd", job.Begun{Verb: "other", Folder: here}, run.Input{Name: "tasks.json", Data: []byte("{}")})
	var odd strings.Builder
	if got := records.ReadProvenance("odd/final").WarnSame(toyApp(&odd, nil).Host,
		[]scenario.Scenario{{ID: "z", Task: "z"}}); got != nil ||
		!strings.Contains(odd.String(), "what it was trained on is not known") {
		t.Errorf("a verb that nobody knows: %v, %s", got, odd.String())
	}
	begin("demo", job.Begun{Verb: "demo learn", Folder: here}, run.Input{Name: "tasks.json", Data: []byte(`{"Demonstrations": [[{"role":"user","content":"So which customers have not paid yet?"},{"role":"assistant","content":"None."}]], "Train": [{"id":"x","task":"What do we now have in stock?"}]}`)})
	list, err := scenario.Load("rows.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for adapter, want := range map[string]string{
		"sft/final":  "new line 2",
		"grpo/final": "copy a, filled b, new line 2",
		"demo/final": "same x, new demonstration 0",
	} {
		var said strings.Builder
		var got []string
		for _, n := range records.ReadProvenance(adapter).WarnNear(toyApp(&said, nil).Host,
			scenario.OfSplit(list, "test")) {
			got = append(got, n.ScenarioID+" "+n.Source.Name)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", adapter, got, want)
		}
		for _, n := range strings.Split(want, ", ") {
			if id := strings.Fields(n)[0]; !strings.Contains(said.String(), id+" is near to ") {
				t.Errorf("%s: no word of %s in %s", adapter, id, said.String())
			}
		}
		if filled := strings.Contains(said.String(), "note: 1 scenario of 4 near to what the model was trained on "+
			"but for values, such as numbers: filled"); filled != (adapter == "grpo/final") {
			t.Errorf("%s: %s", adapter, said.String())
		}
	}
}
