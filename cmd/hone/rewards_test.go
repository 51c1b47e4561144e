package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/reward"
	"hone/internal/episode/trajectory"
	"hone/internal/job/episodes"
)

// The weights of hone.yaml are what episodes are scored by, also in a run that goes on under another hone.yaml; a file
// that names none has the defaults of which package reward says what they hold.
func TestRewards(t *testing.T) {
	if got := *episodes.WeightsOf(config.Default().Rewards); got != reward.Default() || got.Validate() != nil {
		t.Errorf("the default weights are %+v, those of package reward %+v", got, reward.Default())
	}
	url, _ := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "look", Arguments: `{"name":"hat"}`}, chat.ToolCall{Name: "buy",
		Arguments: `{"name":"hat"}`}, chat.ToolCall{Name: "buy", Arguments: `{"name":"hat"}`})
	const task = `{"id": "hat", "task": "Buy a hat.", "gold": [{"name": "buy", "arguments": {"name": "hat"}}], "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}` + "\n"
	collect := []string{"collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset", "tasks.jsonl",
		"--output-dir", "out", "--yes"}
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
			done := x.want.Checks + x.want.End // after two calls more; the first was of another tool
			weights := map[string]float64{
				"checks": x.want.Checks, "call": x.want.Call, "tool": x.want.Tool, "end": x.want.End, "extra": -done,
				"repeat": 0, "invalid": 0, "parse": x.want.Parse,
			} // a gold call was made
			got := trajectoriesOf(t, "out")[0]
			for _, term := range got.Terms {
				if term.Weight != weights[term.Name] {
					t.Errorf("%s has the weight %g, not %g", term.Name, term.Weight, weights[term.Name])
				}
				delete(weights, term.Name)
			}
			left := math.Pow(1-x.want.Extra, 2)
			if want := done * left; len(weights) > 0 || math.Abs(got.Reward-want) > 1e-9 {
				t.Errorf("earned %g, want %g; no terms %v", got.Reward, want, weights)
			}
			write(t, "hone.yaml", "rewards: {checks: 1000}\n")
			write(t, "tasks.jsonl", `{"id": "more", "task": "Buy a hat.", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}`+"\n")
			if code, _, said := hone(t, "", collect...); code != 0 {
				t.Fatalf("gone on: exit code %d, %s", code, said)
			}
			if terms := trajectoriesOf(t, "out")[1].Terms; terms[0].Name != "checks" ||
				terms[0].Weight != x.want.Checks {
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

// An episode whose program of the rewards fails is kept, is not scored, and is no success; the same command scores it,
// and asks the endpoint for nothing.
func TestEpisodesThatCouldNotBeScoredAreScoredLater(t *testing.T) {
	url, _ := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name":"hat"}`})
	const task = `{"id": %q, "task": "Buy a %s.", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}` + "\n"
	const fails = "#!/bin/sh\ngrep -q 'Buy a %s' && { echo no money >&2; exit 3; }\necho '[0.5]'\n"
	workFolder(t, map[string]string{"hone.yaml": "rewards: {program: {command: [./judge.sh], weight: 8}}\n",
		"tasks.jsonl": fmt.Sprintf(task+task, "hat", "hat", "cap", "cap")})
	judge := func(text string) {
		t.Helper()
		if err := os.WriteFile("judge.sh", []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	collect := []string{"collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset", "tasks.jsonl",
		"--split", "all", "--output-dir", "out", "--yes"}
	judge(fmt.Sprintf(fails, ""))
	code, _, said := hone(t, "", collect...)
	if code != 3 || !strings.Contains(said, "no episode could be scored") ||
		!strings.Contains(said, "exit status 3: no money") ||
		!strings.Contains(said, "2 tokens sent") && !strings.Contains(said, "4 tokens sent") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	judge(fmt.Sprintf(fails, "cap"))
	code, out, said := hone(t, "", append(collect, "--json")...)
	if code != 0 || !strings.Contains(said, "0 tokens sent") || !strings.Contains(said,
		"1 episode could not be scored, the first by: the reward term program of scenario cap") ||
		!strings.Contains(said, "1 of 1 episode passed") || !strings.Contains(out, `"judge_error": 1`) &&
		!strings.Contains(out, `"judge_error":1`) {
		t.Fatalf("exit code %d, %s%s", code, out, said)
	}
	judge("#!/bin/sh\necho '[0.5]'\n")
	if code, _, said = hone(t, "", collect...); code != 0 || !strings.Contains(said, "0 tokens sent") ||
		strings.Contains(said, "could not be scored") {
		t.Errorf("exit code %d, %s", code, said)
	}
	for _, x := range trajectoriesOf(t, "out") {
		if last := x.Terms[len(x.Terms)-1]; x.Outcome != trajectory.OK || x.Error != "" || last.Name != "program" ||
			last.Score*last.Weight != 4 {
			t.Errorf("%s: %s %s, %+v", x.ID, x.Outcome, x.Error, x.Terms)
		}
	}
	if err := os.Remove("judge.sh"); err != nil {
		t.Fatal(err)
	}
	if code, _, said = hone(t, "", append(collect[:len(collect)-2], "new", "--yes")...); code != 2 ||
		!strings.Contains(said, "rewards.program.command") {
		t.Errorf("without its program: exit code %d, %s", code, said)
	}
}

// A worker of the rewards is one process for all groups of a command, and ends with it, also where a run is scored
// again.
func TestWorkerOfTheRewardsEndsWithTheCommand(t *testing.T) {
	url, _ := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name":"hat"}`})
	tasks := ""
	for i := range 3 {
		tasks += fmt.Sprintf(`{"id": "t%d", "task": "Buy a hat.", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}`+"\n", i)
	}
	workFolder(t, map[string]string{
		"hone.yaml":   "rewards: {program: {command: [./judge.sh], weight: 8, worker: true}}\n",
		"tasks.jsonl": tasks,
	})
	const does = "#!/bin/sh\necho $$ >> begun\nwhile read -r line; do\nid=${line#*:}\n" +
		"echo \"{\\\"id\\\": ${id%%,*}, \\\"scores\\\": [0.5]}\"\ndone\necho $$ >> ended\n"
	if err := os.WriteFile("judge.sh", []byte(does), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, command := range [][]string{
		{"collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset", "tasks.jsonl", "--split", "all", "--output-dir", "out", "--yes"},
		{"runs", "rescore", "./out"},
	} {
		if code, out, said := hone(t, "", command...); code != 0 {
			t.Fatalf("%v: exit code %d, %s%s", command, code, out, said)
		}
		begun, err := os.ReadFile("begun")
		if err != nil || len(strings.Fields(string(begun))) != i+1 {
			t.Errorf("%v: processes %s, %v", command, begun, err)
		}
		if ended, err := os.ReadFile("ended"); err != nil || string(ended) != string(begun) {
			t.Errorf("%v: of %s only %s ended by themselves, %v", command, begun, ended, err)
		}
	}
	for _, x := range trajectoriesOf(t, "out") {
		if last := x.Terms[len(x.Terms)-1]; last.Name != "program" || last.Score*last.Weight != 4 {
			t.Errorf("%s: %+v", x.ID, x.Terms)
		}
	}
}
