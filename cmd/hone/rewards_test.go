package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/reward"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
)

// The weights of hone.yaml are what episodes are scored by, also in a run that goes on under another hone.yaml; a file
// that names none has the defaults of which package reward says what they hold.
func TestRewards(t *testing.T) {
	if got := *job.WeightsOf(config.Default().Rewards); got != reward.Default() || got.Validate() != nil {
		t.Errorf("the default weights are %+v, those of package reward %+v", got, reward.Default())
	}
	url, _ := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "look", Arguments: `{"name":"hat"}`}, chat.ToolCall{Name: "buy", Arguments: `{"name":"hat"}`}, chat.ToolCall{Name: "buy", Arguments: `{"name":"hat"}`})
	const task = `{"id": "hat", "task": "Buy a hat.", "gold": [{"name": "buy", "arguments": {"name": "hat"}}], "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}` + "\n"
	collect := []string{"collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset", "tasks.jsonl", "--output-dir", "out", "--yes"}
	given := config.Rewards{Checks: 2, Call: 3, Tool: 5, End: 7, Extra: 0.25, Repeat: -11, Invalid: -13, Parse: -17}
	const conf = "rewards: {checks: 2, call: 3, tool: 5, end: 7, extra: 0.25, repeat: -11, invalid: -13, parse: -17}\n"
	for name, x := range map[string]struct {
		conf string
		want config.Rewards
	}{"none": {"", config.Default().Rewards}, "all": {conf, given}} {
		t.Run(name, func(t *testing.T) {
			workFolder(t, map[string]string{"hone.yaml": x.conf, "tasks.jsonl": task})
			if code, _, said := hone(t, "", collect...); code != 0 {
				t.Fatalf("exit code %d, %s", code, said)
			}
			earned := x.want.Checks + x.want.Call + x.want.Tool + x.want.End // all but two calls more
			weights := map[string]float64{"checks": x.want.Checks, "call": x.want.Call, "tool": x.want.Tool, "end": x.want.End, "extra": -earned,
				"repeat": x.want.Repeat, "invalid": x.want.Invalid, "parse": x.want.Parse}
			got := trajectoriesOf(t, "out")[0]
			for _, term := range got.Terms {
				if term.Weight != weights[term.Name] {
					t.Errorf("%s has the weight %g, not %g", term.Name, term.Weight, weights[term.Name])
				}
				delete(weights, term.Name)
			}
			left := math.Pow(1-x.want.Extra, 2)
			if want := earned*left + x.want.Repeat/3; len(weights) > 0 || math.Abs(got.Reward-want) > 1e-9 {
				t.Errorf("earned %g, want %g; no terms %v", got.Reward, want, weights)
			}
			write(t, "hone.yaml", "rewards: {checks: 1000}\n")
			write(t, "tasks.jsonl", `{"id": "more", "task": "Buy a hat.", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}`+"\n")
			if code, _, said := hone(t, "", collect...); code != 0 {
				t.Fatalf("gone on: exit code %d, %s", code, said)
			}
			if terms := trajectoriesOf(t, "out")[1].Terms; terms[0].Name != "checks" || terms[0].Weight != x.want.Checks {
				t.Errorf("gone on under other weights: %+v", terms)
			}
		})
	}
}

// trajectoriesOf reads what a run exported.
func trajectoriesOf(t *testing.T, dir string) (out []trajectory.Trajectory) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "trajectories.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var x trajectory.Trajectory
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out = append(out, x)
	}
	return out
}
