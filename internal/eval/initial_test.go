package eval

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/llm"
	"hone/internal/proxy"
	"hone/internal/testing/learntest"
)

// big is an endpoint that counts how often it is asked.
type big struct{ asked int }

// Chat implements llm.Chatter.
func (b *big) Chat(context.Context, llm.Request) (llm.Response, error) {
	b.asked++
	return llm.Response{Message: chat.Message{Role: chat.Assistant, Content: "done"},
		Usage: llm.Usage{PromptTokens: 50, CompletionTokens: 4}, FinishReason: "stop"}, nil
}

// Behind an agent, a user's turn is the small model's where it is sure, and is recorded as such; what follows is the
// endpoint's.
func TestBehindAnAgent(t *testing.T) {
	small := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		logprob := -0.01
		if strings.Contains(string(body), "hard") {
			logprob = -9
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"usage": map[string]int{"prompt_tokens": 30, "completion_tokens": 2}, "choices": []any{
				map[string]any{"finish_reason": "tool_calls",
					"message":  chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "hash", Arguments: "{}"}}},
					"logprobs": map[string]any{"content": []any{map[string]float64{"logprob": logprob}}}},
			},
		})
	}))
	defer small.Close()
	endpoint := &big{}
	transport := &http.Transport{DisableKeepAlives: true}
	p := behind{llm.Policy{Client: endpoint, Cost: func(int, int) float64 { return 1 }},
		&proxy.Agent{Client: &http.Client{Transport: transport}, URL: small.URL,
			Calibration: proxy.Calibration{Bias: 4, Min: 1, Threshold: 0.9}}}
	tools := []chat.Tool{{Name: "hash"}}
	user := func(text string) chat.Message { return chat.Message{Role: chat.User, Content: text} }
	s := p.Speaker(rollout.Attempt{})
	say := func(messages ...chat.Message) *trajectory.Turn {
		t.Helper()
		var r environment.Reply
		r, err := s.Say(t.Context(), messages, tools)
		if err != nil {
			t.Fatal(err)
		}
		return r.Turn
	}
	first := say(user("easy"))
	if c := first.InitialCall; endpoint.asked != 0 || c == nil || c.PromptTokens != 30 || c.CompletionTokens != 2 ||
		math.Abs(c.Confidence-0.98) > 0.01 || first.Usage.Cost == nil || *first.Usage.Cost != 0 {
		t.Errorf("asked %d times: %+v", endpoint.asked, first)
	}
	then := say(user("easy"), chat.Message{Role: chat.Assistant, ToolCalls: first.Calls},
		chat.Message{Role: chat.ToolRole, ToolCallID: first.Calls[0].ID, Content: "x"})
	if endpoint.asked != 1 || then.InitialCall != nil || then.Content != "done" {
		t.Errorf("asked %d times: %+v", endpoint.asked, then)
	}
	if hard := say(user("hard")); endpoint.asked != 2 || hard.InitialCall != nil {
		t.Errorf("asked %d times: %+v", endpoint.asked, hard)
	}
	criteria := stats.Criteria{FirstCall: func(*trajectory.Trajectory) bool { return true },
		Episode: func(*trajectory.Trajectory) bool { return true }, Describe: func(r *stats.Row) { r.NumGold = 1 }}
	with := &trajectory.Trajectory{ScenarioID: "a", Outcome: trajectory.OK, Turns: []trajectory.Turn{*first, *then}}
	without := &trajectory.Trajectory{ScenarioID: "a", Outcome: trajectory.OK, Turns: []trajectory.Turn{*then, *then}}
	m := &Evaluated{initial: true}
	for k, x := range []*trajectory.Trajectory{without, with} {
		found := stats.NewSystem([]string{"without", "with"}[k], []*trajectory.Trajectory{x}, criteria)
		found.Episodes = []stats.Example{{Trajectory: x}}
		m.Systems = append(m.Systems, found)
	}
	i := m.InitialCalls()
	if i.With != "with" || i.Proposed != 1 || i.Right != 1 || i.SmallTokens != 32 || i.Requests.Mean != 0.5 ||
		i.Tokens.Mean != 0.5 || i.Success.Mean != 0 {
		t.Errorf("%+v", i)
	}
	if !strings.Contains(i.Text(), "50.0% [") {
		t.Error(i.Text())
	}
}

// The system behind an agent stands last, and is another one than the endpoint alone.
func TestInitialCallsAreASystem(t *testing.T) {
	c := config.Default()
	systems, err := SystemsOf(c, "http://127.0.0.1:1/v1/m", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Asked{Model: "http://127.0.0.1:1/v1/m",
		InitialCall: filepath.Join(t.TempDir(), "none")}).initialCalls(c, systems); err == nil {
		t.Error("an adapter that is not there was taken")
	}
	with := systems[0]
	with.InitialCall = "x"
	if with.Is(systems[0]) || !with.Is(with) || with.Where() == systems[0].Where() {
		t.Errorf("%+v", with)
	}
	c.Eval.Temperature = 0.7
	local := []job.System{{Name: "model", Adapter: "x"}}
	if _, err := (Asked{Model: "x", Calibrate: 0.9}).initialCalls(c, local); err == nil ||
		!strings.Contains(err.Error(), "temperature") {
		t.Errorf("%v", err)
	}
}

// thinks is ChatML in which a model reasons before it speaks.
const thinks = `{% for t in tools or [] %}{{ '<tools>' + t | tojson + '</tools>' }}{% endfor %}
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}
{%- if m.reasoning_content %}{{ '<think>\n' + m.reasoning_content + '\n</think>\n\n' }}{% endif %}{{ m.content }}
{%- for c in m.tool_calls or [] %}{{ '<tool_call>\n{"name": "' + c.function.name + '", "arguments": ' +
c.function.arguments | tojson + '}\n</tool_call>' }}{% endfor %}
{{- '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

// Evaluations of a model that thinks are at its card's temperature, but for those by which an adapter is calibrated.
func TestTemperatureOfEvaluations(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "base")
	learntest.WriteToyModel(t, filepath.Join(folder, "toy.gguf"))
	c := config.Default()
	c.Engine.Backend, c.Model.ChatTemplate = "go", filepath.Join(folder, "thinks.jinja")
	if err := os.WriteFile(c.Model.ChatTemplate, []byte(thinks), 0o600); err != nil {
		t.Fatal(err)
	}
	systems := []job.System{{Name: "base"}}
	for _, x := range []struct {
		given, calibrate, want float64
	}{{config.ByCard, 0, 0.6}, {config.ByCard, 0.9, 0}, {0.3, 0, 0.3}, {0, 0, 0}} {
		c.Eval.Temperature = x.given
		got, err := (Asked{Base: folder, Calibrate: x.calibrate}).settle(&host.Host{Talk: sanitize.New(io.Discard)}, c,
			systems)
		if err != nil || got.Eval.Temperature != x.want {
			t.Errorf("%g, calibrated by %g, is %g, want %g: %v", x.given, x.calibrate, got.Eval.Temperature, x.want,
				err)
		}
	}
}
