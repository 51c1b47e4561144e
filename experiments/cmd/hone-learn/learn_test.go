//go:build !race

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/demo"
	"hone/internal/episode/scenario"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/testing/learntest"
)

const ownConfig = `lora: {rank: 2}
sft: {batch_size: 3}
rollout: {max_tokens: 4, max_turns: 2}
model: {context: 2048}
mcp: {approval: {allow: ["*/look", "*/buy"]}}
`

// workFolder is a folder of the test's, with these files.
func workFolder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(t.TempDir(), ".state"))
}

func testApp(said io.Writer) *app {
	return &app{Host: &host.Host{Stdin: strings.NewReader(""), Data: sanitize.New(&bytes.Buffer{}),
		Talk: sanitize.New(said), LookupEnv: os.LookupEnv, Environ: os.Environ()}}
}

// learnt runs a command line in this process.
func learnt(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	var out bytes.Buffer
	code = testApp(&out).main(t.Context(), args)
	return code, out.String()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func contents(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shop is a server of two tools, which remembers what was sold.
func shop(t *testing.T) (url string, sold func() []string) {
	t.Helper()
	var mu sync.Mutex
	var bought []string
	type thing struct {
		Name string `json:"name"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	for name, answer := range map[string]string{"look": "in stock", "buy": "sold"} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: name == "look"}},
			func(_ context.Context, _ *mcp.CallToolRequest, in thing) (*mcp.CallToolResult, any, error) {
				mu.Lock()
				defer mu.Unlock()
				if name == "buy" {
					bought = append(bought, in.Name)
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer}}}, nil, nil
			})
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(bought)
	}
}

// A user's own tasks are compared as the demo's are: the start is shown gold calls, made on the server, of the tools
// that were drawn, and none of a task whose gold calls fail or that GRPO has; a run that goes on has the same tasks
// without the file.
func TestCompareOnOwnScenarios(t *testing.T) {
	url, sold := shop(t)
	var rows strings.Builder
	row := func(split, id, tool, check string) {
		fmt.Fprintf(&rows, `{"id": %q, "task": "Deal with %s.", "split": %q, "gold": [{"name": %q, "arguments": {"name": %q}}], "checks": [%s]}`+"\n", id, id, split, tool, id, check)
	}
	for i, id := range []string{"hat", "cap", "bow", "fez"} {
		row("train", id, "look", `{"type": "answer", "contains": "stock"}`)
		row("train", id+"s", "buy", `{"type": "answer", "contains": "sold"}`)
		row([]string{"validation", "test"}[i%2], "a "+id, "look", `{"type": "answer", "contains": "stock"}`)
	}
	row("train", "tie", "look", `{"type": "answer", "regex": "^lent$"}`) // no gold call passes it
	rows.WriteString(`{"id": "none", "task": "Never mind.", "split": "train", "gold_answer": "All right.", "checks": [{"type": "no_call"}]}` + "\n")
	workFolder(t, map[string]string{"hone.yaml": ownConfig, "tasks.jsonl": rows.String(),
		"mcp.json": fmt.Sprintf(`{"mcpServers": {"shop": {"url": %q}}}`, url)})
	learntest.WriteToyModel(t, "base/toy.gguf")
	if err := os.WriteFile("hone.yaml", []byte(strings.Replace(ownConfig, "model: {", "model: {base: base, ", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	ran := func(code int, args ...string) {
		t.Helper()
		if got := testApp(&said).main(t.Context(), args); got != code {
			t.Fatalf("%v: exit code %d, %s", args, got, &said)
		}
	}
	command := []string{
		"--dataset", "tasks.jsonl", "--mcp-config", "mcp.json", "--backend", "go", "--seed", "3", "--demonstrations",
		"3", "--shown-kinds", "1", "--epochs", "1", "--steps", "1", "--groups", "2", "--group-size", "2", "--arms",
		"grpo,rft,gold", "--reward-noise", "1", "--output-dir", "out",
	}
	ran(2, append(slices.Clone(command), "--reward-noise", "1.5")...)
	ran(0, append(slices.Clone(command), "--dry-run")...)
	// the arm gold has nothing to learn from
	ran(2, append(slices.Clone(command), "--shown-kinds", "0", "--demonstrations", "9", "--output-dir", "unsolved")...)
	ran(2, append(slices.Clone(command), "--steps", "1", "--groups", "1", "--output-dir", "stepless")...)
	if said.Reset(); exists("stepless") {
		t.Error("an arm without a step is refused after its run has begun")
	}
	ran(0, command...)
	// a result is told before the next arm has trained
	for name, next := range map[string]string{"start": "grpo: ", "grpo": "rft: "} {
		if told, after := strings.Index(said.String(), "\n"+name+" "),
			strings.Index(said.String(), "\n"+next); told < 0 || after < told {
			t.Errorf("%s is told at %d, and the next arm's end at %d: %s", name, told, after, &said)
		}
	}
	if len(sold()) == 0 {
		t.Error("nothing was made on the server")
	}
	if !strings.Contains(said.String(), "rft trains on 0 rows that passed and 3 demonstrations") {
		t.Errorf("rft has other rows: %s", &said)
	}
	var tasks demo.Tasks
	if err := json.Unmarshal([]byte(contents(t, "out/tasks.json")), &tasks); err != nil {
		t.Fatal(err)
	}
	calls := func(list []scenario.Solved) (names []string) {
		for _, solved := range list {
			name := ""
			for _, x := range solved.Messages {
				for _, c := range x.ToolCalls {
					name += c.Name
				}
			}
			names = append(names, name)
		}
		return names
	}
	shown := calls(tasks.Demonstrations)
	if len(shown) != 3 || len(tasks.Train) != 10-3 || len(tasks.Solutions) != 9-3 || len(tasks.Test) != 2 ||
		len(tasks.Validation) != 2 {
		t.Errorf("%d shown, %d to learn with %d solutions, %d held out, %d watched",
			len(shown), len(tasks.Train), len(tasks.Solutions), len(tasks.Test), len(tasks.Validation))
	}
	for _, name := range shown {
		if name != "" && name != shown[slices.IndexFunc(shown, func(n string) bool { return n != "" })] {
			t.Errorf("of one tool there are demonstrations, and these call %q", shown)
		}
	}
	for _, s := range tasks.Train {
		want := demo.ShownKind
		if len(s.Gold) == 0 {
			if slices.ContainsFunc(s.Tags,
				func(tag string) bool { return tag == demo.ShownKind || tag == demo.UnshownKind }) {
				t.Errorf("%s calls nothing and is tagged %q", s.ID, s.Tags)
			}
			continue
		}
		if !slices.Contains(shown, s.Gold[0].Name) {
			want = demo.UnshownKind
		}
		if !slices.Contains(s.Tags, want) {
			t.Errorf("%s of %+v is tagged %q", s.ID, s.Gold, s.Tags)
		}
	}
	noise := 0
	for line := range strings.Lines(contents(t, "out/trajectories.jsonl")) {
		var e struct {
			Stage  string
			Reward float64
			Terms  []struct {
				Name          string
				Score, Weight float64
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		sum, noisy := 0.0, false
		for _, x := range e.Terms {
			if x.Name == "noise" {
				noisy = true
				noise++
			} else {
				sum += x.Score * x.Weight
			}
		}
		want := sum
		if noisy {
			want = 1.9 - sum
		}
		if noisy != (e.Stage == "grpo") || len(e.Terms) > 0 && (e.Reward-want > 1e-9 || want-e.Reward > 1e-9) {
			t.Errorf("%s: reward %v of %+v", e.Stage, e.Reward, e.Terms)
		}
	}
	if noise != 4 {
		t.Errorf("%d noisy rewards", noise)
	}
	// its trackers are told, and GRPO looks at itself before it samples
	for line := range strings.Lines(contents(t, "out/metrics.jsonl")) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		_, timed := m["time/elapsed"]
		if _, probed := m["sampling/probe_kl"]; !timed || probed != (m["stage"] == "grpo") {
			t.Errorf("a row of metrics is %s", line)
		}
	}
	if events, err := filepath.Glob("out/tfevents/*"); err != nil || len(events) == 0 {
		t.Errorf("nothing for TensorBoard: %v", err)
	}
	ran(0, append(slices.Clone(command), "--arms", "", "--output-dir", "bare")...)
	if files, _ := filepath.Glob("bare/tfevents/*"); len(files) != 1 ||
		!strings.Contains(contents(t, files[0]), "train/grad_norm") {
		t.Errorf("without an arm the start is what is trained, and %q do not have it so", files)
	}
	if err := os.Remove("tasks.jsonl"); err != nil {
		t.Fatal(err)
	}
	ran(0, "--resume", "--output-dir", "./out")
}

// A stopped comparison is resumed by its folder alone, with the flags it was begun with; what it is evaluated on is in
// its configuration.
func TestResume(t *testing.T) {
	workFolder(t, map[string]string{"demo/mcp.json": `{"mcpServers": {"calc": {"command": "./nowhere"}}}`})
	begin := []string{
		"--backend", "go", "--split", "validation", "--arms", "gold,grpo", "--steps", "3", "--groups", "5",
		"--demonstrations", "7", "--sft-rate", "0.001", "--output-dir", "runs/study",
	}
	if code, said := learnt(t, append(begin, "--dry-run")...); code != 0 ||
		!strings.Contains(said, "7 demonstrations, 15 training and 320 validation scenarios, then compare the start, "+
			"gold, grpo in runs/study") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	if _, err := os.Stat("runs/study"); err == nil {
		t.Fatal("a dry run left a directory")
	}
	if code, said := learnt(t, begin...); code != 5 { // its server cannot be started
		t.Fatalf("exit code %d, %s", code, said)
	}
	if text, err := os.ReadFile("runs/study/config.resolved.yaml"); err != nil ||
		!strings.Contains(string(text), "split: validation") {
		t.Errorf("%v, %s", err, text)
	}
	var b job.Begun
	var kept struct {
		Arms           []string
		Demonstrations int
		SFTRate        float64 `json:"sft_rate"`
	}
	if text, err := os.ReadFile("runs/study/version.json"); err != nil || json.Unmarshal(text, &b) != nil ||
		json.Unmarshal(b.Study, &kept) != nil {
		t.Fatalf("%v, %s", err, text)
	}
	var c config.Config
	dir, err := job.Env{Host: testApp(&bytes.Buffer{}).Host}.Open("runs/study", &c)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if kept.Demonstrations != 7 || c.GRPO.Steps*c.GRPO.ScenariosPerStep != 15 || c.Eval.Split != "validation" ||
		!slices.Equal(kept.Arms, []string{"gold", "grpo"}) || kept.SFTRate != 0.001 {
		t.Errorf("%s, %+v", b.Study, c.GRPO)
	}
	if code, said := learnt(t, "--resume", "--output-dir", "runs/study"); code != 5 ||
		!strings.Contains(said, "nowhere") {
		t.Errorf("exit code %d, %s", code, said)
	}
	if logs, _ := filepath.Glob("runs/study/logs/attempt_*"); len(logs) != 3 {
		t.Errorf("attempts: %v", logs)
	}
	if code, said := learnt(t, "--resume"); code != 2 || !strings.Contains(said, "--output-dir") {
		t.Errorf("exit code %d, %s", code, said)
	}
}

// What a run cannot do is said before its servers are opened.
func TestShardsOfOneDevice(t *testing.T) {
	workFolder(t, map[string]string{"alone.yaml": "engine: {shard_weights: \"on\", devices: 1}\n"})
	if code, said := learnt(t, "--config", "alone.yaml"); code != 2 ||
		!strings.Contains(said, "where: engine.shard_weights: on") {
		t.Errorf("exit code %d, %s", code, said)
	}
	for _, args := range [][]string{{"extra"}, {"--unknown"}, {"--sandbox", "maybe"}} {
		if code, said := learnt(t, args...); code != 2 {
			t.Errorf("%q: exit code %d, %s", args, code, said)
		}
	}
}
