package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/run"
	"hone/internal/testing/fakes"
)

// Scenarios of three splits, one of each.
const splitRows = `{"id": "a", "task": "Buy a hat.", "split": "train", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}
{"id": "b", "task": "Get a hat.", "split": "validation", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}
{"id": "c", "task": "Fetch a hat.", "split": "test", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}
`

// By the commands of the guide nothing but the training split is learnt from, and each trajectory says of which it is.
func TestSplitsAreKeptApart(t *testing.T) {
	url, _ := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name": "hat"}`})
	workFolder(t, map[string]string{"rows.jsonl": splitRows})
	list, err := scenario.Load("rows.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for split, want := range map[string][]string{
		"":           {"a"},
		"validation": {"b"},
		"test":       {"c"},
		"all":        {"a", "b", "c"},
	} {
		args := []string{"collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset", "rows.jsonl",
			"--output-dir", "out-" + split, "--yes"}
		if split != "" {
			args = append(args, "--split", split)
		}
		code, _, said := hone(t, "", args...)
		if code != 0 {
			t.Fatalf("%s: exit code %d, %s", split, code, said)
		}
		if told := strings.Contains(said, "2 of other splits are left out"); told != (split != "all") {
			t.Errorf("%s: %s", split, said)
		}
		var got []string
		for line := range strings.Lines(contents(t, "out-"+split+"/trajectories.jsonl")) {
			var row struct {
				Scenario string `json:"scenario_id"`
				Split    string
				Hash     string `json:"scenario_hash"`
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			got = append(got, row.Scenario)
			i := slices.IndexFunc(list, func(s scenario.Scenario) bool { return s.ID == row.Scenario })
			if row.Split != list[i].Split || row.Hash != list[i].Hash() {
				t.Errorf("%s: %+v", split, row)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: ran %q, want %q", split, got, want)
		}
	}
	if code, _, said := hone(t, "", "collect", "--mcp", url, "--endpoint",
		endpoint, "--model", "m", "--dataset", "rows.jsonl", "--output-dir", "out", "--split", "tests"); code != 2 ||
		!strings.Contains(said, `no split "tests"`) {
		t.Errorf("exit code %d, %s", code, said)
	}

	d, err := job.ReadConversations(fakes.QuietHost(t), "out-all/trajectories.jsonl", "", false)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	rows, err := d.Demonstrations(toyApp(&said, nil).Host, config.Default())
	if err != nil || len(rows) != 1 || rows[0].Split != "train" {
		t.Errorf("learnt from %+v, %v", rows, err)
	}
	if !strings.Contains(said.String(), "left out 1 row of the split test") ||
		strings.Contains(said.String(), "validation") {
		t.Errorf("of the rows that are not learnt from, the one that is measured on is not left out: %s", &said)
	}
	if d, err = job.ReadConversations(fakes.QuietHost(t), "out-test/trajectories.jsonl", "", false); err != nil {
		t.Fatal(err)
	}
	if _, err = d.Demonstrations(toyApp(&said, nil).Host, config.Default()); err == nil ||
		!strings.Contains(err.Error(), "all were left out") {
		t.Errorf("test rows alone: %v", err)
	}
}

// An adapter's record names what it and those before it were trained on, under whatever id and split it now comes back.
func TestLessons(t *testing.T) {
	workFolder(t, map[string]string{"rows.jsonl": splitRows})
	text, err := new(config.Config).YAML()
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
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	conversations := `{"messages":[{"role":"user","content":"Sell a hat."},{"role":"assistant","content":"sold"}]}
{"split":"test","messages":[{"role":"user","content":"Lend a hat."},{"role":"assistant","content":"lent"}]}
{"outcome":"limit","messages":[{"role":"user","content":"Rent a hat."},{"role":"assistant","content":"rented"}]}
`
	begin("first", job.Begun{Verb: "sft", Folder: here},
		run.Input{Name: job.ConversationsFile, Data: []byte(conversations)})
	begin("second", job.Begun{Verb: "train", Folder: here, Flags: job.Kept{Adapter: "first/final"}}, run.Input{
		Name: job.ScenariosFile,
		Data: []byte("[" + strings.Join(strings.Split(strings.TrimSpace(splitRows), "\n"), ",") + "]"),
	})

	list, err := scenario.Load("rows.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	renamed := list[0]
	renamed.ID, renamed.Split, renamed.Tags = "z", "test", []string{"new"}
	judged := list[0]
	judged.ID, judged.Checks = "y", nil
	tasks := append(list, renamed, judged, scenario.Scenario{ID: "sell", Task: "Sell a hat."},
		scenario.Scenario{ID: "lend", Task: "Lend a hat."}, scenario.Scenario{ID: "rent", Task: "Rent a hat."})
	var said bytes.Buffer
	if got, want := records.ReadProvenance("second/final").WarnSame(toyApp(&said, nil).Host, tasks),
		[]string{"a", "z", "y", "sell"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !strings.Contains(said.String(),
		"warning: the model was trained on 4 of 8 scenarios (a, z, y, sell), as the record of "+here+"/second, "+here+
			"/first says") {
		t.Errorf("said %s", &said)
	}
	said.Reset()
	if got := records.ReadProvenance("first/final").WarnSame(toyApp(&said, nil).Host, tasks); !slices.Equal(got,
		[]string{"sell"}) {
		t.Errorf("the first: %q, %s", got, &said)
	}
	said.Reset()
	if got := records.ReadProvenance("second/final").WarnSame(toyApp(&said, nil).Host, list[1:]); got != nil ||
		said.Len() > 0 {
		t.Errorf("held out: %q, %s", got, &said)
	}
	if got := records.ReadProvenance("/elsewhere/adapter").WarnSame(toyApp(&said, nil).Host, list); got != nil ||
		!strings.Contains(said.String(), "no run's record beside /elsewhere/adapter") {
		t.Errorf("no record: %q, %s", got, &said)
	}
}

// A run keeps scenarios with the paths that their folders and programs had, which lie outside of it: they are read back
// all the same.
func TestLessonsWithPaths(t *testing.T) {
	workFolder(t, map[string]string{"shop/stock.json": "{}", "score.sh": "#!/bin/sh\necho 1\n",
		"rows.jsonl": `{"id":"a","task":"Sell a hat.","split":"train","template":"shop","checks":[{"type":"command","command":["./score.sh"]}]}` + "\n"})
	if err := os.Chmod("score.sh", 0o700); err != nil {
		t.Fatal(err)
	}
	list, err := scenario.Load("rows.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := scenario.Encode(list, false)
	if err != nil {
		t.Fatal(err)
	}
	text, err := new(config.Config).YAML()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := run.Create("out", text, job.Begun{Verb: "train"}, run.Input{Name: job.ScenariosFile, Data: kept})
	if err == nil {
		err = errors.Join(dir.Close(), os.Mkdir("out/final", 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if got := records.ReadProvenance("out/final").WarnSame(toyApp(&said, nil).Host, list); !slices.Equal(got,
		[]string{"a"}) {
		t.Errorf("%q, said %s", got, &said)
	}
	if s := records.ScenariosOf("out")["a"]; s == nil || s.Hash() != list[0].Hash() {
		t.Errorf("the run's scenario is %+v", s)
	}
}
