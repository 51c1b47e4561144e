//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"
)

const (
	hashesFile = "testdata/hashes.golden"
	hashesDir  = "HONE_TEST_HASHES" // where the process that makes the runs writes what is hashed
)

// What small runs of the verbs learn, record and answer stays the same to the bit: code that is moved changes no hash.
// The runs are made in a process of their own, whose tensors are computed by AVX2 also where there is AVX-512, for the
// order of sums is another there.
//
// Where a hash changes and should, -update writes testdata/hashes.golden anew. Where it should not, -artifacts keeps
// what was hashed: diff it with that of a commit before.
func TestHashesOfToyRuns(t *testing.T) {
	if dir := os.Getenv(hashesDir); dir != "" {
		makeToyRuns(t, dir)
		return
	}
	if runtime.GOARCH != "amd64" || !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		t.Skip("the hashes are of AVX2, and other processors add up in another order: " +
			"compare with those of a commit before")
	}
	golden, err := filepath.Abs(hashesFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.ArtifactDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHashesOfToyRuns$")
	child.Env = append(os.Environ(), hashesDir+"="+dir, "GOMLX_SIMD_AVX512=false")
	if said, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	got := hashesOf(t, dir)
	if *update {
		var table strings.Builder
		for _, what := range slices.Sorted(maps.Keys(got)) {
			fmt.Fprintf(&table, "%-32s %s\n", what, got[what])
		}
		write(t, golden, table.String())
		return
	}
	want := map[string]string{}
	for line := range strings.Lines(contents(t, golden)) {
		f := strings.Fields(line)
		want[f[0]] = f[1]
	}
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, what := range slices.Sorted(maps.Keys(all)) {
		if got[what] != want[what] {
			t.Errorf("%s: its SHA-256 is %q, want %q", what, got[what], want[what])
		}
	}
	if t.Failed() {
		t.Logf("what was hashed is in %s, and is kept with -artifacts", dir)
	}
}

