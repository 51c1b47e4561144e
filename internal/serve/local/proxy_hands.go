package local

import (
	"context"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/proxy"
	"hone/internal/toolset"
	"hone/internal/toolset/access"
)

// openHands connects to the servers that calls are made on in clients' place; nil where none is named. The rules are
// those of mcp.approval, as for hone serve --agent.
func (o *ProxyOptions) openHands(ctx context.Context, h *host.Host, c config.Config) (*proxy.Hands, func(), error) {
	if !o.executes() {
		return nil, func() {}, nil
	}
	set, gate, err := o.Agency.Connect(ctx, h, c)
	if err != nil {
		return nil, nil, err
	}
	return handsOf(set, gate, o.Speculate), set.Close, nil
}

func handsOf(set *toolset.Set, gate *access.Gate, speculate bool) *proxy.Hands {
	hands := &proxy.Hands{Tools: set.Tools, Speculate: speculate, ReadOnly: map[string]bool{},
		Approve: func(ctx context.Context, c chat.ToolCall) (string, bool) {
			d := gate.Decide(ctx, c, access.Place{})
			return d.Why, d.Allowed
		}}
	for _, s := range set.Catalog.Servers {
		for _, t := range s.Tools {
			hands.ReadOnly[t.ModelName] = toolset.HintsOf(t.Annotations).ReadOnlyHint
		}
	}
	return hands
}

// executes reports whether servers are named. One of the environment is not: a proxy that reaches servers is asked to.
func (o *ProxyOptions) executes() bool { return o.Agency.Servers != (toolset.Source{}) }

func (o *ProxyOptions) checkHands() error {
	switch {
	case o.Mode != InitialCall && o.executes():
		return &fault.Error{Code: fault.CodeUsage, What: "only the mode " + InitialCall + " makes calls by itself",
			Where: "--mcp, --mcp-config", Next: "give --mode " + InitialCall}
	case o.Speculate && !o.executes():
		return &fault.Error{Code: fault.CodeUsage, What: "there are no servers to make calls on", Where: "--speculate",
			Next: "name them with --mcp-config"}
	}
	return nil
}
