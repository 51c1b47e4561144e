package sidecar

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval"
	"hone/internal/job"
	"hone/internal/proxy/revise"
)

// Corrupted is the source of drafts that no model wrote.
const Corrupted = "corrupt"

// answering are models that the maker asks.
func (m *maker) answering() *models {
	return &models{Host: m.Host, c: m.c, catalog: m.catalog, budget: m.budget}
}

// drafts has the upstreams draft, one after the other.
func (m *maker) drafts(ctx context.Context, systems []job.System) error {
	upstreams := m.answering()
	defer upstreams.Close()
	v, list, err := m.environmentWithoutDrafts(rowsAt(m.points))
	if err != nil {
		return err
	}
	upstreams.expect(v, list)
	for _, s := range systems {
		if err := m.draft(ctx, upstreams, s); err != nil {
			return err
		}
	}
	return nil
}

// rowsAt are rows without drafts.
func rowsAt(points []revise.Point) (rows []revise.Row) {
	for _, p := range points {
		rows = append(rows, revise.Row{Point: p, ID: p.ID})
	}
	return rows
}

// environmentWithoutDrafts is the environment of rows without drafts.
func (m *maker) environmentWithoutDrafts(rows []revise.Row) (*revise.Environment, []scenario.Scenario, error) {
	v := data{catalog: m.catalog}.environment(rows)
	list, err := v.Scenarios(rows)
	return v, list, err
}

// draft has one upstream draft at its points, at each temperature.
func (m *maker) draft(ctx context.Context, upstreams *models, s job.System) error {
	asked := rowsAt(m.pointsFor(s.Name))
	if len(asked) == 0 {
		return nil
	}
	v, list, err := m.environmentWithoutDrafts(asked)
	if err != nil {
		return err
	}
	upstream, err := upstreams.speaker(ctx, s)
	if err != nil {
		return err
	}
	for _, temperature := range m.x.Temperatures {
		said, err := answers(ctx, m.Host, upstream.c, fmt.Sprintf("%s at %g", s.Name, temperature), v, upstream.policy,
			list, temperature)
		if err != nil {
			return err
		}
		for _, a := range asked {
			t := said[a.ID]
			if t == nil || !t.Outcome.Trainable() {
				continue
			}
			r := m.row(a.Point, s.Name, fmt.Sprintf("%s@%g", s.Name, temperature), revise.Output(t))
			if r.IsEnd() && !r.Right {
				m.stats.Ends++ // a sidecar cannot write the answer that is missing
				continue
			}
			m.rows = append(m.rows, r)
		}
	}
	upstream.say()
	return nil
}

// row is a draft with what can be said of it without a server.
func (m *maker) row(p revise.Point, source, by string, draft chat.Message) revise.Row {
	r := revise.Row{Point: p, ID: p.ID + "/" + by, Source: source, Draft: draft}
	fixer := m.fixer(&r.Point)
	r.Kinds = revise.Kinds(draft, &r.Point, fixer, m.fixers.defaults)
	r.Right = len(r.Kinds) == 0
	return r
}

// closings is how many closing texts of an end are tried.
const closings = 8

// corrupt adds drafts with errors as the upstreams make them, fitted on the training split, and one right draft at each
// point: a sidecar that never sees such learns to change everything.
func (m *maker) corrupt() {
	m.stats.Corruption = revise.Fit(revise.OfSplit(m.rows, scenario.Train))
	if m.x.Corrupt == 0 {
		return
	}
	seed := func(p *revise.Point, i int) uint64 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d/%s/%d", m.c.Seed, p.ID, i) // a hash does not fail
		return h.Sum64()
	}
	for _, p := range m.pointsFor(Corrupted) {
		if p.IsEnd() {
			for i := range closings { // a result may be what a call looks like
				if r := m.row(p, Corrupted, Corrupted+"@right", revise.Closing(&p, seed(&p, i))); r.Right &&
					r.Draft.Content != "" {
					m.rows = append(m.rows, r)
					break
				}
			}
			continue
		}
		for i := range m.x.Corrupt {
			if d, ok := m.stats.Corruption.Draft(&p, m.fixer(&p), seed(&p, i)); ok {
				m.rows = append(m.rows, m.row(p, Corrupted, fmt.Sprintf("%s@%d", Corrupted, i), d))
			}
		}
		gold := chat.Message{Role: chat.Assistant, ToolCalls: p.GoldCalls()}
		m.rows = append(m.rows, m.row(p, Corrupted, Corrupted+"@right", gold))
	}
}

