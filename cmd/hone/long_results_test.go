package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/toolset"
)

// What an episode is shown of a long result is what a served model is shown of it: cut, or summarised once and
// remembered.
func TestLongResultsAreOneThingEverywhere(t *testing.T) {
	server := everything(t, "t")
	var asked atomic.Int64
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "Bearer sum-key" {
			t.Errorf("the key is %q", r.Header.Get("Authorization"))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
			"message": map[string]string{"role": "assistant", "content": "many words"}, "finish_reason": "stop"}}})
	}))
	t.Cleanup(endpoint.Close)
	a := &app{Host: &host.Host{Talk: sanitize.New(io.Discard), Quiet: true, LookupEnv: os.LookupEnv,
		CacheDir: t.TempDir()}}
	a.withEnv(map[string]string{"SUM_KEY": "sum-key"})
	servers, err := mcp.FromFlag(server.url, "t", a.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Rollout.MaxResult = 300
	c.Rollout.Summary = config.Endpoint{URL: endpoint.URL + "/v1", Model: "m", KeyEnv: "SUM_KEY"}
	text := strings.Repeat("word ", 100)
	call := chat.ToolCall{ID: "c", Name: "echo", Arguments: fmt.Sprintf(`{"message": %q}`, text)}
	for _, tc := range []struct{ long, want string }{
		{"cut", " bytes omitted ..."},
		{"summary", "[summary of 506 bytes]\nmany words"},
	} {
		c.Rollout.LongResults = tc.long
		l, err := toolset.Open(t.Context(), a.Host, c, servers, "")
		if err != nil {
			t.Fatal(err)
		}
		session, err := l.Tools.Open(t.Context(), "e")
		if err != nil {
			t.Fatal(err)
		}
		got := session.Call(t.Context(), []chat.ToolCall{call})[0]
		shorten, err := toolset.Shortener(a.Host, c.Rollout)
		if err != nil {
			t.Fatal(err)
		}
		served, err := shorten(t.Context(), call, "Echo: "+text)
		if err != nil || len(got.Text) > 300 || !strings.Contains(got.Text, tc.want) || served != got.Text {
			t.Errorf("%s: an episode is shown %q, a served model %q, %v", tc.long, got.Text, served, err)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		l.Close()
	}
	if asked.Load() != 1 {
		t.Errorf("one result was summarised %d times", asked.Load())
	}
}