// hashesOf are those of a folder's files, by their names.
func hashesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = fmt.Sprintf("%x", sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// toyTasks have checks that a toy meets by chance, so that there is something to learn.
const toyTasks = `[
{"id": "talk", "user": {"says": ["Say a.", "More.", "And more."]}, "split": "train",
 "checks": [{"type": "answer", "regex": "[a-m]", "any_turn": true}]},
{"id": "say", "task": "Say b.", "split": "train", "checks": [{"type": "answer", "regex": "[A-RT-Zc-m]"}]},
{"id": "buy", "task": "Buy a hat.", "split": "train",
 "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]},
{"id": "look", "task": "Look for a hat.", "split": "train",
 "checks": [{"type": "call", "name": "look", "arguments": {"name": "hat"}}]},
{"id": "held", "task": "Say c.", "split": "validation", "checks": [{"type": "no_call"}]},
{"id": "heard", "user": {"says": ["Say d.", "More."]}, "split": "validation", "checks": [{"type": "no_call"}]}]`

// toyRuns are the commands of each run, in a folder of its own. URL is that of a server.
var toyRuns = []struct {
	name, conf string
	commands   []string
}{
	{"train", "grpo: {steps: 2, scenarios_per_step: 2, group_size: 3, " + plainGRPO + "}\neval: {every: 2}\n",
		[]string{"train --mcp URL --base-model base --dataset tasks.json --output-dir out"}},
	{"train_additions", "grpo: {steps: 3, scenarios_per_step: 2, group_size: 2, advantage: centred, " +
		"optimizer: {learning_rate: 2.0e-5}, negative_weight: 0.3, num_iterations: 2, minibatches: 2, resample: 1, " +
		"pools: {skip_solved: 0.5}, " +
		"imitation: {rows: 2}, explorations: 1, demonstrations: {rows: 1, file: say.jsonl, phi: true}, entropy: " +
		"{coefficient: 0.01, target: 2, delta: 0.005}, kl: {beta: 0.01}, correction: {level: token}}\n",
		[]string{"train --mcp URL --base-model base --dataset tasks.json --output-dir out"}},
	{"train_overlap", "grpo: {steps: 3, scenarios_per_step: 1, group_size: 3, staleness: 1, imitation: {rows: 2}, " +
		plainGRPO + "}\n",
		[]string{"train --mcp URL --base-model base --dataset tasks.json --output-dir out"}},
	{"sft", "sft: {batch_size: 2, epochs: 2, validation: 0.25}\n",
		[]string{"sft --data say.jsonl --base-model base --output-dir out"}},
	{"dpo", "dpo: {batch_size: 2, epochs: 2, optimizer: {learning_rate: 0.02, warmup: 0}}\n",
		[]string{"dpo --data pairs.jsonl --base-model base --adapter adapter --output-dir out"}},
	{"eval", "",
		[]string{"eval --mcp URL --base-model base --model adapter --compare-base --dataset tasks.json " +
			"--split validation --output-dir out"}},
	{"sidecar", "grpo: {scenarios_per_step: 1, group_size: 2, " + plainGRPO + "}\n",
		[]string{"sidecar train --data revisions --steps 2 --probe-every 2 --base-model base --output-dir out",
			"sidecar eval --data revisions --split train --model out/final"}},
	{"synth", "", []string{"synth --mcp URL --call-all --out made.json -n 12 --seed 3"}},
}

// plainGRPO has the settings of a step that the hashes were made with.
const plainGRPO = "advantage: group, minibatches: 1, optimizer: {learning_rate: 2.0e-5}"

// toyShape has prompts and answers that are short, and rewards that differ within most groups.
const toyShape = `rollout: {max_turns: 2, max_tokens: 8}
mcp: {max_tools: 1, distractors: -1}
rewards: {expressions: {short: {formula: "tokens < 5 ? 1 : 0", weight: 1}}}
lora: {rank: 2}
model: {context: 320}
engine: {slots: 2, backend: go}
`

// makeToyRuns makes each run in a folder of its own and writes what came of it into dir, without what no two runs
// share.
func makeToyRuns(t *testing.T, dir string) {
	for _, r := range toyRuns {
		url, _ := shop(t)
		workFolder(t, map[string]string{
			"hone.yaml": toyShape + r.conf, "say.jsonl": sayings, "pairs.jsonl": preferences,
			"tasks.json": toyTasks,
		})
		toyModel(t, "base/toy.gguf")
		toyAdapter(t, "base", "adapter")
		revisions(t)
		for _, command := range r.commands {
			if code, _, said := hone(t, "", strings.Fields(strings.ReplaceAll(command, "URL", url))...); code != 0 {
				t.Fatalf("%s: exit code %d, %s", command, code, said)
			}
		}
		for from, to := range map[string]string{
			"out/final/adapter_model.safetensors": "adapter", "out/metrics.jsonl": "metrics",
			"out/trajectories.jsonl": "trajectories", "out/results.json": "results",
			"revisions/eval_train.json": "results", "made.json": "scenarios"} {
			text, err := os.ReadFile(from)
			if err != nil || len(text) == 0 {
				continue // of another verb
			}
			if to != "adapter" {
				text = []byte(timeless(string(text)))
			}
			write(t, filepath.Join(dir, r.name, to), string(text))
		}
	}
	write(t, filepath.Join(dir, "serve", "transcripts"), timeless(answers(t)))
}

// answers are those of hone serve, whole and as streams.
func answers(t *testing.T) string {
	t.Helper()
	workFolder(t, nil)
	toyModel(t, "toy.gguf")
	url := sampler(t, "toy.gguf").url
	var all strings.Builder
	for _, x := range []struct{ path, body string }{
		{"/chat/completions", `{"messages": [{"role": "user", "content": "Say a."}], "max_tokens": 12, "temperature": 0,
			"logprobs": true, "top_logprobs": 2}`},
		{"/chat/completions", `{"messages": [{"role": "user", "content": "Say a."}], "max_tokens": 12,
			"temperature": 1, "seed": 7, "stream": true, "stream_options": {"include_usage": true}}`},
		{"/chat/completions", `{"messages": [{"role": "user", "content": "Buy a hat."}], "max_tokens": 60,
			"temperature": 1, "seed": 3, "tool_choice": "required",
			"tools": [{"type": "function", "function": {"name": "buy", "parameters": {"type": "object",
			"properties": {"name": {"enum": ["hat", "cap"]}}, "required": ["name"], "additionalProperties": false}}}]}`},
		{"/completions", `{"prompt": "Once", "max_tokens": 12, "temperature": 1, "seed": 5}`},
		{"/responses", `{"input": "Say b.", "max_output_tokens": 12, "temperature": 0}`},
		{"/messages", `{"messages": [{"role": "user", "content": "Say c."}], "max_tokens": 12, "temperature": 0}`},
	} {
		body := strings.Replace(x.body, "{", `{"model": "toy.gguf", `, 1)
		q, err := http.NewRequestWithContext(t.Context(), "POST", url+x.path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer sesame")
		q.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v %s", x.path, answer.StatusCode, err, text)
		}
		fmt.Fprintf(&all, "%s\n%s\n", x.path, text)
	}
	return all.String()
}

// What no two runs share: clocks, ports, ids that are drawn, and who made the run. Sentences that a person reads are no
// part of the hashes either.
var (
	clocks = regexp.MustCompile(`^(time/.*|step_time|(.*_)?seconds(_.*)?|created(_at)?|completed_at|content_key|` +
		`orchestration_share|facts|why)$`)
	places = regexp.MustCompile(`127\.0\.0\.1:[0-9]+|"(chatcmpl|cmpl|resp|msg|call|toolu|fc|rs)[-_][^"]+"`)
)

// timeless is a text without clocks, ports and ids that are drawn; its lines of JSON are sorted, for episodes are kept
// in the order in which they end.
func timeless(text string) string {
	var x any
	if json.Unmarshal([]byte(text), &x) == nil {
		return encoded(x) + "\n"
	}
	var rows, rest []string
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		line := lines.Text()
		event := strings.TrimPrefix(line, "data: ")
		d := json.NewDecoder(strings.NewReader(event))
		d.UseNumber()
		var x map[string]any
		switch err := d.Decode(&x); {
		case err != nil:
			rest = append(rest, places.ReplaceAllString(line, "PLACE"))
		case event != line: // of a stream, which has an order
			rest = append(rest, encoded(x))
		default:
			rows = append(rows, encoded(x))
		}
	}
	slices.Sort(rows)
	return strings.Join(append(rest, rows...), "\n") + "\n"
}

func encoded(x any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(cut(x)) // what was read as JSON is written as such
	return places.ReplaceAllString(strings.TrimSpace(b.String()), "PLACE")
}

// cut takes clocks out of a value of JSON, and puts the rewards of a group in order, which reports have as episodes
// end.
func cut(x any) any {
	switch x := x.(type) {
	case map[string]any:
		maps.DeleteFunc(x, func(key string, _ any) bool { return clocks.MatchString(key) })
		for key, value := range x {
			x[key] = cut(value)
			if list, ok := value.([]any); ok && key == "rewards" {
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
		}
	case []any:
		for i := range x {
			x[i] = cut(x[i])
		}
	}
	return x
}
