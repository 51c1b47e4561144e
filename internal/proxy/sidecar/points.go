package sidecar

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sort"
	"sync"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/proxy/revise"
)

// pointsOf executes the gold calls of scenarios on the servers, and returns each place at which one is to be made, with
// what was answered before, and the end of each, where none is. Left out, by a reason each, is what cannot be executed,
// and a call that the fixer would change: it is no target.
func pointsOf(
	ctx context.Context, servers environment.Tools, catalog *mcp.Catalog, list []scenario.Scenario, system string,
	shown, workers int, say func(done, all int),
) ([]revise.Point, map[string]int) {
	found, dropped := make([][]revise.Point, len(list)), map[string]int{}
	tools, serverOf := revise.NewTools(catalog.Tools()), job.ServerOf(catalog)
	var mutex sync.Mutex
	var wait sync.WaitGroup
	turns, done := make(chan struct{}, max(1, workers)), 0
	for i := range list {
		if len(list[i].Gold) == 0 && !wantsWords(&list[i]) || ctx.Err() != nil {
			continue
		}
		turns <- struct{}{}
		wait.Go(func() {
			points, why := playGold(ctx, servers, &list[i], system)
			<-turns
			mutex.Lock()
			defer mutex.Unlock()
			for _, p := range points {
				p.Server = serverOf(lastCall(&p, catalog))
				p.Tools = toolsFor(p, catalog, serverOf, shown)
				offered, err := tools.Of(p.Tools)
				if err != nil || !revise.NewFixer(offered).Fix(chat.Message{ToolCalls: p.GoldCalls()}).Valid() {
					dropped["the gold call does not fit the tool's schema"]++
					continue
				}
				found[i] = append(found[i], p)
			}
			if why != "" {
				dropped[why]++
			}
			done++
			say(done, len(list))
		})
	}
	wait.Wait()
	return slices.Concat(found...), dropped
}

// playGold plays one scenario's gold calls.
func playGold(
	ctx context.Context, servers environment.Tools, s *scenario.Scenario, system string,
) (points []revise.Point, why string) {
	if s.User != nil {
		return nil, "a simulated user speaks in it"
	}
	session, err := servers.Open(ctx, "gold/"+s.ID, environment.TemplatesOf(s.Template)...)
	if err != nil {
		return nil, "the servers could not be opened"
	}
	defer func() { _ = session.Close() }() // what it answered is kept
	for _, c := range s.SetupCalls() {
		if r := session.Probe(ctx, c); r.Status != trajectory.CallOK {
			return nil, "the setup failed"
		}
	}
	messages := environment.Opening(system, *s)
	for turn, g := range s.Gold {
		call := g.Call()
		call.ID = fmt.Sprintf("call_%d", turn)
		r := session.Call(ctx, []chat.ToolCall{call})[0]
		if r.Status != trajectory.CallOK && r.Status != trajectory.CallToolError {
			return points, "a gold call was not answered: " + string(r.Status)
		}
		points = append(points, revise.Point{
			ID:       fmt.Sprintf("%s#%d", s.ID, turn),
			Scenario: s.ID,
			Split:    s.Split,
			Template: s.Template,
			Setup:    s.Setup,
			Messages: slices.Clone(messages),
			Gold:     []scenario.Gold{g},
			Later:    slices.Clone(s.Gold[turn+1:]),
			Answered: string(r.Status),
		})
		messages = append(messages, chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}},
			chat.Message{Role: chat.ToolRole, ToolCallID: call.ID, Name: call.Name, Content: r.Text})
	}
	return append(points, revise.Point{
		ID:       s.ID + "#end",
		Scenario: s.ID,
		Split:    s.Split,
		Template: s.Template,
		Setup:    s.Setup,
		Messages: messages,
		Gold:     []scenario.Gold{},
		Answered: string(trajectory.CallOK),
	}), ""
}

// wantsWords reports whether a scenario is one in which no tool is to be called at all.
func wantsWords(s *scenario.Scenario) bool {
	return slices.ContainsFunc(s.Checks, func(c scenario.Check) bool {
		return c.Type == scenario.NoCallCheck && c.Name == ""
	})
}

// lastCall is the tool that is to be called at a point, or at the end of a scenario the one that was called last; where
// none was, one that the scenario's name draws.
func lastCall(p *revise.Point, catalog *mcp.Catalog) string {
	if !p.IsEnd() {
		return p.Gold[0].Name
	}
	for _, m := range slices.Backward(p.Messages) {
		if len(m.ToolCalls) > 0 {
			return m.ToolCalls[0].Name
		}
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.Scenario)) // a hash does not fail
	if all := catalog.Tools(); len(all) > 0 {
		return all[h.Sum64()%uint64(len(all))].Name
	}
	return ""
}

// toolsFor are the tools of a point: those of its gold calls, and others of the same server, then of all, drawn by the
// scenario's name; in the order of the catalog.
func toolsFor(p revise.Point, catalog *mcp.Catalog, serverOf func(string) string, shown int) (names []string) {
	needed := map[string]bool{}
	for _, g := range slices.Concat(p.Gold, p.Later) {
		needed[g.Name] = true
	}
	for _, m := range p.Messages {
		for _, c := range m.ToolCalls {
			needed[c.Name] = true
		}
	}
	all := catalog.Tools()
	order := slices.Clone(all)
	rank := func(t chat.Tool) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.Scenario + "\x00" + t.Name)) // a hash does not fail
		x := h.Sum64() >> 1
		if serverOf(t.Name) != p.Server {
			x |= 1 << 63
		}
		return x
	}
	sort.Slice(order, func(i, j int) bool { return rank(order[i]) < rank(order[j]) })
	for _, t := range order {
		if len(needed) >= shown && shown > 0 {
			break
		}
		needed[t.Name] = true
	}
	for _, t := range all {
		if needed[t.Name] {
			names = append(names, t.Name)
		}
	}
	return names
}
