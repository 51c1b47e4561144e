//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// unusual has a value of its own for each key, so that two that change places are noticed too.
const unusual = `
seed: 7001
name: ours
runs_dir: theirs
mcp:
  config: servers.json
  only: [shop]
  allow_findings: [shop/paint]
  timeout: 11s
  max_tools: 7
  distractors: 2
  resources: tools
  approval: {mode: auto, deny: ["shop/steal"], ask: ["shop/beg"], allow: ["shop/borrow"]}
  sandbox: {mode: "off", max_gib: 3, network: [shop], write: ["shop:/data/w"], read: ["shop:/data/r"], exempt: [pub]}
model: {base: toy.gguf, context: 613}
scenarios: {file: ours.json, programs: true}
rollout:
  system: Be a shop.
  temperature: 0.71
  max_turns: 3
  max_tokens: 311
  max_tool_calls: 5
  max_malformed: 6
  complete_task: true
  max_result: 1237
  timeout: 91s
  user: {url: "http://127.0.0.1:1/v1", model: anyone, key_env: OUR_KEY, temperature: 0.51, max_tokens: 77, token_budget: 4001}
rewards: {checks: 2, call: 3, tool: 5, end: 7, extra: 0.25, repeat: -11, invalid: -13, parse: -17, arguments: 29, recovery: -31, repair: -33, economy: {weight: -37, factor: 1.25}, length: {weight: -41, budget: 4001}, overlong: {weight: -23, limit: 3001, buffer: 299}, program: {command: [./judge.sh], weight: 19, timeout: 92s, worker: true}, expressions: {ours: {formula: "gold / 4", weight: 43}}}
lora: {rank: 3, alpha: 7, rslora: true, dropout: 0.27, target_modules: [q_proj, up_proj], rank_pattern: ["up_proj=5"], alpha_pattern: ["q_proj=9"], trainable_tokens: [th, <|im_end|>]}
sft:
  optimizer: {learning_rate: 0.011, max_grad_norm: 0.12, schedule: cosine, warmup: 0.13, beta1: 0.14, beta2: 0.15, epsilon: 0.0016, weight_decay: 0.17}
  epochs: 2
  steps: 17
  batch_size: 4
  validation: 0.3
  eval_every: 18
  patience: 20
  checkpoint_every: 19
dpo:
  optimizer: {learning_rate: 0.041, max_grad_norm: 0.42, schedule: cosine, warmup: 0.43, beta1: 0.44, beta2: 0.45, epsilon: 0.0046, weight_decay: 0.47}
  epochs: 3
  batch_size: 2
  loss: sigmoid_norm
  beta: 1.9
  label_smoothing: 0.048
  rpo_alpha: 0.049
  validation: 0.35
  eval_every: 28
  patience: 30
  checkpoint_every: 29
grpo:
  optimizer: {learning_rate: 0.021, max_grad_norm: 0.22, schedule: constant, warmup: 0.23, beta1: 0.24, beta2: 0.25, epsilon: 0.0026, weight_decay: 0.27}
  steps: 1
  group_size: 3
  scenarios_per_step: 2
  advantage: leave_one_out
  loss: grpo
  length: 17
  num_iterations: 2
  negative_weight: 0.46
  imitation: {rows: 6, weight: 0.57, memory: 58}
  explorations: 7
  demonstrations: {file: shown.jsonl, rows: 8, weight: 0.59, phi: true}
  credit: {level: turn, discount: 0.93, progress: 0.87}
  minibatches: 5
  clip_dual: 1.5
  kl: {beta: 0.034, estimator: k1, gradient: ratio}
  off_policy: 0.35
  entropy: {coefficient: 0.0061, target: 0.62, delta: 0.0063}
  top_entropy: 0.64
  resample: 3
  pools: {skip_solved: 0.38, skip_failed: 0.39}
  correction: {level: sequence, mode: mask, low: 0.36, high: 3.7}
  clip_low: 0.031
  clip_high: 0.032
  checkpoint_every: 33
  straggler_wait: 4.5
  patience: 41
eval: {every: 1, split: test, repeats: 2, temperature: 0.41, top_k: 42, top_p: 0.43, min_p: 0.044, confidence: 0.77, fail_on_error: 0.9, stop_early: 7}
engine: {backend: go, dtype: f32, slots: 2, join_weights: off, decode_steps: 2, micro_batch: 2, recompute: layer, keep_tokens: 24, row_multiple: 48, packing: tree, moments: 8bit, program_cache: 3, memory: 5}
metrics:
  tfevents: false
  target: 0.66
  mlflow: {url: "http://127.0.0.1:1", experiment: theirs, token_env: OUR_TOKEN}
  wandb: {project: shop, entity: us, mode: online, python: ./no-python}
  prometheus: {address: "127.0.0.1:0", file: ours.prom}
`

