package metrics

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func prometheusRow(stage string, step int, name string, x float64) Row {
	return Row{Stage: stage, Step: step, At: time.UnixMilli(1_700_000_000_500),
		Values: map[string]float64{name: x}}
}

const prometheusText = `# HELP hone_reward mean of the episodes
# TYPE hone_reward gauge
hone_reward{run="a\"b",stage="grpo"} 0.5
# HELP hone_rewards_checks_mean mean score of a reward term before its weight, of the episodes that have it
# TYPE hone_rewards_checks_mean gauge
hone_rewards_checks_mean{run="a\"b",stage="grpo"} 0.25
# HELP hone_steps Steps of the stage that were taken.
# TYPE hone_steps gauge
hone_steps{run="a\"b",stage="grpo"} 5
hone_steps{run="a\"b",stage="validation"} 3
# HELP hone_success share of the episodes that passed all checks
# TYPE hone_success gauge
hone_success{run="a\"b",stage="validation"} 1
# HELP hone_updated_timestamp_seconds When the stage's last row was written, in seconds since 1970.
# TYPE hone_updated_timestamp_seconds gauge
hone_updated_timestamp_seconds{run="a\"b",stage="grpo"} 1.7000000005e+09
hone_updated_timestamp_seconds{run="a\"b",stage="validation"} 1.7000000005e+09
`

// The latest value of each metric is shown, in the text form 0.0.4, at the address and in the file alike.
func TestExporter(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hone.prom")
	e := OpenPrometheus(PrometheusOptions{Address: "127.0.0.1:0", File: file, Run: `a"b`, Warn: func(err error) {
		t.Error(err)
	}},
		[]Row{prometheusRow("grpo", 0, "reward", 0.1)})
	e.Put(prometheusRow("validation", 3, "success", 1))
	e.Put(prometheusRow("grpo", 3, "rewards/checks/mean", 0.25))
	e.Put(prometheusRow("grpo", 4, "reward", 0.5))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + e.Address() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || string(text) != prometheusText {
		t.Errorf("%s\nwant\n%s, %v", text, prometheusText, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != prometheusText {
		t.Errorf("the file has\n%s, %v", text, err)
	}
	e.Close(Stopped)
	if text, _ := os.ReadFile(file); !strings.Contains(string(text), `hone_ended{run="a\"b",status="stopped"} 1`) {
		t.Errorf("%s", text)
	}
	// of another program, which has the port now
	if answer, err := client.Get("http://" + e.Address() + "/metrics"); err == nil {
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if strings.Contains(string(text), "hone_") {
			t.Error("it still listens")
		}
	}
}

// A port that is taken, and a folder that is not there, are told once each.
func TestWhatCannotBeShown(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	var told []string
	e := OpenPrometheus(
		PrometheusOptions{Address: taken.Addr().String(), File: filepath.Join(t.TempDir(), "none", "hone.prom"),
			Warn: func(err error) { told = append(told, err.Error()) }}, nil,
	)
	e.Put(prometheusRow("sft", 0, "loss", 1))
	e.Put(prometheusRow("sft", 1, "loss", 1))
	e.Close(Finished)
	if len(told) != 2 {
		t.Errorf("%q", told)
	}
}
