package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"

	"hone/internal/chat"
	"hone/internal/console/sanitize"
	"hone/internal/data/dataset"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/host"
)

// seller is an endpoint whose model buys what it is told to, says how many messages it was sent, breaks off in "tell
// all", and fails at "fail".
func seller(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Messages []chat.Message }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		last, finish := q.Messages[len(q.Messages)-1], "stop"
		reply := chat.Message{Role: chat.Assistant, Content: fmt.Sprintf("%d: %s", len(q.Messages), last.Content),
			ReasoningContent: "hm"}
		if name, ok := strings.CutPrefix(last.Content, "buy "); ok && last.Role == chat.User {
			reply = chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{
				{ID: fmt.Sprint("c", len(q.Messages)), Name: "buy", Arguments: `{"name": "` + name + `"}`},
			}}
		}
		switch last.Content {
		case "tell all":
			finish = "length"
		case "fail":
			http.Error(w, `{"error": {"message": "no such thing"}}`, http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"message": reply, "finish_reason": finish}},
			"usage":   map[string]int{"prompt_tokens": 1, "completion_tokens": 1},
		})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// atTerminal runs hone on a terminal where somebody waits for texts and types; "^C" stops it. screen is all that was
// shown.
func atTerminal(t *testing.T, args []string, steps ...[2]string) (code int, shown string) {
	t.Helper()
	sits, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close(); sits.Close() })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	a := &app{Host: &host.Host{Stdin: theirs, Data: sanitize.New(theirs), Talk: sanitize.New(theirs),
		LookupEnv: os.LookupEnv, Environ: os.Environ()}}
	done := make(chan int, 1)
	go func() { done <- a.main(ctx, args) }()
	for _, s := range steps {
		shown += shownBefore(t, sits, s[0])
		switch s[1] {
		case "":
			continue
		case "^C":
			stop()
			continue
		case "Enter":
			s[1] = ""
		}
		if _, err := io.WriteString(sits, s[1]+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	code = <-done
	fmt.Fprintln(theirs, "<over>")
	return code, shown + shownBefore(t, sits, "<over>")
}

func talksOf(t *testing.T, path string) (list []trajectory.Trajectory) {
	t.Helper()
	for line := range bytes.Lines([]byte(contents(t, path))) {
		var x trajectory.Trajectory
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

func wordsOf(x trajectory.Trajectory) (text string) {
	for _, m := range x.Messages {
		text += m.Role[:1] + ":" + m.Content + "|"
	}
	return text
}

// A person talks with a model that has tools: calls are shown and asked about, and each conversation is a trajectory,
// in the same run also later; all of them are learnt from, curated, and can be held again by another model.
func TestCollectInteractive(t *testing.T) {
	url, sold := shop(t)
	workFolder(t, map[string]string{"hone.yaml": "rollout: {max_turns: 2, system: Be short.}\n"})
	args := []string{"collect", "--interactive", "--mcp", url, "--endpoint", seller(t), "--model", "m",
		"--output-dir", "out"}
	const asks, prompt = "always this [s]erver: ", "\n> "
	code, shown := atTerminal(t, args, [2]string{prompt, "buy hat"}, [2]string{asks, "y"}, [2]string{"4: sold", ""},
		[2]string{prompt, "buy boat"}, [2]string{asks, "n"}, [2]string{prompt, "/help"}, [2]string{prompt,
			"say ###STOP###"}, [2]string{prompt, "thanks"},
		[2]string{"10: thanks", ""}, [2]string{prompt, "/new"}, [2]string{"talk-2", ""}, [2]string{prompt, "hello"},
		[2]string{"2: hello", ""}, [2]string{prompt, "/quit"})
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, shown)
	}
	for _, want := range []string{
		`-> buy {"name": "hat"}`, "tool:      buy", "<- ok: sold (allowed by the user)", "<- denied: ",
		"/new ends this conversation", "cannot hold ###OUT-OF-SCOPE###", "hm\r\n", "2 conversations kept",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the terminal lacks %q:\n%s", want, shown)
		}
	}
	if !slices.Equal(sold(), []string{"hat"}) {
		t.Errorf("sold %q", sold())
	}
	if !strings.Contains(contents(t, "out/version.json"), `"mcp_given": true`) {
		t.Error("the run does not say that its server was named by --mcp")
	}
	list := talksOf(t, "out/trajectories.jsonl")
	if len(list) != 2 || list[0].ID != "talk-1" || list[1].ID != "talk-2" {
		t.Fatalf("%+v", list)
	}
	const denied = "The call was denied: denied by the user"
	if got, want := wordsOf(list[0]), "s:Be short.|u:buy hat|a:|t:sold|a:4: sold|u:buy boat|a:|t:"+denied+"|a:8: "+
		denied+"|u:thanks|a:10: thanks|"; got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	if x := list[0]; x.Outcome != trajectory.OK || x.User == nil || x.User.Played != "person" ||
		x.User.Ended != trajectory.EndedByUser || x.User.Turns != 3 || x.Split != scenario.Train || len(x.Turns) != 5 ||
		x.Turns[1].ReasoningContent != "hm" || x.Turns[0].Results[0].Approval != "allowed by the user" {
		t.Errorf("%+v", x)
	}

	// On a pipe, and later: the run goes on. What broke off is cut behind the last whole answer.
	if code, _, said := hone(t, "buy sea\nhello\ntell all\nhello again\n/new\n/new\ntell all\n",
		append(args, "--yes")...); code != 0 || !strings.Contains(said, "talk-3 broke off (max_tokens)") ||
		!strings.Contains(said, "talk-5 has no answer") || !strings.Contains(said, "2 conversations kept") {
		t.Errorf("exit code %d: %s", code, said)
	}
	list = talksOf(t, "out/trajectories.jsonl")
	if len(list) != 4 || !strings.HasSuffix(wordsOf(list[2]), "|u:hello|a:6: hello|") ||
		list[2].Outcome != trajectory.OK || len(list[2].Turns) != 3 || list[2].User.Turns != 2 ||
		wordsOf(list[3]) != "s:Be short.|u:hello again|a:2: hello again|" {
		t.Fatalf("%+v", list)
	}
	if code, _, said := hone(t, "hello\nfail\nhello\n", args...); code != 1 ||
		strings.Count(said, "no such thing") != 1 {
		t.Errorf("exit code %d: %s", code, said)
	}
	if code, shown := atTerminal(t, args, [2]string{prompt, "fail"}, [2]string{"/quit ends: ", "Enter"},
		[2]string{"/quit ends: ", "/new"}, [2]string{prompt, "/quit"}); code != 0 ||
		!strings.Contains(shown, "has no answer, so nothing is kept") {
		t.Errorf("exit code %d: %s", code, shown)
	}
	if code, shown := atTerminal(t, args, [2]string{prompt, "wait"}, [2]string{"2: wait", ""},
		[2]string{prompt, "^C"}); code != 7 || !strings.Contains(shown, "stopped after 1 conversation, which") {
		t.Errorf("exit code %d: %s", code, shown)
	}
	list = talksOf(t, "out/trajectories.jsonl")
	if len(list) != 6 || !strings.HasSuffix(wordsOf(list[4]), "|u:hello|a:2: hello|") ||
		!strings.HasSuffix(wordsOf(list[5]), "|u:wait|a:2: wait|") {
		t.Errorf("%+v", list)
	}

	held, err := scenario.LoadCopy(filepath.Join("out", "scenarios.json"))
	if err != nil || len(held) != 6 || !slices.Equal(held[0].User.Says, []string{"buy hat", "buy boat", "thanks"}) ||
		held[0].Hash() != list[0].Scenario || held[5].Split != scenario.Train {
		t.Errorf("%+v, %v", held, err)
	}
	if code, _, said := hone(t, "", "data", "convert", "out/trajectories.jsonl", "--to", "hf-jsonl", "--unroll",
		"turns", "--out", "rows"); code != 0 || !strings.Contains(said, "9 rows written") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if rows, _, err := dataset.Load([]string{"out/trajectories.jsonl"}, dataset.Options{}); err != nil ||
		len(rows) != 6 || slices.ContainsFunc(rows,
		func(r dataset.Row) bool { return r.WhyNoDemonstration() != "" || !r.ToLearnFrom() }) {
		t.Errorf("%+v, %v", rows, err)
	}
	if code, _, said := hone(t, "", "curate", "show", "out/trajectories.jsonl", "talk-1"); code != 0 {
		t.Errorf("exit code %d: %s", code, said)
	}
	if code, out, said := hone(t, "", "runs", "rollouts", "out"); code != 0 ||
		!strings.Contains(out, "talk-6") {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	if err := os.WriteFile("longer.yaml", []byte("rollout: {max_turns: 8, system: Be short.}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, said := hone(t, "", "--config", "longer.yaml", "collect", "--yes", "--mcp", url, "--endpoint",
		seller(t), "--model", "other", "--dataset", "out/scenarios.json", "--output-dir", "again"); code != 0 ||
		!strings.Contains(said, "6 episodes") && !strings.Contains(said, "6/6") {
		t.Errorf("exit code %d: %s", code, said)
	} else if again := talksOf(t, "again/trajectories.jsonl"); len(again) != 6 ||
		again[0].User.Played != trajectory.Script || wordsOf(again[0]) != "s:Be short.|u:buy hat|a:|t:sold|a:4: "+
		"sold|u:buy boat|a:|t:sold|a:8: sold|u:thanks|a:10: thanks|" {
		t.Errorf("%+v", again)
	}
	for _, bad := range []string{"--gold", "--samples 2", "--parallel 2", "--dataset x.jsonl", "--split all"} {
		if code, _, said := hone(t, "", append(slices.Clone(args), strings.Fields(bad)...)...); code != 2 {
			t.Errorf("%s: exit code %d: %s", bad, code, said)
		}
	}
}

// A person does the tasks: sees them, the tools and the results, types calls and answers, and may go on later.
func TestCollectByAPerson(t *testing.T) {
	url, sold := shop(t)
	workFolder(t, map[string]string{
		"tasks.jsonl": `{"id": "a", "task": "Buy a hat.", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}` + "\n" + `{"id": "b", "task": "What do you sell?"}` + "\n",
	})
	args := []string{"collect", "--model", "person", "--yes", "--mcp", url, "--dataset", "tasks.jsonl", "--split",
		"all", "--output-dir", "out"}
	code, _, said := hone(t, "/tools\n/nothing\n/call buy {\n/call buy { \"name\": \"hat\" }\nBought.\n", args...)
	if code != 7 || !strings.Contains(said, "user: Buy a hat.") || !strings.Contains(said, "buy: \n") ||
		!strings.Contains(said, "write a call as") || !strings.Contains(said, "tool: sold") ||
		strings.Contains(said, "assistant: ") || !strings.Contains(said, "user: What do you sell?") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if code, _, said := hone(t, "Hats.", args...); code != 0 ||
		!strings.Contains(said, "1 of 1 episode passed all checks") || strings.Contains(said, "paid for") {
		t.Errorf("exit code %d: %s", code, said)
	}
	list := talksOf(t, "out/trajectories.jsonl")
	if len(list) != 2 || wordsOf(list[0]) != "u:Buy a hat.|a:|t:sold|a:Bought.|" ||
		wordsOf(list[1]) != "u:What do you sell?|a:Hats.|" || list[0].Turns[0].Calls[0].Arguments != `{"name":"hat"}` ||
		len(sold()) != 1 {
		t.Errorf("%+v, sold %q", list, sold())
	}
	for _, bad := range []string{"--parallel 2", "--hidden-system-prompt x", "--interactive"} {
		if code, _, said := hone(t, "", append(slices.Clone(args), strings.Fields(bad)...)...); code != 2 {
			t.Errorf("%s: exit code %d: %s", bad, code, said)
		}
	}
}
