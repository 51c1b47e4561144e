package mcp

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"hone/internal/chat"
)

func TestQuantiles(t *testing.T) {
	var r ring
	if p50, p95 := r.quantiles(); p50 != 0 || p95 != 0 {
		t.Error("of nothing")
	}
	for i := 1; i <= 3*samplesKept; i++ {
		r.add(time.Duration(i))
	}
	// What is left are the last 1024: 2049 to 3072.
	if p50, p95 := r.quantiles(); len(r.values) != samplesKept || p50 != 2560 || p95 != 3021 {
		t.Errorf("%d values, %d and %d", len(r.values), p50, p95)
	}
}

func TestInspect(t *testing.T) {
	config := configOf(t, map[string]Server{
		"bad": self(t, "broken"), "good": self(t, "tools"), "noisy": self(t, "chaos", "open-noise", string(Legacy), ""),
	})
	reports := Inspect(context.Background(), config, Options{})
	if len(reports) != 3 || reports[0].Err == nil || reports[1].Err != nil || reports[2].Err != nil {
		t.Fatalf("%+v", reports)
	}
	good, noisy := reports[1], reports[2]
	if good.Stats.Era != modernEra || good.Stats.Transport != viaStdio || good.Stats.CallP50 <= 0 ||
		good.Stats.CallP95 < good.Stats.CallP50 || good.Stats.OpenP50 <= 0 {
		t.Errorf("%+v", good.Stats)
	}
	if noisy.Stats.StrayLines == 0 || noisy.Stats.Stray != `"Starting on port 3000..."` ||
		noisy.Tools.StrayLines != noisy.Stats.StrayLines {
		t.Errorf("%+v", noisy.Stats)
	}
}

func TestProgress(t *testing.T) {
	var mu sync.Mutex
	var done []float64
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "tools")}), Options{
		Progress: func(server, tool string, at, total float64, message string) {
			mu.Lock()
			defer mu.Unlock()
			if server == "s" && tool == "steps" && total == 3 && message == "step" {
				done = append(done, at)
			}
		},
	})
	if r := open(t, p, "e").Call(context.Background(), []chat.ToolCall{chatCall("steps")})[0]; r.Text != "done" {
		t.Fatalf("%+v", r)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(done) != 3 {
		t.Errorf("told of %v", done)
	}
}

// Of each tool its own lines are counted, of all also what stands around them.
func TestTokenCost(t *testing.T) {
	c := discover(t, map[string]Server{"s": self(t, "tools")})
	const around = 50
	count := func(tools []chat.Tool) (int, error) {
		n := around
		for _, t := range tools {
			n += len(t.Description) + len(t.InputSchema)
		}
		return n, nil
	}
	total, byTool, err := c.TokenCost(count)
	if err != nil || len(byTool) != len(c.Tools()) || len(byTool) < 2 {
		t.Fatalf("%v, %v", byTool, err)
	}
	sum := 0
	for _, tool := range c.Tools() {
		if byTool[tool.Name] != len(tool.Description)+len(tool.InputSchema) {
			t.Errorf("%s costs %d", tool.Name, byTool[tool.Name])
		}
		sum += byTool[tool.Name]
	}
	if sum+around != total {
		t.Errorf("%d, the parts %d", total, sum)
	}
	one, err := c.Only(c.Tools()[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	if total, byTool, err := one.TokenCost(count); err != nil || len(byTool) != 1 ||
		byTool[c.Tools()[0].Name] != total {
		t.Errorf("a single tool: %d, %v, %v", total, byTool, err)
	}
	if total, _, err := (&Catalog{}).TokenCost(count); err != nil || total != 0 {
		t.Errorf("no tool: %d, %v", total, err)
	}
	broken := errors.New("no such schema")
	if _, _, err := c.TokenCost(func([]chat.Tool) (int, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("an error is lost: %v", err)
	}
}

func TestResourcesAndPromptsAreListed(t *testing.T) {
	c := discover(t, map[string]Server{"s": self(t, "offers")})
	s := c.Servers[0]
	if len(s.Resources) != 2 || s.Resources[0].URI != "file:///a" || s.Resources[0].MIMEType != "text/plain" ||
		!s.Resources[1].Template || s.Resources[1].URI != "file:///{name}" {
		t.Errorf("resources %+v", s.Resources)
	}
	if len(s.Prompts) != 1 || s.Prompts[0].Name != "greet" || string(s.Prompts[0].Arguments) == "" {
		t.Errorf("prompts %+v", s.Prompts)
	}
	client, err := Dial(context.Background(), "s", self(t, "offers"), configOf(t, nil).Base, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if text, err := client.Resource(context.Background(), "file:///a"); text != "contents" {
		t.Errorf("%q %v", text, err)
	}
	if text, err := client.Prompt(context.Background(), "greet",
		map[string]string{"who": "Ada"}); text != "user: Hello Ada" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := client.Resource(context.Background(), "file:///none"); err == nil {
		t.Error("a resource that is not there")
	}
}
