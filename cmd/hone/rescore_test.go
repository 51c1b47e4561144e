package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/recipe"
)

// The episodes of a run are scored by other weights, as a run under those would have scored them, schema defaults
// included; the run's own scores stay.
func TestRescore(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "paint", InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"colour":{"type":"string","default":"red"}},"required":["name"]}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
		})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(server.Close)
	endpoint := buyer(t, chat.ToolCall{Name: "paint", Arguments: `{"name":"hat"}`})
	const other = "rewards: {checks: 2, call: 3, tool: 5, end: 7, extra: 0.25, repeat: -11, invalid: -13, parse: -17}\n"
	workFolder(t, map[string]string{"hone.yaml": "seed: 1\n", "other.yaml": other,
		"tasks.jsonl": `{"id": "hat", "task": "Paint a hat.", "gold": [{"name": "paint", "arguments": {"name": "hat", "colour": "red"}}], "checks": [{"type": "call", "name": "paint", "arguments": {"name": "hat"}}]}` + "\n" +
			`{"id": "cap", "task": "Paint a cap.", "gold": [{"name": "paint", "arguments": {"name": "cap"}}], "checks": [{"type": "call", "name": "paint", "arguments": {"name": "cap"}}]}` + "\n"})
	run := func(verb ...string) string {
		t.Helper()
		code, out, said := hone(t, "", verb...)
		if code != 0 {
			t.Fatalf("%q: exit code %d, %s", verb, code, said)
		}
		return out
	}
	collect := []string{"collect", "--mcp", server.URL, "--endpoint", endpoint, "--model", "m", "--dataset",
		"tasks.jsonl", "--split", "all", "--yes", "--output-dir"}
	run(append(collect, "out")...)
	run(append(collect, "out-other", "--config", "other.yaml")...)
	rewards := func(dir string) map[string]float64 {
		earned := map[string]float64{}
		for _, x := range trajectoriesOf(t, dir) {
			earned[x.ID] = x.Reward
		}
		return earned
	}
	was, want := rewards("out"), rewards("out-other")
	if maps.Equal(was, want) || was["hat"] < 1.8 || was["cap"] > 0.3 {
		t.Fatalf("earned %v, under other weights %v", was, want)
	}
	ledger, export := contents(t, "out/ledger.db"), contents(t, "out/trajectories.jsonl")

	rows := run("runs", "rescore", "./out", "--plain")
	if got := run("runs", "rescore", "./out", "--plain", "--dry-run"); got != rows ||
		!strings.HasPrefix(got, "STAGE\t") || !strings.HasSuffix(got, "\t0\t2\t0\t0\n") {
		t.Errorf("under the run's own weights: %s, %s", rows, got)
	}
	var changes []recipe.Change
	if err := json.Unmarshal([]byte(run("runs", "rescore", "./out", "--config", "other.yaml", "--json")),
		&changes); err != nil {
		t.Fatal(err)
	}
	mean := func(earned map[string]float64) float64 { return (earned["hat"] + earned["cap"]) / 2 }
	if want := (recipe.Change{Stage: "collect", Episodes: 2, Was: mean(was), Now: mean(want), Changed: 2,
		Groups: 2}); len(changes) != 1 || changes[0] != want {
		t.Errorf("%+v, want %+v", changes, want)
	}
	got := map[string]float64{}
	for line := range strings.Lines(string(contents(t, "out/rescored-2.jsonl"))) {
		var x struct {
			Row      string
			Was, Now trajectory.Score
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		id := strings.TrimPrefix(x.Row, "collect/")
		got[id] = x.Now.Reward
		if x.Was.Reward != was[id] || !slices.ContainsFunc(x.Now.Terms,
			func(term trajectory.Term) bool { return term.Name == "call" && term.Weight == 3 }) {
			t.Errorf("%s", line)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("rescored to %v, want %v", got, want)
	}
	if string(contents(t, "out/ledger.db")) != string(ledger) ||
		string(contents(t, "out/trajectories.jsonl")) != string(export) {
		t.Error("the run's own scores were changed")
	}
	if _, err := os.Stat("out/rescored-3.jsonl"); err == nil {
		t.Error("a rehearsal wrote a file")
	}
	write(t, "half.sh",
		"#!/bin/sh\nif grep -q 'Paint a hat'; then echo '[1]'; else echo no cap today >&2; exit 3; fi\n")
	if err := os.Chmod("half.sh", 0o700); err != nil {
		t.Fatal(err)
	}
	// it fails for one of the scenarios
	write(t, "half.yaml", "rewards: {program: {command: [./half.sh], weight: 1}}\n")
	if code, out, said := hone(t, "", "runs", "rescore", "./out", "--config", "half.yaml", "--plain",
		"--dry-run"); code != 3 || !strings.HasSuffix(out, "\t1\t2\t0\t1\n") ||
		!strings.Contains(said, "1 of 2 episodes could not be scored") || !strings.Contains(said, "collect/cap: ") ||
		!strings.Contains(said, "no cap today") {
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
	// a kill came between a trajectory and its score
	d, err := job.Env{Host: toyApp(io.Discard, nil).Host}.Open("out", &config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	row, _, err := d.Ledger.Trajectory("collect/cap")
	if err = errors.Join(err, d.ReplaceTrajectory(row), d.Close()); err != nil {
		t.Fatal(err)
	}
	if code, out, said := hone(t, "", "runs",
		"rescore", "./out", "--plain", "--dry-run"); code != 0 || !strings.Contains(said, "1 episode left out") ||
		!strings.HasPrefix(out[strings.Index(out, "\n")+1:], "collect\t1\t") {
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
	if code, _, said := hone(t, "", "runs", "rescore", "./nowhere"); code != 2 {
		t.Errorf("exit code %d, %s", code, said)
	}
}

// A person's rating is kept beside the run, is shown with its episode, and counts where the run is scored again; the
// last one stands.
func TestRatings(t *testing.T) {
	url, _ := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name":"hat"}`})
	task := ""
	for _, id := range []string{"hat", "cap"} {
		task += `{"id": "` + id +
			`", "task": "Buy a hat.", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}` + "\n"
	}
	workFolder(t, map[string]string{"hone.yaml": "rewards: {rating: 8}\n", "tasks.jsonl": task})
	run := func(want int, verb ...string) string {
		t.Helper()
		code, out, said := hone(t, "", verb...)
		if code != want {
			t.Fatalf("%q: exit code %d, %s", verb, code, said)
		}
		return out + said
	}
	run(0, "collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset", "tasks.jsonl", "--split",
		"all", "--samples", "2", "--yes", "--output-dir", "out")
	var list []struct{ Row string }
	_, text, _ := hone(t, "", "runs", "rollouts", "./out", "--json")
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) != 4 {
		t.Fatalf("%v: %s", err, text)
	}
	first := list[0].Row
	second := list[1+
		slices.IndexFunc(list[1:], func(x struct{ Row string }) bool { return strings.HasPrefix(x.Row, first) })].Row
	ledger := contents(t, "out/ledger.db")
	for _, bad := range [][]string{{first, "2"}, {first, "NaN"}, {first, "good"}, {"nobody", "1"}} {
		run(2, "runs", "rate", "./out", bad[0], bad[1])
	}
	run(0, "runs", "rate", "./out", first, "1")
	run(0, "runs", "rate", "./out", first, "0.25", "--note", "right, but slow")
	if got := run(0, "runs", "rescore", "./out", "--plain",
		"--dry-run"); !strings.Contains(got, "1 group rated in part") || !strings.Contains(got, "\t0\t2\t0\t0\n") {
		t.Errorf("a group of which one episode is rated: %s", got)
	}
	run(0, "runs", "rate", "./out", second, "0.75")
	if got := run(0, "runs", "show", "./out", "--episode", first); !strings.Contains(got,
		"rated 0.25  right, but slow") {
		t.Error(got)
	}
	said := run(0, "runs", "report", "./out")
	if _, page := reportOf(t, "out", said+"report: "); page != "" &&
		(!strings.Contains(page, `"rating":{"score":0.25`) || !strings.Contains(page, "right, but slow")) {
		t.Error("the report does not show the rating")
	}
	if got := run(0, "runs", "rescore", "./out", "--plain"); !strings.Contains(got, "\t2\t2\t1\t0\n") ||
		strings.Contains(got, "in part") {
		t.Errorf("a group that is rated: %s", got)
	}
	rescored := 0
	for line := range strings.Lines(string(contents(t, "out/rescored-1.jsonl"))) {
		var x struct {
			Row      string
			Was, Now trajectory.Score
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{first: 2, second: 6}[x.Row]
		if x.Now.Reward != x.Was.Reward+want {
			t.Errorf("%s earns %g, and earned %g, want %g more", x.Row, x.Now.Reward, x.Was.Reward, want)
		}
		rescored++
	}
	if rescored != 4 || string(contents(t, "out/ledger.db")) != string(ledger) {
		t.Errorf("%d rescored, or the ledger changed", rescored)
	}
	write(t, "out/ratings.jsonl", "broken\n")
	if got := run(2, "runs", "show", "./out", "--episode", first); !strings.Contains(got, "line 1 is no rating") {
		t.Error(got)
	}
}
