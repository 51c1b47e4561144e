package job

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/data/formats"
	"hone/internal/fault"
	"hone/internal/llm"
	"hone/internal/mcp"
)

// ReplayAsked says which traces are sent again, and to whom.
type ReplayAsked struct {
	Data, Catalog           string
	Endpoint, Model, KeyEnv string // Model may be PROVIDER/MODEL alone
	Trace                   string // one of them; "" is all
	TokenBudget             int    // 0: no limit
}

// Replayed is what a model says in place of a trace's last assistant message.
type Replayed struct {
	Trace string       `json:"trace"`
	Same  string       `json:"same"` // all, tools (by name, in order), kind (calls or words), nothing
	Was   chat.Message `json:"was"`
	Is    chat.Message `json:"is"`
}

// Replay sends each trace without its last assistant message, and what follows that, and compares the answer with it.
func (e Env) Replay(ctx context.Context, c config.Config, a ReplayAsked) ([]Replayed, [][]string, error) {
	named, is := c.ModelOf(a.Model)
	if a.Endpoint != "" || !is {
		named = config.NamedModel{URL: a.Endpoint, Model: a.Model, KeyEnv: a.KeyEnv}
	}
	if named.URL == "" || named.Model == "" {
		return nil, nil, &fault.Error{Code: fault.CodeUsage, What: "replay needs --endpoint and --model, or --model PROVIDER/MODEL", Next: "hone replay --help"}
	}
	key, _ := e.LookupEnv(named.KeyEnv)
	client, err := llm.New(llm.Options{BaseURL: named.URL, API: named.API, Key: llm.Secret(key), TokenBudget: a.TokenBudget})
	if err != nil {
		return nil, nil, err
	}
	var out []Replayed
	tools, without := catalogs{a.Catalog, map[string]*mcp.Catalog{}}, 0
	_, err = formats.Read([]string{a.Data}, formats.Options{}, func(r dataset.Row) error {
		if a.Trace != "" && r.Name() != a.Trace {
			return nil
		}
		last := len(r.Messages) - 1
		for last >= 0 && r.Messages[last].Role != chat.Assistant {
			last--
		}
		if last < 1 {
			without++
			return nil
		}
		if err := tools.toolsFor(&r); err != nil {
			return err
		}
		answer, err := client.Chat(ctx, llm.Request{Model: named.Model, Messages: r.Messages[:last], Tools: r.Tools, MaxTokens: c.Rollout.MaxTokens, Seed: 1})
		if err != nil {
			return err
		}
		out = append(out, Replayed{r.Name(), sameAs(r.Messages[last], answer.Message), r.Messages[last], answer.Message})
		return nil
	})
	if without > 0 {
		e.Say("left out %s without an assistant message that answers anything", fault.Count(without, "trace"))
	}
	if err == nil && len(out) == 0 {
		err = &fault.Error{Code: fault.CodeUsage, What: "no trace was sent", Where: cmp.Or(a.Trace, a.Data), Next: "hone data validate " + a.Data}
	}
	rows := [][]string{{"same", "traces"}}
	for _, same := range []string{"all", "tools", "kind", "nothing"} {
		n := 0
		for _, x := range out {
			if x.Same == same {
				n++
			}
		}
		rows = append(rows, []string{same, strconv.Itoa(n)})
	}
	return out, rows, err
}

// sameAs is how far two assistant messages are the same: in all but how arguments are written, in the tools that they call, or in whether
// they call any.
func sameAs(was, is chat.Message) string {
	equal := func(a, b chat.ToolCall) bool {
		var x, y any
		if json.Unmarshal([]byte(a.Arguments), &x) != nil || json.Unmarshal([]byte(b.Arguments), &y) != nil {
			return a.Name == b.Name && a.Arguments == b.Arguments
		}
		return a.Name == b.Name && reflect.DeepEqual(x, y)
	}
	calls := len(was.ToolCalls) > 0
	switch {
	case calls != (len(is.ToolCalls) > 0):
		return "nothing"
	case slices.EqualFunc(was.ToolCalls, is.ToolCalls, equal) && (calls || was.Content == is.Content):
		return "all"
	case calls && slices.EqualFunc(was.ToolCalls, is.ToolCalls, func(a, b chat.ToolCall) bool { return a.Name == b.Name }):
		return "tools"
	}
	return "kind"
}
