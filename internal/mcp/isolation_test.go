package mcp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/episode/trajectory"
)

// Sixteen episodes at a time write and count at random; each must see its own history alone.
func TestEpisodesNeverSeeEachOther(t *testing.T) {
	seed := filepath.Join(t.TempDir(), "seed")
	os.WriteFile(seed, []byte("original"), 0o600)
	template := t.TempDir()
	os.WriteFile(filepath.Join(template, "note"), []byte("original"), 0o600)
	process := self(t, "tools", EpisodeDir)
	process.Template = template
	reset := process
	reset.Isolation, reset.Reset = PerReset, &Reset{From: seed, To: EpisodeDir + "/note"}
	for name, s := range map[string]Server{"process": process, "reset": reset} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{})
			var wg sync.WaitGroup
			slots := make(chan struct{}, 16)
			for i := range 32 {
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					playNotes(t, p, i)
				})
			}
			wg.Wait()
		})
	}
}

func playNotes(t *testing.T, p *Pool, i int) {
	e, err := p.Open(context.Background(), fmt.Sprint(i))
	if err != nil {
		t.Error(err)
		return
	}
	defer e.Close()
	random := rand.New(rand.NewPCG(1, uint64(i)))
	note := "original"
	for step := range 6 {
		if random.IntN(2) == 0 {
			note = fmt.Sprintf("%d/%d", i, step)
			if r := ask(e, "write", fmt.Sprintf(`{"Text":%q}`, note)); r.Status != trajectory.CallOK {
				t.Errorf("write: %+v", r)
			}
		}
		if r := ask(e, "read", "{}"); r.Text != note {
			t.Errorf("episode %d, step %d reads %q, wrote %q", i, step, r.Text, note)
		}
	}
}

func TestResetByCall(t *testing.T) {
	s := self(t, "tools")
	s.Isolation, s.Reset = PerReset, &Reset{Tool: "zero"}
	p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{Warm: -1})
	for i := range 3 {
		e, err := p.Open(context.Background(), fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		if r := ask(e, "count", "{}"); r.Text != "1" {
			t.Errorf("episode %d counts %s", i, r.Text)
		}
		e.Close()
	}
	if stats := p.Stats()[0]; stats.Sessions != 1 || stats.Resets != 3 {
		t.Errorf("%d sessions, %d resets: a used session is to be made as new, not replaced", stats.Sessions, stats.Resets)
	}
}

func TestUnfinishedCallIsNotReused(t *testing.T) {
	s := self(t, "tools")
	s.Isolation, s.Reset, s.Timeout = PerReset, &Reset{Tool: "zero"}, Duration(300e6)
	p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{Warm: -1})
	first := open(t, p, "1")
	ask(first, "hang", "{}")
	first.Close()
	open(t, p, "2").Close()
	if stats := p.Stats()[0]; stats.Sessions != 2 {
		t.Errorf("%d sessions: what hangs in the first may yet change the second", stats.Sessions)
	}
}

// Behind one URL there is one state, so episodes take turns.
func TestResetOverHTTPTakesTurns(t *testing.T) {
	var inside, most atomic.Int64
	fixture := newFixture(nil)
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return fixture }, nil))
	defer server.Close()
	s := Server{URL: server.URL, Isolation: PerReset, Reset: &Reset{Tool: "zero"}}
	p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			e, err := p.Open(context.Background(), fmt.Sprint(i))
			if err != nil {
				t.Error(err)
				return
			}
			most.Store(max(most.Load(), inside.Add(1)))
			if r := ask(e, "count", "{}"); r.Text != "1" {
				t.Errorf("episode %d counts %s", i, r.Text)
			}
			inside.Add(-1)
			e.Close()
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d episodes at once", most.Load())
	}
	p.Close()
}

func TestFailedResetSaysSo(t *testing.T) {
	s := self(t, "tools")
	s.Isolation, s.Reset = PerReset, &Reset{Tool: "fail"}
	p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{})
	if _, err := p.Open(context.Background(), "e"); OutcomeOf(err) != trajectory.EnvironmentError {
		t.Errorf("got %v", err)
	}
}

func TestRestoreFolder(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	os.WriteFile(filepath.Join(from, "a"), []byte("1"), 0o600)
	os.MkdirAll(filepath.Join(to, "left", "over"), 0o700)
	os.WriteFile(filepath.Join(to, "a"), []byte("2"), 0o600)
	for range 2 {
		if err := restore(from, to); err != nil {
			t.Fatal(err)
		}
		files, _ := os.ReadDir(to)
		if data, _ := os.ReadFile(filepath.Join(to, "a")); len(files) != 1 || string(data) != "1" {
			t.Errorf("%v, a is %q", files, data)
		}
	}
}
