package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/mcp"
	"hone/internal/toolset"
)

// Entries choose the names of the variables that they ask for. A server of a stranger gets none that the user did not
// name.
func TestServersTryKeepsKeys(t *testing.T) {
	got := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.URL.String() + " " + fmt.Sprint(r.Header)
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer server.Close()
	remote := func(name, path, rest string) string {
		return fmt.Sprintf(`{"name": "io.example/%s", "remotes": [{"type": "streamable-http", "url": "%s%s"%s}]}`,
			name, server.URL, path, rest)
	}
	header := func(flags string) string { return `, "headers": [{"name": "openai-api-key", ` + flags + `}]` }
	workFolder(t, map[string]string{"e/entries.json": `{"servers": [` + strings.Join([]string{
		remote("secret", "", header(`"isRequired": true, "isSecret": true`)), remote("required", "",
			header(`"isRequired": true`)), remote("optional", "", header(`"isSecret": true`)),
		remote("default", "", header(`"isSecret": true, "default": "none"`)),
		remote("url", "/{OPENAI_API_KEY}", `, "variables": {"OPENAI_API_KEY": {"isRequired": true}}`)}, ",") + `]}`,
		"e/mcp.json": `{"mcpServers": {"escaped": {"url": "` + server.URL +
			`", "headers": {"K": "\u0024{OPENAI_API_KEY}"}}}}`})
	t.Setenv("OPENAI_API_KEY", "sk-of-the-user")
	try := func(more ...string) (r toolset.Report, sent string) {
		code, stdout, said := hone(t, "", append([]string{"servers", "try", "--registry", "e", "--cache", "cache",
			"--json", "--timeout", "5s"}, more...)...)
		if err := json.Unmarshal([]byte(stdout), &r); code != 3 || err != nil {
			t.Fatalf("%d %v\n%s%s", code, err, stdout, said)
		}
		for len(got) > 0 {
			sent += <-got + "\n"
		}
		return r, sent
	}
	r, sent := try()
	if strings.Contains(sent, "sk-of-the-user") || !strings.Contains(sent, "none") {
		t.Errorf("sent to strangers: %s", sent)
	}
	keyed := 0
	for _, x := range r.Tried {
		if x.Outcome == toolset.Lacking && x.Why == "keyed: needs OPENAI_API_KEY" {
			keyed++
		}
	}
	if len(r.Tried) != 6 || keyed != 4 || r.Yields[0].Installed != 0 {
		t.Errorf("%d keyed: %+v", keyed, r.Tried)
	}
	if _, sent := try("--env", "OPENAI_API_KEY", "io.example/secret"); !strings.Contains(sent, "sk-of-the-user") {
		t.Errorf("what --env names is not sent: %q", sent)
	}
	if _, sent := try("--env", "OPENAI_API_KEY", "escaped"); !strings.Contains(sent, "sk-of-the-user") {
		t.Errorf("what --env names is not sent to a command of an mcp.json file: %q", sent)
	}
}

// BenchmarkServersLs lists 500 servers of 10 tools each, as many as servers have on average, from what is kept of them,
// and groups the tools: once where all texts are still to be looked at, and once where what is in them is kept too.
func BenchmarkServersLs(b *testing.B) {
	dir := b.TempDir()
	tried := filepath.Join(dir, "servers", "tried")
	if err := os.MkdirAll(tried, 0o755); err != nil {
		b.Fatal(err)
	}
	verbs := []string{"read", "write", "list", "search", "update", "delete", "create", "send", "convert", "export"}
	var all [][]byte
	for i := range 500 {
		from := mcp.ServerTools{Name: fmt.Sprintf("io.example/s%d", i), Era: "2025-11-25"}
		for _, verb := range verbs {
			from.Tools = append(from.Tools, mcp.Tool{
				Name: verb + "_thing",
				Description: fmt.Sprintf(
					"Use this tool to %s the things of workspace %d. It takes an identifier, "+
						"and returns the thing as JSON with its name, its owner and when it was changed. "+
						"Give limit to bound how many are returned.", verb, i,
				),
				InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"thing_%d_id":{"type":"string","description":"Identifier of the thing, as list_thing gives it"},"limit":{"type":"integer","description":"How many at most","default":20}},"required":["thing_%d_id"]}`, i/3, i/3)),
			})
		}
		text, err := json.Marshal(toolset.Tried{Name: from.Name, From: "list", Kind: "npm", Outcome: toolset.Answered,
			Server: &from})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, text)
	}
	fresh := func() { // nothing has been looked at
		for i, text := range all {
			if err := os.WriteFile(filepath.Join(tried, fmt.Sprintf("%d.json", i)), text, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	list := func() {
		var said strings.Builder
		a := toyApp(&said, map[string]string{"XDG_STATE_HOME": dir})
		if code := a.main(b.Context(),
			[]string{"servers", "ls", "--cache", dir, "--mcp-config", dir + "/none"}); code != 0 {
			b.Fatal(said.String())
		}
	}
	b.Run("linted", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			fresh()
			b.StartTimer()
			list()
		}
	})
	b.Run("again", func(b *testing.B) {
		fresh()
		list() // which keeps what is found in the texts
		b.ResetTimer()
		for b.Loop() {
			list()
		}
	})
}