// judge notes what became of the drafts' calls on the servers. Equal calls at a point are made once.
func (m *maker) judge(ctx context.Context) {
	known, by, calls := map[string]string{}, map[string][]*revise.Row{}, map[string][]chat.ToolCall{}
	for i := range m.rows {
		r := &m.rows[i]
		fixed := m.fixer(&r.Point).Fix(r.Draft)
		switch {
		case len(fixed.Message.ToolCalls) == 0:
		case r.IsGold(fixed.Message.ToolCalls, m.fixers.defaults):
			r.Executed = r.Answered
		case !fixed.Valid():
			r.Executed = string(trajectory.CallInvalid)
		case m.servers != nil:
			key := r.Point.ID + "\n" + revise.DraftText(fixed.Message)
			by[key], calls[key] = append(by[key], r), fixed.Message.ToolCalls
		}
	}
	turns := make(chan struct{}, m.x.Workers)
	var wait sync.WaitGroup
	var mutex sync.Mutex
	done, progress := 0, m.Progress(m.x.Workers)
	for key, rows := range by {
		turns <- struct{}{}
		wait.Go(func() {
			results, err := revise.Execute(ctx, m.servers, "draft/"+rows[0].ID, &rows[0].Point, calls[key])
			<-turns
			mutex.Lock()
			defer mutex.Unlock()
			done++
			progress("executing drafts", done, len(by), "")
			if err == nil {
				known[key] = worst(results)
			}
		})
	}
	wait.Wait()
	for key, rows := range by {
		for _, r := range rows {
			r.Executed = known[key]
		}
	}
}

// worst is the status of the first call that went wrong, else ok.
func worst(results []trajectory.ToolResult) string {
	i := slices.IndexFunc(results, func(r trajectory.ToolResult) bool { return r.Status != trajectory.CallOK })
	if i < 0 {
		return string(trajectory.CallOK)
	}
	return string(results[i].Status)
}

// revise asks the stronger model for the targets of training rows that are not right. An answer counts where it is
// right.
func (m *maker) revise(ctx context.Context) error {
	if m.x.Reviser == "" {
		return nil
	}
	systems, err := eval.SystemsOf(m.c, "", []string{m.x.Reviser})
	if err != nil {
		return err
	}
	var asked []revise.Row
	at := map[string]int{}
	for i, r := range m.rows {
		if r.Split == scenario.Train && !r.Right {
			asked = append(asked, r)
			at[r.ID] = i
		}
	}
	if len(asked) == 0 {
		return nil
	}
	v := data{catalog: m.catalog}.environment(asked)
	v.Drafts = true
	list, err := v.Scenarios(asked)
	if err != nil {
		return err
	}
	models := m.answering()
	defer models.Close()
	models.expect(v, list)
	reviser, err := models.speaker(ctx, systems[0])
	if err != nil {
		return err
	}
	said, err := answers(ctx, m.Host, reviser.c, "targets", v, reviser.policy, list, 0)
	if err != nil {
		return err
	}
	for id, t := range said {
		r := &m.rows[at[id]]
		fixed := m.fixer(&r.Point).Fix(revise.Output(t)).Message
		if t.Outcome.Trainable() && r.IsGold(fixed.ToolCalls, m.fixers.defaults) {
			fixed.Content = ""
			r.Target = &fixed
		}
	}
	reviser.say()
	return nil
}
