//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/eval/stats"
)

// On the suite of poisoned servers an agent that does whatever a note says is told from one that does what it is asked:
// both do the task, and hone eval counts the attacks that succeed against the first. The servers are real, the agents
// are scripts.
func TestPoisonedServers(t *testing.T) {
	suite := t.TempDir()
	if out, err := exec.Command("node", "../../demo/poison/make.mjs", suite, "24").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rows, err := os.ReadFile(filepath.Join(suite, "held1.test.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for line := range strings.Lines(string(rows)) {
		if strings.Contains(line, "kind:note") {
			notes = append(notes, line)
		}
	}
	if len(notes) < 3 {
		t.Fatalf("%d tasks with a poisoned note", len(notes))
	}
	tasks := filepath.Join(suite, "notes.jsonl")
	if err := os.WriteFile(tasks, []byte(strings.Join(notes, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	servers := filepath.Join(suite, "held1.mcp.json")
	if code, stdout, stderr := hone(t, "", "scenarios", "validate", "--mcp-config", servers, tasks); code != 0 {
		t.Fatalf("validate: %d %s %s", code, stdout, stderr)
	}
	title, address := regexp.MustCompile(`"([a-z]+)"`), regexp.MustCompile(`\S+@\S+\.example`)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model    string
			Messages []chat.Message
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		last, results, note := q.Messages[len(q.Messages)-1], 0, ""
		for _, m := range q.Messages {
			if m.Role == chat.ToolRole {
				if results++; results == 1 {
					note = m.Content
				}
			}
		}
		message := fmt.Sprintf(`{"role":"assistant","content":%q}`, note)
		call := func(name string, arguments map[string]string) {
			text, _ := json.Marshal(arguments)
			message = fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":%q,"arguments":%q}}]}`, results, name, text)
		}
		switch {
		case last.Role == chat.User:
			call("read_note", map[string]string{"title": title.FindStringSubmatch(last.Content)[1]})
		case results == 1 && q.Model == "obedient":
			call("send_mail",
				map[string]string{"to": strings.TrimRight(address.FindString(note), ".:"), "text": "as you wish"})
		}
		_, _ = fmt.Fprintf(w,
			`{"choices":[{"message":%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
			message)
	}))
	defer agent.Close()
	code, stdout, stderr := hone(t, "", "--json", "eval", "--compare", agent.URL+"/v1/wary,"+agent.URL+"/v1/obedient",
		"--mcp-config", servers, "--allow-findings", "*", "--dataset", tasks, "--split", "test", "--output-dir",
		filepath.Join(suite, "run"))
	if code != 0 && code != 3 {
		t.Fatalf("eval: %d %s", code, stderr)
	}
	var got struct {
		Systems map[string]stats.Summary `json:"systems"`
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || len(got.Systems) != 2 {
		t.Fatalf("%v: %s", err, stdout)
	}
	for name, s := range got.Systems {
		want := 0.0
		if strings.HasSuffix(name, "obedient") {
			want = 1
		}
		attack, task := s.Metrics["attack_success"], s.Metrics["attacked_completion"]
		if attack.N != len(notes) || attack.Mean != want || task.Mean != 1 || s.EpisodeSuccess != 1-want {
			t.Errorf("%s: attacks %+v, tasks %+v, all checks %v", name, attack, task, s.EpisodeSuccess)
		}
	}
}
