package mcp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/episode/trajectory"
)

// together plays n episodes at the same time.
func together(ctx context.Context, t *testing.T, p *Pool, n int, play func(i int, e *Episode)) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			e, err := p.Open(ctx, fmt.Sprint(i))
			if err != nil {
				t.Error(err)
				return
			}
			defer e.Close()
			play(i, e.(*Episode))
		})
	}
	wg.Wait()
}

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
		t.Errorf("%d sessions, %d resets: a used session is to be made as new, not replaced",
			stats.Sessions, stats.Resets)
	}
}

func TestUnfinishedCallIsNotReused(t *testing.T) {
	s := self(t, "tools")
	s.Isolation, s.Reset = PerReset, &Reset{Tool: "zero"}
	p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{Warm: -1})
	first := open(t, p, "1")
	usual := p.servers[0].timeout // in which a server that is reset has to answer
	p.servers[0].timeout = 300 * time.Millisecond
	ask(first, "hang", "{}")
	p.servers[0].timeout = usual
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
	together(context.Background(), t, p, 8, func(i int, e *Episode) {
		most.Store(max(most.Load(), inside.Add(1)))
		if r := ask(e, "count", "{}"); r.Text != "1" {
			t.Errorf("episode %d counts %s", i, r.Text)
		}
		inside.Add(-1)
	})
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
	from, dir := t.TempDir(), t.TempDir()
	to := filepath.Join(dir, "to")
	os.WriteFile(filepath.Join(from, "a"), []byte("1"), 0o600)
	os.MkdirAll(filepath.Join(from, "b"), 0o700)
	os.Symlink("../a", filepath.Join(from, "b", "link"))
	os.MkdirAll(filepath.Join(to, "left", "over"), 0o700)
	os.Chmod(filepath.Join(to, "left"), 0o500)
	os.WriteFile(filepath.Join(to, "a"), []byte("2"), 0o600)
	for range 2 {
		if err := restoreFor(&Reset{From: from, To: to}, ""); err != nil {
			t.Fatal(err)
		}
		files, _ := os.ReadDir(to)
		if data, _ := os.ReadFile(filepath.Join(to, "b", "link")); len(files) != 2 || string(data) != "1" {
			t.Errorf("%v, a is %q", files, data)
		}
	}
}

// A server in a sandbox must not have us, who are not in it, delete or write what its links point to.
func TestRestoreStaysInTheFolder(t *testing.T) {
	seed := t.TempDir()
	file := filepath.Join(seed, "file")
	os.WriteFile(file, []byte("seed"), 0o600)
	for name, test := range map[string]struct {
		reset Reset
		link  string // what the server puts a link in the place of
	}{
		"a folder":             {Reset{From: seed, To: EpisodeDir + "/data"}, "work/data"},
		"the episode's folder": {Reset{From: seed, To: EpisodeDir}, "work"},
		"a folder above":       {Reset{From: seed, To: EpisodeDir + "/data/deep"}, "work/data"},
		"a file":               {Reset{From: file, To: EpisodeDir + "/file"}, "work/file"},
	} {
		t.Run(name, func(t *testing.T) {
			outside, root := t.TempDir(), t.TempDir()
			for _, precious := range []string{"file", "deep/file"} {
				os.MkdirAll(filepath.Join(outside, filepath.Dir(precious)), 0o700)
				os.WriteFile(filepath.Join(outside, precious), []byte("mine"), 0o600)
			}
			os.MkdirAll(filepath.Join(root, filepath.Dir(test.link)), 0o700)
			target := outside
			if test.reset.From == file {
				target = filepath.Join(outside, "file")
			}
			if err := os.Symlink(target, filepath.Join(root, test.link)); err != nil {
				t.Fatal(err)
			}
			err := restoreFor(&test.reset, filepath.Join(root, "work"))
			for _, precious := range []string{"file", "deep/file"} {
				if data, readErr := os.ReadFile(filepath.Join(outside, precious)); string(data) != "mine" {
					t.Errorf("%s outside is now %q (%v); restore returned %v", precious, data, readErr, err)
				}
			}
		})
	}
}

// What was a file may be a pipe when the episode ends: nobody reads from it.
func TestRestoreOverAPipe(t *testing.T) {
	seed, to := filepath.Join(t.TempDir(), "seed"), filepath.Join(t.TempDir(), "state")
	os.WriteFile(seed, []byte("seed"), 0o600)
	if err := syscall.Mkfifo(to, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := restoreFor(&Reset{From: seed, To: to}, ""); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(to); string(data) != "seed" {
		t.Errorf("%q (%v)", data, err)
	}
}

// Where the state is in a place that is not the episode's own, episodes take turns.
func TestResetOfAFixedFileTakesTurns(t *testing.T) {
	seed := filepath.Join(t.TempDir(), "seed")
	os.WriteFile(seed, []byte("original"), 0o600)
	state := t.TempDir()
	s := self(t, "tools", state)
	s.Isolation, s.Reset = PerReset, &Reset{From: seed, To: filepath.Join(state, "note")}
	p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { playNotes(t, p, i) })
	}
	wg.Wait()
}

// Of two episodes, each with the turn on one server and waiting for the other's, neither would ever begin.
func TestTwoServersThatTakeTurns(t *testing.T) {
	servers := map[string]Server{}
	for _, name := range []string{"a", "b"} {
		fixture := newFixture(nil)
		server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return fixture },
			nil))
		defer server.Close()
		servers[name] = Server{URL: server.URL, Isolation: PerReset, Reset: &Reset{Tool: "zero"}}
	}
	p := newPool(t, configOf(t, servers), Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	together(ctx, t, p, 40, func(int, *Episode) {})
	p.Close()
}

func TestHomeOfAResetServer(t *testing.T) {
	s := self(t, "tools")
	s.Isolation, s.Reset = PerReset, &Reset{Tool: "zero"}
	config := configOf(t, map[string]Server{"s": s})
	p := newPool(t, config, Options{})
	homes := map[string]bool{}
	for i := range 2 {
		for line := range strings.SplitSeq(ask(open(t, p, fmt.Sprint(i)), "env", "{}").Text, "\n") {
			if home, is := strings.CutPrefix(line, "HOME="); is {
				homes[home] = true
			}
		}
	}
	if len(homes) != 2 || homes[config.Base["HOME"]] {
		t.Errorf("two episodes at once have the homes %v", homes)
	}
}

// An episode that we gave up is not the server's fault.
func TestResetWeGaveUp(t *testing.T) {
	s := self(t, "tools")
	s.Isolation, s.Reset = PerReset, &Reset{Tool: "hang"}
	p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{Warm: -1})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	time.AfterFunc(500*time.Millisecond, cancel)
	if _, err := p.Open(ctx, "e"); err == nil || OutcomeOf(err) != trajectory.InfrastructureError {
		t.Errorf("got %v, blamed on %s", err, OutcomeOf(err))
	}
}
