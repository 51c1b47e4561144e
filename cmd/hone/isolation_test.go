package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
	"hone/internal/host"
	"hone/internal/job/episodes"
	"hone/internal/mcp"
)

// stateful is a real server that keeps what it is told, and what an episode can do with it.
type stateful struct {
	needs  string // a file without which the server does not start; "" for none
	name   string
	server map[string]any
	begin  []chat.ToolCall
	put    func(word string) chat.ToolCall
	all    chat.ToolCall
	words  func(t *testing.T, text string) []string // in the answer to all, sorted
}

func statefulServers(t *testing.T) []stateful {
	modules, err := filepath.Abs("testdata/servers/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	sqlite := filepath.Join(modules, "mcp-server-sqlite-npx/dist/index.js")
	if _, err := os.Stat(sqlite); err != nil {
		t.Fatal("mcp-server-sqlite-npx is not installed: run make test")
	}
	call := func(name string, arguments any) chat.ToolCall {
		text, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		return chat.ToolCall{ID: "c", Name: name, Arguments: string(text)}
	}
	return []stateful{{
		name: "server-memory",
		server: map[string]any{"command": "node", "args": []string{npmServer(t, "server-memory")},
			"env": map[string]string{"MEMORY_FILE_PATH": mcp.EpisodeDir + "/memory.jsonl"}},
		put: func(word string) chat.ToolCall {
			return call("create_entities", map[string]any{"entities": []any{
				map[string]any{"name": word, "entityType": "word", "observations": []string{"seen"}},
			}})
		},
		all: call("read_graph", map[string]any{}),
		words: func(t *testing.T, text string) (words []string) {
			var graph struct{ Entities []struct{ Name string } }
			if err := json.Unmarshal([]byte(text), &graph); err != nil {
				t.Errorf("%v: %s", err, text)
			}
			for _, e := range graph.Entities {
				words = append(words, e.Name)
			}
			return words
		},
	}, {
		name:   "mcp-server-sqlite-npx",
		needs:  filepath.Join(modules, "sqlite3/build/Release/node_sqlite3.node"),
		server: map[string]any{"command": "node", "args": []string{sqlite, mcp.EpisodeDir + "/data.db"}},
		begin:  []chat.ToolCall{call("create_table", map[string]any{"query": "CREATE TABLE words (word TEXT)"})},
		put: func(word string) chat.ToolCall {
			return call("write_query", map[string]any{"query": fmt.Sprintf("INSERT INTO words VALUES ('%s')", word)})
		},
		all: call("read_query", map[string]any{"query": "SELECT word FROM words ORDER BY rowid"}),
		words: func(t *testing.T, text string) (words []string) {
			var rows []struct{ Word string }
			if err := json.Unmarshal([]byte(text), &rows); err != nil {
				t.Errorf("%v: %s", err, text)
			}
			for _, r := range rows {
				words = append(words, r.Word)
			}
			return words
		},
	}}
}

// Sixteen episodes at once, each putting words and reading them back at random: each sees its own words and no other's,
// and finds nothing when it begins. Their folders are at the paths of their ids and gone at the end.
func TestSixteenEpisodesOnRealServers(t *testing.T) {
	for _, s := range statefulServers(t) {
		t.Run(s.name, func(t *testing.T) {
			if s.needs != "" { // compiled for make soak alone
				if _, err := os.Stat(s.needs); err != nil {
					t.Skipf("not compiled: %v", err)
				}
			}
			text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"state": s.server}})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "mcp.json"), text, 0o644); err != nil {
				t.Fatal(err)
			}
			servers, err := mcp.LoadConfig(filepath.Join(dir, "mcp.json"), os.LookupEnv)
			if err != nil {
				t.Fatal(err)
			}
			helper, err := exec.LookPath("hone")
			if err != nil {
				t.Fatal(err)
			}
			a := &app{Host: &host.Host{Talk: sanitize.New(os.Stderr), LookupEnv: os.LookupEnv, Quiet: true,
				Helper: []string{helper, sandboxVerb}}}
			l, err := episodes.Open(t.Context(), a.Host, config.Default(), servers, filepath.Join(dir, "run"))
			if err != nil {
				t.Fatal(err)
			}
			folder := l.Housing.Options.Folder
			var wg sync.WaitGroup
			for i := range 16 {
				wg.Go(func() {
					id := fmt.Sprintf("scenario/0/%d", i)
					session, err := l.Pool.Open(t.Context(), id)
					if err != nil {
						t.Error(err)
						return
					}
					defer session.Close()
					if got := session.(interface{ Dir(string) string }).Dir("state"); !strings.HasPrefix(got,
						folder+"/state/scenario_0_") {
						t.Errorf("episode %s is in %s", id, got)
					}
					playWords(t, s, session, i)
				})
			}
			wg.Wait()
			if left, err := os.ReadDir(filepath.Join(folder, "state")); err != nil || len(left) > 0 {
				t.Errorf("%v; left behind: %v", err, left)
			}
			l.Close()
			if _, err := os.Stat(folder); err == nil {
				t.Errorf("%s is left behind", folder)
			}
		})
	}
}

func playWords(t *testing.T, s stateful, session environment.Session, i int) {
	do := func(c chat.ToolCall) string {
		r := session.Call(context.Background(), []chat.ToolCall{c})[0]
		if r.Status != trajectory.CallOK {
			t.Errorf("episode %d: %s: %s %s", i, c.Name, r.Status, r.Text)
		}
		return r.Text
	}
	for _, c := range s.begin {
		do(c)
	}
	random := rand.New(rand.NewPCG(7, uint64(i)))
	var put []string
	for step := range 8 {
		if step > 0 && random.IntN(2) == 0 {
			put = append(put, fmt.Sprintf("w%d-%d", i, step))
			do(s.put(put[len(put)-1]))
			continue
		}
		if got := s.words(t, do(s.all)); !slices.Equal(got, put) {
			t.Errorf("episode %d reads %q, has put %q", i, got, put)
		}
	}
}
