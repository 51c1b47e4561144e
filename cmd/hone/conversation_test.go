package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// replying is an endpoint whose model says what a rule makes of a conversation.
func replying(t *testing.T, rule func(messages []chat.Message) chat.Message) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Messages []chat.Message }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"message": rule(q.Messages), "finish_reason": "stop"}},
			"usage":   map[string]int{"prompt_tokens": 100, "completion_tokens": 10},
		})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// assistantOfShop is a policy that cancels the order it was told of: one that asks before it does, and one that only
// answers, or acts at once.
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
		return chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{
			{ID: "c", Name: "cancel_pending_order",
				Arguments: fmt.Sprintf(`{"order_id": %q, "reason": "no longer needed"}`, order)},
		}}
	}
}

// conversations are tasks of a shop: nothing is to be done before the user agrees. Two users have scripts, two are
// played.
const conversations = `
{"id": "scripted", "user": {"says": ["I want to cancel order #W4536116. I do not need it any more.", "Yes, please."]}, "gold": [{"name": "cancel_pending_order", "arguments": {"order_id": "#W4536116", "reason": "no longer needed"}, "asks": "Shall I?"}], "gold_answer": "Cancelled.", "checks": [{"type": "state", "name": "get_order_details", "arguments": {"order_id": "#W4536116"}, "after_turn": 1, "matches": {"$subset": {"parsed_content": {"$subset": {"status": "pending"}}}}}, {"type": "state", "name": "get_order_details", "arguments": {"order_id": "#W4536116"}, "matches": {"$subset": {"parsed_content": {"$subset": {"status": "cancelled"}}}}}, {"type": "answer", "contains": "ancelled", "any_turn": true}]}
{"id": "played", "user": {"goal": "Cancel your order. You do not need it any more.", "knows": {"order": "#W4536116"}, "persona": "You are short.", "ends_on": ["transfer_to_human_agents"]}, "checks": [{"type": "state", "name": "get_order_details", "arguments": {"order_id": "#W4536116"}, "after_turn": 2, "matches": {"$subset": {"parsed_content": {"$subset": {"status": "pending"}}}}}, {"type": "state", "name": "get_order_details", "arguments": {"order_id": "#W4536116"}, "matches": {"$subset": {"parsed_content": {"$subset": {"status": "cancelled"}}}}}]}
{"id": "hello scripted", "user": {"says": ["Hello!", "Nothing, thanks. ###STOP###"]}, "checks": [{"type": "no_call"}]}
{"id": "hello played", "user": {"goal": "Just say hello.", "first": "Hello!"}, "checks": [{"type": "no_call"}]}
`

// retail has the tools of tau2-bench's shop that the conversations need, in this process: each session has a database
// of its own.
func retail(t *testing.T) (servers string) {
	t.Helper()
	type order struct {
		ID     string `json:"order_id"`
		Reason string `json:"reason,omitempty"`
		Status string `json:"status,omitempty"`
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "retail", Version: "1"}, nil)
		status := "pending"
		tell := func(in order) (*mcp.CallToolResult, any, error) {
			if in.ID != "#W4536116" {
				return nil, nil, fmt.Errorf("order %s not found", in.ID)
			}
			text, err := json.Marshal(map[string]order{"parsed_content": {ID: in.ID, Status: status}})
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil, err
		}
		mcp.AddTool(s, &mcp.Tool{Name: "get_order_details", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			func(_ context.Context, _ *mcp.CallToolRequest, in order) (*mcp.CallToolResult, any, error) {
				return tell(in)
			})
		mcp.AddTool(s, &mcp.Tool{Name: "cancel_pending_order"},
			func(_ context.Context, _ *mcp.CallToolRequest, in order) (*mcp.CallToolResult, any, error) {
				status = "cancelled"
				return tell(in)
			})
		mcp.AddTool(s, &mcp.Tool{Name: "transfer_to_human_agents"},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "A person takes over."}}}, nil,
					nil
			})
		return s
	}, nil))
	t.Cleanup(server.Close)
	return fmt.Sprintf(`{"mcpServers": {"retail": {"url": %q}}}`, server.URL)
}

func TestConversations(t *testing.T) { conversationsOn(t, retail(t)) }

// Tasks with a user run on a shop: proven, collected with two policies, each with the same users, and told apart by the
// state they leave. What the users cost is told apart from what the policy cost; one that cannot be played is no
// failure of a policy.
func conversationsOn(t *testing.T, shop string) {
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
	workFolder(t, map[string]string{
		"mcp.json": shop, "talks.jsonl": conversations, "hone.yaml": fmt.Sprintf(conf, person),
		"gone.yaml": fmt.Sprintf(conf, gone.URL), "none.yaml": "mcp: {config: mcp.json}\n",
	})
	if code, stdout, said := hone(t, "", "scenarios", "validate", "talks.jsonl", "--cache", "cache"); code != 0 {
		t.Fatalf("validate: exit code %d, %s%s", code, stdout, said)
	}
	collect := func(config, out string, asks bool) (int, string) {
		code, _, said := hone(t, "", "collect", "--config", config, "--cache", "cache", "--yes", "--allow-findings",
			"retail/*", "--dataset", "talks.jsonl", "--split", "all", "--endpoint", replying(t, assistantOfShop(asks)),
			"--model", "clerk", "--output-dir", out)
		return code, said
	}
	// in this order: what the second asks of the users is remembered from the first
	for _, name := range []bool{true, false} {
		want := map[bool]string{true: "4 of 4 episodes passed", false: "2 of 4 episodes passed"}[name]
		out := fmt.Sprint("asks-", name)
		code, said := collect("hone.yaml", out, name)
		if code != 0 || !strings.Contains(said, want) ||
			name && !strings.Contains(said, "simulated users: 500 tokens sent and 50 tokens received were paid for") {
			t.Errorf("%s: exit code %d, no %q in %s", out, code, want, said)
		}
		for _, x := range trajectoriesOf(t, out) {
			played := map[bool]string{true: "someone",
				false: trajectory.Script}[strings.Contains(x.ScenarioID, "played")]
			if x.Outcome != trajectory.OK || x.User == nil || x.User.Played != played || x.User.Ended == "" ||
				(x.User.CompletionTokens > 0) != (played == "someone" && x.User.Ended != trajectory.EndedByPolicy) {
				t.Errorf("%s, %s: %s (%s), %+v", out, x.ScenarioID, x.Outcome, x.Error, x.User)
			}
		}
	}
	// the same words are answered by the cache
	if code, said := collect("hone.yaml", "again", true); code != 0 || strings.Contains(said, "simulated users") {
		t.Errorf("a user is paid for twice: exit code %d, %s", code, said)
	}
	if !strings.Contains(strings.Join(told, "\n"), "You are short.") {
		t.Error("the user is not told who it is")
	}
	if code, said := collect("none.yaml", "none", true); code != 2 || !strings.Contains(said, "rollout.user") {
		t.Errorf("nobody plays the users: exit code %d, %s", code, said)
	}
	if code, said := collect("gone.yaml", "gone", true); code != 2 || !strings.Contains(said, "the simulated user") ||
		!strings.Contains(said, "404") {
		t.Errorf("the user's endpoint refuses: exit code %d, %s", code, said)
	}
	if code, stdout, said := hone(t, "", "scenarios", "show", "talks.jsonl", "played"); code != 0 ||
		!strings.Contains(stdout, "Cancel your order.") || strings.Contains(stdout, "Hello!") {
		t.Errorf("show: exit code %d, %s%s", code, stdout, said)
	}
}
