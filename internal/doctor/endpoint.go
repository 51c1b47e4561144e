package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/llm"
)

// EndpointAsked is a model of an endpoint that is to be checked.
type EndpointAsked struct {
	URL, Model, KeyEnv string // Model may be PROVIDER/MODEL alone
}

// Check asks it and prints what came of it.
func (a EndpointAsked) Check(ctx context.Context, h *host.Host, c config.Config) error {
	named, is := c.ModelOf(a.Model)
	if a.URL != "" || !is {
		named = config.NamedModel{URL: a.URL, Model: a.Model, KeyEnv: a.KeyEnv}
	}
	if named.URL == "" || named.Model == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "which model of which endpoint is not said",
			Next: "give --endpoint and --model, or --model PROVIDER/MODEL"}
	}
	key, _ := h.LookupEnv(named.KeyEnv)
	client, err := llm.New(llm.Options{BaseURL: named.URL, API: named.API, Key: llm.Secret(key), MaxRetries: 1})
	if err != nil {
		return err
	}
	return Print(h, Endpoint(ctx, client, named.Model))
}

// probe is a tool that a model can only use by calling it.
func probe() chat.Tool {
	return chat.Tool{Name: "read_meter", Description: "Reads the number that a meter shows now.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"meter":{"type":"string"}},"required":["meter"]}`)}
}

// Endpoint asks a model of an endpoint for one call, and says whether the endpoint answers, whether it reads calls off
// what the model writes, and whether it tells reasoning from the answer. Where it does not, the flags of vLLM and
// SGLang that mend it are named.
func Endpoint(ctx context.Context, client llm.Chatter, model string) []Check {
	answers, calls, thinks := Check{Name: "endpoint"}, Check{Name: "tool calls"}, Check{Name: "reasoning"}
	response, err := client.Chat(ctx, llm.Request{Model: model, Tools: []chat.Tool{probe()}, MaxTokens: 2048, Seed: 1,
		Messages: []chat.Message{{Role: chat.User, Content: `Call the tool read_meter with the meter "m17", and tell me what it shows. You cannot know it without the call.`}}})
	if err != nil {
		answers.Status, answers.Detail, answers.Next =
			Fail, fault.InnerText(err), "start the endpoint, or correct --endpoint, --model and --key-env"
		if refused, is := errors.AsType[*llm.StatusError](err); is && refused.Status == http.StatusServiceUnavailable {
			answers.Next = "it is there, and not ready: where it loads its model, ask again in a minute"
		}
		return []Check{answers}
	}
	m := response.Message
	answers.Status, answers.Detail = OK, fmt.Sprintf("%s answered: %d tokens of a prompt, %d of a completion",
		model, response.Usage.PromptTokens, response.Usage.CompletionTokens)
	form, unread := llm.UnreadCall(m.Content, probe().Name)
	var arguments struct{ Meter string }
	switch {
	case unread:
		calls.Status, calls.Detail, calls.Next =
			Fail, "the call is left in the text, in the form of "+form.Form+": the endpoint reads none", form.Mend()
	case len(m.ToolCalls) == 0:
		calls.Status, calls.Detail, calls.Next =
			Warn, fmt.Sprintf("the model made no call, but said %.80q: whether calls are read is not known", m.Content),
			"try again with a model that can call tools"
	case m.ToolCalls[0].Name != probe().Name || json.Unmarshal([]byte(m.ToolCalls[0].Arguments), &arguments) != nil:
		calls.Status, calls.Detail = Warn, fmt.Sprintf("a call was read, and is another than was asked for: %s(%s)",
			m.ToolCalls[0].Name, m.ToolCalls[0].Arguments)
	default:
		calls.Status, calls.Detail = OK, fmt.Sprintf("read: %s(%s)", m.ToolCalls[0].Name, m.ToolCalls[0].Arguments)
	}
	thought, unsplit := llm.UnsplitReasoning(m.Content)
	switch {
	case unsplit:
		thinks.Status, thinks.Detail, thinks.Next = Fail, "it is left in the text, as "+thought.Form+
			": what is collected would learn it as the answer", thought.Mend()
	case m.ReasoningContent != "":
		thinks.Status, thinks.Detail = OK, fmt.Sprintf("told from the answer: %d bytes", len(m.ReasoningContent))
	default:
		thinks.Status, thinks.Detail = OK, "the model wrote none"
	}
	return []Check{answers, calls, thinks}
}
