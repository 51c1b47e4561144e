package local

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/policy"
	"hone/internal/host"
	"hone/internal/serve"
	"hone/internal/text/render"
	"hone/internal/toolset"
)

// shop is an MCP server on HTTP; sold is what was bought.
func shop(t *testing.T) (url string, sold func() []string) {
	t.Helper()
	var mu sync.Mutex
	var bought []string
	type thing struct {
		Name string `json:"name"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	add := func(name string, answer func(name string) string) {
		mcp.AddTool(s, &mcp.Tool{Name: name},
			func(_ context.Context, _ *mcp.CallToolRequest, in thing) (*mcp.CallToolResult, any, error) {
				mu.Lock()
				defer mu.Unlock()
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer(in.Name)}}}, nil, nil
			})
	}
	add("look", func(string) string { return "in stock" })
	add("buy", func(name string) string { bought = append(bought, name); return "sold" })
	add("burn", func(name string) string { bought = append(bought, "burnt "+name); return "gone" })
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(h.Close)
	return h.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(bought)
	}
}

// clerk is a sampler that makes three calls, or one that no rule allows, and then says what it was answered:
// SmolLM2-135M does not do so by itself. All else is real: tokenizer, template, server, rules, the MCP server and the
// clients.
type clerk struct {
	encode func(string) []int32
	decode func([]int32) string
	stop   int32
}

func (*clerk) NumSlots() int { return 2 }

func (c *clerk) Sample(_ context.Context, r policy.Request) (policy.Completion, error) {
	said := c.decode(r.Prompt)
	said = said[max(strings.LastIndex(said, "user\nBuy"), strings.LastIndex(said, "user\nBurn")):]
	call := func(name, thing string) string {
		return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": {\"name\": \"" + thing + "\"}}\n</tool_call>"
	}
	says := "Nothing to do."
	switch n := strings.Count(said, "<tool_response>"); {
	case strings.Contains(said, "Burn") && n == 0:
		says = call("burn", "hat")
	case strings.Contains(said, "The call was denied"):
		says = "I may not: " + said[strings.Index(said, "The call was denied"):][:60]
	case strings.Contains(said, "Buy"):
		says = []string{"I look first.\n" + call("look", "hat"), call("buy", "hat"), call("look", "boat"),
			"You have a hat."}[n]
	}
	out := policy.Completion{IDs: append(c.encode(says), c.stop), FinishReason: policy.FinishStop}
	out.SamplerLogprobs = make([]float32, len(out.IDs))
	if r.Each != nil {
		for _, id := range out.IDs {
			r.Each(policy.Token{ID: id})
		}
	}
	return out, nil
}

// A task of three approved calls, and one that is denied, through the openai and the anthropic client.
func TestAgentToTheOpenAIClient(t *testing.T) {
	python, err := filepath.Abs("../../../.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatal("the openai client is not installed: run make test")
	}
	h := &host.Host{Stdin: strings.NewReader(""), Data: sanitize.New(io.Discard), Talk: sanitize.New(io.Discard),
		LookupEnv: os.LookupEnv, Environ: os.Environ()}
	c, err := config.Read("")
	if err != nil {
		t.Fatal(err)
	}
	c.MCP.Approval.Allow = []string{"*/look", "*/buy"}
	url, sold := shop(t)
	agent, set, err := Agency{On: true, Servers: toolset.Source{Server: url}, MaxSessions: 4, MaxTime: time.Minute,
		Idle: time.Minute}.open(t.Context(), h, c)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	base, err := basemodel.Find(h, c, host.BaseModelAsset().Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	p := &places{host: h, config: c, options: Options{Context: 2048}, base: base}
	tok := base.Text.Tokenizer
	p.words = render.TokenTexts(tok, base.Spec.VocabSize)
	m := p.model("clerk", base.Renderer)
	m.Sampler = &clerk{encode: m.Encode, decode: m.Decode, stop: base.Renderer.StopIDs()[0]}
	m.Failed = nil
	s, err := serve.New(serve.Options{Models: []serve.Model{m}, Agent: agent})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	out, err := exec.CommandContext(ctx, python, "testdata/agent_client.py",
		"http://"+l.Addr().String()+"/v1").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if got := sold(); !slices.Equal(got, []string{"hat", "hat", "hat", "hat", "hat"}) {
		t.Errorf("bought %q; by chat, responses, messages and two streams a hat each is wanted, and nothing burnt", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// bazaar is an MCP server of many tools; called are those that were.
func bazaar(t *testing.T, n int) (url string, called func() []string) {
	t.Helper()
	var mu sync.Mutex
	var names []string
	s := mcp.NewServer(&mcp.Implementation{Name: "bazaar", Version: "1"}, nil)
	for i := range n {
		name := fmt.Sprintf("sell_thing%d", i)
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: fmt.Sprintf("Sells thing%d.", i)},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				mu.Lock()
				defer mu.Unlock()
				names = append(names, name)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sold"}}}, nil, nil
			})
	}
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(h.Close)
	return h.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(names)
	}
}

// Among many tools an agent's model is shown what episodes of training are: those that fit the task, or one that
// searches. The rules stand before what is found, and nobody is asked about a search.
func TestAgentChoosesAmongManyTools(t *testing.T) {
	var talk strings.Builder
	h := &host.Host{Stdin: strings.NewReader(""), Data: sanitize.New(io.Discard), Talk: sanitize.New(&talk),
		LookupEnv: os.LookupEnv, Environ: os.Environ()}
	c, err := config.Read("")
	if err != nil {
		t.Fatal(err)
	}
	url, called := bazaar(t, 60)
	c.MCP.MaxTools, c.MCP.Distractors, c.MCP.SearchShare = 5, 1, 0
	c.MCP.Approval.Allow = []string{"*/sell_thing7"}
	agency := Agency{On: true, Servers: toolset.Source{Server: url}, MaxSessions: 4, MaxTime: time.Minute,
		Idle: time.Minute}
	agent, set, err := agency.open(t.Context(), h, c)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	shown := func(messages ...chat.Message) (names []string) {
		list, err := agent.ListOf(messages)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list {
			names = append(names, tool.Name)
		}
		return names
	}
	first := chat.Message{Role: chat.User, Content: "I want thing7."}
	again := shown(first,
		chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{Name: "sell_thing44"}, {Name: "of_another"}}},
		chat.Message{Role: chat.User, Content: "And thing21, please."})
	if one := shown(first); len(one) != 5 || !slices.Contains(one, "sell_thing7") || !slices.Equal(one, shown(first)) {
		t.Errorf("of a task: %q", one)
	}
	if len(again) != 5 || !slices.Contains(again, "sell_thing7") || !slices.Contains(again, "sell_thing21") ||
		!slices.Contains(again, "sell_thing44") {
		t.Errorf("of a conversation that goes on: %q", again)
	}
	if len(shown()) != 5 || !strings.Contains(talk.String(), "of 60 tools, each episode is shown 5") {
		t.Errorf("of nothing: %q; said %s", shown(), talk.String())
	}

	c.MCP.SearchShare, c.Model.Context = 0.1, 1024
	searching, searched, err := agency.open(t.Context(), h, c)
	if err != nil {
		t.Fatal(err)
	}
	defer searched.Close()
	if searching.ListOf != nil || len(searching.List) != 1 || searching.List[0].Name != "search_tools" {
		t.Fatalf("shown: %+v", searching.List)
	}
	session, err := searching.Tools.Open(t.Context(), "task")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var statuses []string
	for _, call := range []chat.ToolCall{
		{Name: "sell_thing7", Arguments: "{}"},
		{Name: "search_tools", Arguments: `{"query": "thing7 thing8"}`},
		{Name: "sell_thing7", Arguments: "{}"},
		{Name: "sell_thing8", Arguments: "{}"},
	} {
		statuses = append(statuses, string(session.Call(t.Context(), []chat.ToolCall{call})[0].Status))
	}
	if want := []string{"invalid", "ok", "ok", "denied"}; !slices.Equal(statuses, want) ||
		!slices.Equal(called(), []string{"sell_thing7"}) {
		t.Errorf("not found yet, a search, an allowed tool and another end as %q, want %q; called were %q",
			statuses, want, called())
	}
}

// An agent whose rules let nothing through says so when it starts, and no other does.
func TestAgentThatMayCallNothing(t *testing.T) {
	url, _ := shop(t)
	for want, change := range map[string]func(*config.Config, *host.Host){
		"every call is denied, since nobody can be asked: name in mcp.approval.allow": func(*config.Config, *host.Host) {},
		"": func(c *config.Config, _ *host.Host) { c.MCP.Approval.Allow = []string{"*/look"} },
	} {
		var said bytes.Buffer
		h := &host.Host{Talk: sanitize.New(&said), Data: sanitize.New(&said), LookupEnv: func(string) (string, bool) {
			return "", false
		}}
		c := config.Default()
		change(&c, h)
		_, set, err := Agency{On: true, Servers: toolset.Source{Server: url}, MaxSessions: 1, MaxTime: time.Minute,
			Idle: time.Minute}.open(t.Context(), h, c)
		if err != nil {
			t.Fatal(err)
		}
		set.Close()
		if want == "" && strings.Contains(said.String(), "denied") || !strings.Contains(said.String(), want) {
			t.Errorf("%q: %s", want, &said)
		}
	}
}