const oursJSON = `[
 {"id": "a", "task": "Paint a hat.", "split": "train", "gold": [{"name": "paint", "arguments": {"name": "hat", "colour": "red"}}], "checks": [{"type": "call", "name": "paint", "arguments": {"name": "hat"}}, {"type": "command", "command": ["echo", "1"]}]},
 {"id": "b", "task": "Paint a cap.", "split": "train", "checks": [{"type": "call", "name": "paint", "arguments": {"name": "cap"}}]},
 {"id": "c", "task": "Paint a tie.", "split": "validation", "checks": [{"type": "call", "name": "paint", "arguments": {"name": "tie"}}]},
 {"id": "d", "task": "Paint a bow.", "split": "test", "checks": [{"type": "call", "name": "paint", "arguments": {"name": "bow"}}]}
]`

// judgeSh is a worker that gives each trajectory a quarter.
const judgeSh = `#!/bin/sh
while read -r line; do
	id=${line#*:}; id=${id%%,*}
	n=$(printf '%s' "$line" | grep -o '"scenario_hash"' | wc -l)
	printf '{"id": %s, "scores": [0.25' "$id"
	while [ $((n = n - 1)) -gt 0 ]; do printf ', 0.25'; done
	echo ']}'
done
`

// wired is what the rooms were handed by verbs under the unusual configuration.
type wired struct {
	t      *testing.T
	c      config.Config
	handed map[string][]any // by verb
	asked  []chatRequest    // of the endpoint of collect
	rival  *wired           // of the endpoint that eval compares
	said   map[string]string
	kept   trajectory.Trajectory
	demo   string // where it would run
}

// chatRequest is what an endpoint is asked.
type chatRequest struct {
	Messages    []chat.Message
	Temperature float64
	MaxTokens   int `json:"max_tokens"`
	Seed        uint64
	Model       string
}

// last is the last options of a type that a verb handed over.
func last[T any](w wired, verb string) (found T) {
	w.t.Helper()
	i := -1
	for k, x := range w.handed[verb] {
		if _, ok := x.(T); ok {
			i = k
		}
	}
	if i < 0 {
		w.t.Fatalf("%s handed over no %T", verb, found)
	}
	return w.handed[verb][i].(T)
}

