//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Servers that are dead, a Python that is not there and a port that is taken are words on stderr: the run ends as it
// would without them.
func TestDeadTrackers(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	command, _, _ := toyRun(t, "sft")
	plain := contents(t, "hone.yaml")
	write(t, "hone.yaml", plain+"metrics: {mlflow: {url: 'http://127.0.0.1:1'}, wandb: {project: p, python: ./none}, "+
		"prometheus: {file: none/hone.prom}}\n")
	var said bytes.Buffer
	if code := toyApp(&said, nil).main(t.Context(),
		append(command, "out", "--metrics-address", taken.Addr().String())); code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	for _, want := range []string{
		"note: mlflow does not take metrics; the run goes on",
		"note: mlflow: 4 rows were not sent; metrics.jsonl has them", "note: wandb: 4 rows were not sent",
		"note: Prometheus cannot be shown all metrics: listen tcp", "none/hone.prom: no such file",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &said)
		}
	}
	write(t, "hone.yaml", plain)
	if code := toyApp(&said, nil).main(t.Context(), append(command, "alone")); code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	if got, want := result(t, "out"), result(t, "alone"); got != want {
		t.Errorf("%s\nwithout trackers\n%s", metricsOf(got), metricsOf(want))
	}
	sameEvents(t, "out", "sft")
	said.Reset()
	if code := toyApp(&said, nil).main(t.Context(), append(command, "open", "--metrics-address",
		"0.0.0.0:9464")); code != 2 || !strings.Contains(said.String(), "is not of this machine alone") {
		t.Errorf("exit code %d, %s", code, &said)
	}
}

// board is a tracking server that keeps what it is sent.
type board struct {
	mu    sync.Mutex
	runs  int
	steps []string // metric and step, as they came
	ends  []string
}

func (b *board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var q struct {
		Status  string
		Metrics []struct {
			Key  string
			Step int
		}
	}
	text, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(text, &q) // of a GET there is none
	for _, m := range q.Metrics {
		if m.Key == "train/loss" {
			b.steps = append(b.steps, fmt.Sprint(m.Step))
		}
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "runs/create"):
		b.runs++
		_, _ = fmt.Fprint(w, `{"run": {"info": {"run_id": "r"}}}`)
	case strings.HasSuffix(r.URL.Path, "runs/update"):
		b.ends = append(b.ends, q.Status)
		_, _ = fmt.Fprint(w, `{}`)
	default:
		_, _ = fmt.Fprint(w, `{"experiment": {"experiment_id": "1"}}`)
	}
}

// A run that is stopped and goes on is one run of a tracking server, with each step once.
func TestTrackerOfAResumedRun(t *testing.T) {
	b := &board{}
	s := httptest.NewServer(b)
	defer s.Close()
	command, _, _ := toyRun(t, "sft")
	write(t, "hone.yaml", contents(t, "hone.yaml")+fmt.Sprintf("metrics: {mlflow: {url: %q}}\n", s.URL))
	ctx, stop := context.WithCancel(t.Context())
	broken := &once{line: " 1/4", do: stop}
	if code := toyApp(broken, nil).main(ctx, append(command, "out")); code != 7 {
		t.Fatalf("exit code %d, %s", code, broken)
	}
	var said bytes.Buffer
	if code := toyApp(&said, nil).main(t.Context(), []string{"runs", "resume", "./out"}); code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	if want := []string{"0", "1", "2", "3"}; !slices.Equal(b.steps, want) || b.runs != 1 {
		t.Errorf("%d runs with the steps %q", b.runs, b.steps)
	}
	if b.ends[0] != "KILLED" || b.ends[len(b.ends)-1] != "FINISHED" || !slices.Contains(b.ends, "RUNNING") {
		t.Errorf("%q", b.ends)
	}
}

// While a run works its latest metrics are at --metrics-address.
func TestMetricsAddress(t *testing.T) {
	command, _, _ := toyRun(t, "sft")
	var page string
	said := &once{line: " 1/4"}
	said.do = func() {
		_, rest, _ := strings.Cut(said.String(), "metrics: ")
		address, _, _ := strings.Cut(rest, "\n")
		answer, err := http.Get(address)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = answer.Body.Close() }()
		text, _ := io.ReadAll(answer.Body)
		page = string(text)
	}
	if code := toyApp(said, nil).main(t.Context(),
		append(command, "out", "--metrics-address", "127.0.0.1:0")); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	for _, want := range []string{
		`hone_steps{run="out",stage="sft"} 1`, "# HELP hone_loss of the step's batch",
		`hone_time_train{run="out",stage="sft"} `,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it has no %q:\n%s", want, page)
		}
	}
}
