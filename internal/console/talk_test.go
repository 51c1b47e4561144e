package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/policy"
	"hone/internal/host"
	"hone/internal/serve"
	"hone/internal/serve/local"
	"hone/internal/toolset"
)

// shop sells; sold is what was bought.
func shop(t *testing.T) (url string, sold func() []string) {
	t.Helper()
	var mu sync.Mutex
	var bought []string
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	type thing struct {
		Name string `json:"name"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "buy"},
		func(_ context.Context, _ *mcp.CallToolRequest, in thing) (*mcp.CallToolResult, any, error) {
			mu.Lock()
			defer mu.Unlock()
			bought = append(bought, in.Name)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sold"}}}, nil, nil
		})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(h.Close)
	return h.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(bought)
	}
}

// clerk is renderer, reader and sampler of a model that buys what it is told, and says what became of it. Ids are
// runes.
type clerk struct{ text string }

func (*clerk) Prompt(messages []chat.Message, _ []chat.Tool) ([]int32, error) {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s:%s|", m.Role, m.Content)
	}
	return runes(b.String()), nil
}
func (*clerk) Next([]chat.Message, int, []int32, []chat.Tool) ([]int32, string, error) {
	return nil, "", nil
}
func (*clerk) Completion(chat.Message) ([]int32, error)          { return nil, nil }
func (*clerk) Parse([]int32, []chat.Tool) (chat.Message, string) { return chat.Message{}, "" }
func (*clerk) StopIDs() []int32                                  { return []int32{0} }
func (*clerk) NumSlots() int                                     { return 1 }
func (c *clerk) Feed(text string) []chat.Delta                   { c.text += text; return nil }
func (c *clerk) Close() []chat.Delta {
	if name, ok := strings.CutPrefix(c.text, "BUY "); ok {
		return []chat.Delta{{Call: &chat.ToolCall{Name: "buy", Arguments: `{"name": "` + name + `"}`}}}
	}
	return []chat.Delta{{Content: c.text}}
}

func (*clerk) Sample(_ context.Context, r policy.Request) (policy.Completion, error) {
	parts := strings.Split(strings.TrimSuffix(words(r.Prompt), "|"), "|")
	role, text, _ := strings.Cut(parts[len(parts)-1], ":")
	says := fmt.Sprintf("%d: %s", len(parts), text)
	if name, ok := strings.CutPrefix(text, "buy "); ok && role == chat.User {
		says = "BUY " + name
	}
	c := policy.Completion{IDs: append(runes(says), 0), FinishReason: policy.FinishStop}
	c.SamplerLogprobs = make([]float32, len(c.IDs))
	for _, id := range c.IDs {
		if r.Each != nil {
			r.Each(policy.Token{ID: id})
		}
	}
	return c, nil
}

type decoder struct{}

func (decoder) Next(id int32) string { return string(id) }
func (decoder) Close() string        { return "" }

func runes(s string) (out []int32) {
	for _, r := range s {
		out = append(out, r)
	}
	return out
}

func words(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteRune(id)
	}
	return b.String()
}

// server is an agent over the shop, whose rules ask whoever sits at the host.
func server(t *testing.T, h *host.Host, url string) *serve.Server {
	t.Helper()
	c, err := config.Read("")
	if err != nil {
		t.Fatal(err)
	}
	servers, err := toolset.LoadServers(h, c, toolset.Source{Server: url})
	if err != nil {
		t.Fatal(err)
	}
	set, err := toolset.Connect(t.Context(), h, c, servers, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	gate, err := set.Approvals(c.MCP.Approval, true)
	if err != nil {
		t.Fatal(err)
	}
	m := serve.Model{ID: "m", Sampler: &clerk{}, Renderer: &clerk{}, Decode: words, Encode: runes,
		NewDecoder: func() serve.Decoder { return decoder{} }, Read: func([]int32, []chat.Tool) serve.Reader {
			return &clerk{}
		}}
	s, err := serve.New(serve.Options{
		Models: []serve.Model{m},
		Agent: &serve.Agent{Tools: gate.Wrap(set.Tools, nil), List: set.Catalog.Tools(),
			MaxTurns: 8, MaxCalls: 8, MaxTime: time.Minute, MaxSessions: 2, Idle: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func hostOf(in interface{ Read([]byte) (int, error) }, out, talk *bytes.Buffer) *host.Host {
	return &host.Host{Stdin: in, Data: sanitize.New(out), Talk: sanitize.New(talk), LookupEnv: os.LookupEnv,
		Environ: os.Environ()}
}

// On a terminal calls are shown and asked about: one is allowed, one is not; the conversation goes on, and is kept.
func TestTerminal(t *testing.T) {
	url, sold := shop(t)
	sits, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close(); sits.Close() })
	h := &host.Host{Stdin: theirs, Data: sanitize.New(theirs), Talk: sanitize.New(theirs), LookupEnv: os.LookupEnv,
		Environ: os.Environ()}
	s := server(t, h, url)
	c := &talk{host: h, lines: NewLines(h), client: &http.Client{Transport: inProcess{s.Handler()}},
		url: "http://localhost/v1", model: "m"}
	c.begin()
	done := make(chan error, 1)
	go func() { done <- c.run(t.Context()) }()
	var seen strings.Builder
	file := filepath.Join(t.TempDir(), "said.json")
	for _, turn := range []struct{ wait, say string }{
		{"> ", "buy hat"}, {"Send it?", "y"}, {"3: sold", ""}, {"> ", "buy boat"}, {"Send it?", "n"},
		{"The call was denied: denied by the user", ""}, {"> ", "/save " + file}, {"has 8 messages", ""},
		{"> ", "/new"}, {"a new conversation", ""}, {"> ", "hello"}, {"1: hello", ""}, {"> ", "/quit"},
	} {
		await(t, sits, &seen, turn.wait)
		if turn.say != "" {
			fmt.Fprintln(sits, turn.say)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !slices.Equal(sold(), []string{"hat"}) {
		t.Errorf("sold %q", sold())
	}
	for _, want := range []string{
		`-> buy {"name": "hat"}`, "tool:      buy", "<- ok: sold (allowed by the user)", "<- denied: by the user\r\n",
	} {
		if !strings.Contains(seen.String(), want) {
			t.Errorf("the terminal lacks %q:\n%s", want, seen.String())
		}
	}
	// the call, whole, before the question about it
	for i, before := range strings.Split(seen.String(), "Send it?")[:2] {
		if at := strings.LastIndex(before, "-> buy"); at < 0 || !strings.Contains(before[at:], "The model asks") {
			t.Errorf("question %d comes before its call:\n%s", i+1, before)
		}
	}
	var kept struct{ Messages []chat.Message }
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &kept) != nil || len(kept.Messages) != 8 ||
		kept.Messages[3].Content != "3: sold" || len(kept.Messages[1].ToolCalls) != 1 ||
		kept.Messages[1].ToolCalls[0].Arguments != `{"name": "hat"}` || kept.Messages[2].Content != "sold" ||
		kept.Messages[2].ToolCallID != kept.Messages[1].ToolCalls[0].ID {
		t.Errorf("%v: %s", err, data)
	}
}

// await reads the terminal up to a text.
func await(t *testing.T, terminal *os.File, seen *strings.Builder, want string) {
	t.Helper()
	rest, b := "", make([]byte, 1)
	for !strings.HasSuffix(rest, want) {
		if err := terminal.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Log(err)
		}
		if _, err := terminal.Read(b); err != nil {
			t.Fatalf("%v, waiting for %q:\n%s", err, want, seen)
		}
		rest += string(b)
		seen.Write(b)
	}
}

// On a pipe each line is a message, answers alone are on stdout, and what nobody can be asked about is denied.
func TestPipe(t *testing.T) {
	url, sold := shop(t)
	var out, said bytes.Buffer
	h := hostOf(strings.NewReader("hello\n\nbuy hat\n"), &out, &said)
	web := httptest.NewServer(server(t, h, url).Handler())
	defer web.Close()
	if err := Run(t.Context(), h, config.Config{}, Options{Endpoint: web.URL + "/v1", Model: "m"}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if lines[0] != "1: hello" ||
		!strings.HasPrefix(lines[1], "5: The call was denied: denied because nobody can be asked") || len(sold()) > 0 {
		t.Errorf("stdout %q, sold %q", lines, sold())
	}
	if !strings.Contains(said.String(), "-> buy") || strings.Count(said.String(), "nobody can be asked") != 2 ||
		!strings.Contains(said.String(), "<- denied: because nobody") || strings.Contains(said.String(), "> \n") {
		t.Errorf("stderr %s", said.String())
	}
}

// What goes wrong is told in words, and on a pipe it ends the conversation.
func TestRefusals(t *testing.T) {
	url, _ := shop(t)
	var out, said bytes.Buffer
	h := hostOf(strings.NewReader("hello\n"), &out, &said)
	web := httptest.NewServer(server(t, h, url).Handler())
	defer web.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n")
	}))
	defer cut.Close()
	says := func(status int) *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		}))
	}
	closed, broken := says(http.StatusUnauthorized), says(http.StatusInternalServerError)
	defer closed.Close()
	defer broken.Close()
	for _, tc := range []struct {
		o    Options
		want string
	}{
		{Options{}, "--model is missing"},
		{Options{Model: "m", Endpoint: web.URL, Agent: local.Agency{On: true}}, "--agent calls tools for a model of this machine"},
		{Options{Model: "other", Endpoint: web.URL + "/v1"}, `no model "other" here`},
		{Options{Model: "other", Endpoint: web.URL + "/v1"}, "next:  give --model one of those that curl " + web.URL + "/v1/models lists"},
		{Options{Model: "m", Endpoint: closed.URL}, "next:  name the variable that holds the server's key with --key-env"},
		{Options{Model: "m", Endpoint: broken.URL}, "next:  hone doctor --endpoint " + broken.URL + " --model m"},
		{Options{Model: "m", Endpoint: "http://127.0.0.1:1/v1"}, "cannot be reached"},
		{Options{Model: "m", Endpoint: cut.URL}, "broke off"},
	} {
		h.Stdin = strings.NewReader("hello\n")
		if err := Run(t.Context(), h, config.Config{}, tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}
