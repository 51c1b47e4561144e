package view

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hone/internal/console/sanitize"
	"hone/internal/data"
	"hone/internal/episode/scenario"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/run"
	"hone/internal/synth"
)

// browser is a Chromium and the folder of the page's tests; the test is skipped where either is missing.
func browser(t *testing.T) (path, tests string) {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	tests, err := filepath.Abs("../../web/test")
	check(t, err)
	switch _, err := os.Stat(filepath.Join(tests, "..", "node_modules", "playwright-core")); {
	case testing.Short():
		t.Skip("-short starts no browser")
	case path == "":
		t.Skip("no Chromium on PATH: apt-get install chromium")
	case err != nil:
		t.Skip("web/node_modules is not there: make web")
	}
	if _, err := pageFiles(); err != nil {
		t.Skip("the page is not built: make web")
	}
	return path, tests
}

// playsOfTasks is a ledger of what a server answered as tasks were made.
const playsOfTasks = `{"of":"tools"}
{"play":"play-1","got":{"results":[{"status":"ok","text":"5 words"}],"files":{"words a.txt":"ladder <b>"},"at":1767361845}}
`

// quiet is a host that says nothing.
func quiet(t *testing.T) *host.Host {
	return &host.Host{Data: sanitize.New(io.Discard), Talk: sanitize.New(io.Discard),
		LookupEnv: func(string) (string, bool) { return "", false }, CacheDir: t.TempDir(), Quiet: true}
}

// served serves runs until the test ends, and returns the address.
func served(t *testing.T, runs ...string) string {
	t.Helper()
	s := &Server{Env: job.Env{Host: quiet(t)}, Runs: runs}
	l, err := Listen("127.0.0.1:0")
	check(t, err)
	address, over := make(chan string, 1), make(chan error, 1)
	go func() { over <- s.Serve(t.Context(), l, func(a string) { address <- a }) }()
	t.Cleanup(func() { check(t, <-over) })
	return <-address
}

// In a real browser each screen does what it is for, on a run with texts that would do harm: nothing of them runs, and
// axe finds nothing serious in the light or in the dark. The same opens from a file. What a person edits is what is
// learnt from. The page follows a run that goes on, and says so where it goes away.
func TestScreensInChromium(t *testing.T) {
	chromium, tests := browser(t)
	dir := filepath.Join(t.TempDir(), "run")
	d := made(t, dir, 240)
	check(t, d.Close()) // makes trajectories.jsonl, which is curated
	d, err := run.Open(dir, run.OpenOptions{})
	check(t, err)
	check(t, d.Close())
	check(t, os.WriteFile(synth.WorkBeside(filepath.Join(dir, job.ScenariosFile)), []byte(playsOfTasks), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	runOf(t, filepath.Join(filepath.Dir(dir), "earlier"), time.Now().Add(-time.Hour), "words",
		mcp.Tool{Name: "count", Description: "Counted letters once. " + strings.ReplaceAll(hostile, "\x00", "")})
	files := filepath.Join(t.TempDir(), "files")
	check(t, (&Server{Env: job.Env{Host: quiet(t)}, Runs: []string{dir}}).Bundle(t.Context(), files))
	words(t, dir)
	model, _ := endpoint(t)
	one := filepath.Join(t.TempDir(), "report.html") // the run's folder goes
	check(t, os.WriteFile(one, []byte(reportOf(t, dir)), 0o600))
	c := exec.CommandContext(ctx, "node", filepath.Join(tests, "screens.mjs"), served(t, dir), chromium,
		"file://"+filepath.Join(files, "index.html"), "file://"+one, model)
	out, err := c.StdoutPipe()
	check(t, err)
	in, err := c.StdinPipe()
	check(t, err)
	var said bytes.Buffer
	c.Stderr = &said
	check(t, c.Start())
	deeds := deedsOn(t, dir)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if deed, is := strings.CutPrefix(lines.Text(), "> "); is {
			deeds[deed]()
			_, _ = fmt.Fprintln(in, "done")
			continue
		}
		t.Error(lines.Text())
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
}

// deedsOn are what the page's tests ask to be done to the run in dir.
func deedsOn(t *testing.T, dir string) map[string]func() {
	ledger := func(do func(l *run.Ledger)) func() {
		return func() {
			l, err := run.OpenLedger(filepath.Join(dir, "ledger.db"))
			check(t, err)
			do(l)
			check(t, l.Close())
		}
	}
	return map[string]func(){
		"put": ledger(func(l *run.Ledger) {
			text, err := json.Marshal(episodeOf(scenario.Scenario{ID: "fresh", Task: "What is new?"}, 500, 0, true,
				rand.New(rand.NewPCG(1, 1))))
			check(t, err)
			_, err = l.PutTrajectory(run.TrajectoryRow{ID: "grpo/fresh/500/0", Stage: "grpo", Step: 500, JSON: text})
			check(t, err)
		}),
		"score": ledger(func(l *run.Ledger) {
			_, err := l.PutScores([]run.ScoreRow{{ID: "grpo/fresh/500/0", JSON: []byte(`{"reward":0.25}`)}})
			check(t, err)
		}),
		"export": func() { // what hone curate export writes, and sft reads
			desk, err := data.Curating{Data: filepath.Join(dir, "trajectories.jsonl"), Look: true}.Open(quiet(t))
			check(t, err)
			defer desk.Close()
			edited := 0
			for _, row := range desk.ToExport(false, nil) {
				if row.Task() == "What is edited in the page?" {
					edited++
				}
			}
			if edited != 1 {
				t.Errorf("%d rows to learn from have what was edited in the page", edited)
			}
		},
		"remove": func() { check(t, os.RemoveAll(dir)) },
	}
}