// wire runs the verbs that learn, sample and score, in pure Go on a toy.
func wire(t *testing.T) wired {
	t.Helper()
	w := wired{t: t, handed: map[string][]any{}, rival: &wired{t: t}, said: map[string]string{}}
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "paint", InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"colour":{"type":"string","default":"red"}},"required":["name"]}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
		})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(server.Close)
	workFolder(t, map[string]string{
		"hone.yaml": unusual + fmt.Sprintf("providers: {rival: {url: %q, episodes: 3, prices: "+
			"{m: {prompt: 3, completion: 5}}}}\n", w.rival.painter()), "ours.json": oursJSON, "say.jsonl": sayings,
		"shown.jsonl": sayings, "pairs.jsonl": preferences, "judge.sh": judgeSh,
		"servers.json": fmt.Sprintf(`{"mcpServers": {"shop": {"url": %q}, "pub": {"url": "http://127.0.0.1:1/"}}}`,
			server.URL),
	})
	if err := os.Chmod("judge.sh", 0o700); err != nil {
		t.Fatal(err)
	}
	toyModel(t, "toy.gguf")
	var err error
	if w.c, err = config.Load("hone.yaml"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"train", "--output-dir", "trained"}, {"sft", "--data", "say.jsonl", "--output-dir", "tuned"},
		{"dpo", "--data", "pairs.jsonl", "--output-dir", "preferred"},
		{"eval", "--compare", "rival/m,base", "--output-dir", "evaluated"},
		{"collect", "--endpoint", w.painter(), "--model", "m", "--output-dir", "collected"}, {"demo", "--dry-run"},
	} {
		var said bytes.Buffer
		a := toyApp(&said, map[string]string{"OUR_TOKEN": "sesame"})
		a.KeepsPrograms, a.Opening = true, func(x any) { w.handed[args[0]] = append(w.handed[args[0]], x) }
		// That nothing was learnt says what the toy is.
		if code := a.main(t.Context(), append(args, "--yes", "--cache", "cache")); code != 0 &&
			code != int(fault.CodeFailures) {
			t.Fatalf("%v: exit code %d, %s", args, code, &said)
		}
		w.demo, w.said[args[0]] = said.String(), said.String()
	}
	w.kept = trajectoriesOf(t, "collected")[0]
	return w
}

// painter is an endpoint that paints a hat without saying how, and answers.
func (w *wired) painter() string {
	var mu sync.Mutex // episodes of an evaluation ask at once
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var q chatRequest
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			w.t.Error(err)
		}
		mu.Lock()
		w.asked = append(w.asked, q)
		mu.Unlock()
		reply := chat.Message{Role: chat.Assistant,
			ToolCalls: []chat.ToolCall{{ID: "1", Name: "paint", Arguments: `{"name":"hat"}`}}}
		if q.Messages[len(q.Messages)-1].Role == chat.ToolRole {
			reply = chat.Message{Role: chat.Assistant, Content: "done"}
		}
		_ = json.NewEncoder(rw).Encode(map[string]any{
			"choices": []any{map[string]any{"message": reply, "finish_reason": "stop"}},
			"usage":   map[string]int{"prompt_tokens": 1000, "completion_tokens": 100},
		})
	}))
	w.t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// acting is a key with what was found of it where it acts, and what is to be there.
type acting struct {
	key       string
	got, want any
}

// Each key of the configuration reaches the place where it acts. A key without a row in wiring_keys_test.go fails: the
// row reads what a room was handed (last), or does what the key is for.
func TestEveryKeyActs(t *testing.T) {
	w := wire(t)
	given, usual := keysOf(t, w.c), keysOf(t, config.Default())
	rows := map[string]bool{}
	for _, r := range slices.Concat(w.learning(), w.episodes(), w.engines(), w.servers(), w.others()) {
		rows[r.key] = true
		if !reflect.DeepEqual(r.got, r.want) {
			t.Errorf("%s is %v where it acts, not %v", r.key, r.got, r.want)
		}
	}
	ownRows := w.elsewhere(t)
	for key := range usual {
		if ownRows[key] {
			rows[key] = true
		} else if rows[key] && given[key] == usual[key] {
			t.Errorf("%s has its default, %s, which nothing would be noticed of", key, given[key])
		}
		if !rows[key] {
			t.Errorf("nothing follows the key %s to where it acts: give it a row in wiring_keys_test.go", key)
		}
	}
	for key := range rows {
		if _, known := usual[key]; !known && !strings.HasPrefix(key, "(") {
			t.Errorf("there is no key %s", key)
		}
	}
}

// keysOf are the keys of a configuration with their values as JSON.
func keysOf(t *testing.T, c config.Config) map[string]string {
	t.Helper()
	text, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	var walk func(prefix string, text json.RawMessage)
	walk = func(prefix string, text json.RawMessage) {
		var section map[string]json.RawMessage
		if json.Unmarshal(text, &section) != nil || prefix == "model.template_variables." || prefix == "providers." ||
			prefix == "rewards.expressions." {
			out[strings.TrimSuffix(prefix, ".")] = string(text)
			return
		}
		for key, value := range section {
			walk(prefix+key+".", value)
		}
	}
	walk("", text)
	return out
}
