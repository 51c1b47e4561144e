package sidecar

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/mcp/scan"
	"hone/internal/proxy/revise"
	"hone/internal/toolset"
)

// EvalOptions are the flags of hone sidecar eval.
type EvalOptions struct {
	Data   string
	Models []string // sidecars: adapter folders, base, or endpoints
	Split  string
	Alone  bool // the sidecars answering without the draft, too
	// upstreams that are told of a draft's faults and answer once more: SOURCE=MODEL, or MODEL where it is called so
	Hints      []string
	Outputs    []string       // NAME=FILE: what another product made of the rows
	Confidence float64        // of all sidecars; negative: each one's own
	Limit      int            // rows; 0: all
	Timed      int            // rows that are asked one by one, to see what a sidecar adds to an answer's time
	Out        string         // file of the report
	Servers    toolset.Source // on which the calls of all systems are made; none: they are not made

	AllowFindings scan.Allowed
}

// Systems that need no model.
const (
	Nothing    = "nothing" // the draft goes on as it is
	FixerAlone = "fixer"
)

// outcome is what a system makes of a row.
type outcome struct {
	calls   []chat.ToolCall
	verdict revise.Verdict
	asked   bool
	prompt  int // tokens that it read and wrote beyond the upstream's
	written int
	gives   bool // it says something of this row; a retry of another upstream does not
	spoilt  bool // it is no answer: half a call, or cut off
	gold    bool // its calls are the gold ones
}

// evaluation is one in its environment.
type evaluation struct {
	*host.Host
	c      config.Config
	o      EvalOptions
	d      data
	rows   []revise.Row
	fixers *fixers
	of     map[string][]outcome // by system
	names  []string             // in order
	timed  map[string][]float64 // seconds of single requests

	executed *executions // nil: there are no servers
}

// Eval measures sidecars on a split of a data folder, and writes the report.
func Eval(ctx context.Context, h *host.Host, c config.Config, o EvalOptions) (*Report, error) {
	d, err := readData(o.Data)
	if err == nil {
		err = toolset.RefuseFindings(h, c.MCP, d.catalog.LintTools(), o.AllowFindings)
	}
	if err != nil {
		return nil, err
	}
	e := &evaluation{Host: h, c: c, o: o, d: d, rows: revise.OfSplit(d.rows, o.Split), fixers: fixersOf(d.catalog),
		of: map[string][]outcome{}, timed: map[string][]float64{}}
	if o.Limit > 0 {
		e.rows = spread(e.rows, o.Limit)
	}
	if len(e.rows) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no row is in the split " + o.Split, Where: o.Data,
			Next: "name another with --split"}
	}
	e.rules(Nothing, func(r *revise.Row) outcome {
		return outcome{calls: r.Draft.ToolCalls, verdict: revise.Original, gives: true}
	})
	e.rules(FixerAlone, func(r *revise.Row) outcome {
		return e.outcomeOf(revise.Sidecar{Defaults: e.fixers.defaults}, r, nil)
	})
	if err := e.outputs(); err != nil {
		return nil, err
	}
	servers, err := e.servers(ctx)
	if err != nil {
		return nil, err
	}
	if servers != nil {
		defer servers.Close()
	}
	if err := e.answer(ctx); err != nil {
		return nil, err
	}
	if err := e.execute(ctx, servers); err != nil {
		return nil, err
	}
	report := e.report()
	if doubt := report.Doubt(); doubt != "" && !h.JSON {
		h.Say("%s", doubt)
	}
	if err := report.save(o); err != nil {
		return nil, err
	}
	return report, e.saveCalls()
}

// rules adds a system that is computed row by row.
func (e *evaluation) rules(name string, of func(*revise.Row) outcome) {
	out := make([]outcome, len(e.rows))
	for i := range e.rows {
		out[i] = of(&e.rows[i])
		out[i].gold = !out[i].spoilt && e.rows[i].IsGold(out[i].calls, e.fixers.defaults)
	}
	e.add(name, out)
}

func (e *evaluation) add(name string, out []outcome) {
	e.names, e.of[name] = append(e.names, name), out
}

// outcomeOf is what a sidecar with an answer makes of a row.
func (e *evaluation) outcomeOf(s revise.Sidecar, r *revise.Row, said *revise.Said) outcome {
	d := s.Weigh(e.fixers.of(&r.Point), r.Draft, said)
	return outcome{calls: d.Message.ToolCalls, verdict: d.Verdict, asked: d.Asked, prompt: d.PromptTokens,
		written: d.CompletionTokens, gives: true}
}

// outputs adds what other products made of the rows: lines of {"row": ID, "message": {...}, "prompt_tokens": N,
// "completion_tokens": N}.
func (e *evaluation) outputs() error {
	type line struct {
		Row              string       `json:"row"`
		Message          chat.Message `json:"message"`
		PromptTokens     int          `json:"prompt_tokens"`
		CompletionTokens int          `json:"completion_tokens"`
	}
	for _, given := range e.o.Outputs {
		name, path, ok := strings.Cut(given, "=")
		if !ok {
			return &fault.Error{Code: fault.CodeUsage, What: "an output has no name", Where: "--outputs " + given,
				Next: "write NAME=FILE"}
		}
		lines, err := readLines(path, readJSON[line])
		if err != nil {
			return err
		}
		byRow := map[string]line{}
		for _, l := range lines {
			byRow[l.Row] = l
		}
		e.rules(name, func(r *revise.Row) outcome {
			l, known := byRow[r.ID]
			return outcome{calls: l.Message.ToolCalls, asked: l.CompletionTokens > 0, prompt: l.PromptTokens,
				written: l.CompletionTokens, gives: known}
		})
	}
	return nil
}

// question is what a system is asked, and what is done with its answers.
type question struct {
	job.System
	what  string
	v     *revise.Environment
	list  []scenario.Scenario
	timed int // rows that are asked one by one first
	take  func(said map[string]*trajectory.Trajectory)
}

// answer asks all models, and adds what they make of the rows.
func (e *evaluation) answer(ctx context.Context) error {
	questions, err := e.sidecars()
	if err != nil {
		return err
	}
	hints, told, err := e.hints()
	if err != nil {
		return err
	}
	m := &models{Host: e.Host, c: e.c, catalog: e.d.catalog}
	defer m.Close()
	questions = append(questions, hints...)
	for _, q := range questions {
		if q.IsLocal() {
			m.expect(q.v, q.list)
		}
	}
	for _, q := range questions {
		if err := e.ask(ctx, m, q); err != nil {
			return err
		}
	}
	told()
	return nil
}

// sidecars ask each model as the sidecar, and to answer alone.
func (e *evaluation) sidecars() (all []question, err error) {
	if len(e.o.Models) == 0 {
		return nil, nil
	}
	systems, err := eval.SystemsOf(e.c, "", e.o.Models)
	if err != nil {
		return nil, err
	}
	for _, s := range systems {
		q, err := e.revising(s)
		if err != nil {
			return nil, err
		}
		if all = append(all, q); !e.o.Alone {
			continue
		}
		if q, err = e.alone(s); err != nil {
			return nil, err
		}
		all = append(all, q)
	}
	return all, nil
}

// question is one about rows.
func (e *evaluation) question(s job.System, what string, rows []revise.Row, drafts bool) (question, error) {
	v := e.d.environment(rows)
	v.Drafts = drafts
	list, err := v.Scenarios(rows)
	return question{System: s, what: what, v: v, list: list}, err
}

// revising asks a sidecar.
func (e *evaluation) revising(s job.System) (question, error) {
	rule := revise.Rule{Confidence: 1, NoCall: 1}
	if s.Adapter != "" {
		var err error
		if rule, err = revise.ReadRule(s.Adapter); err != nil {
			return question{}, err
		}
		if rule.Unknown {
			e.Say("note: %s", revise.UnknownPrompt(s.Adapter))
		}
	}
	if e.o.Confidence >= 0 {
		rule = revise.Rule{Confidence: e.o.Confidence, NoCall: e.o.Confidence}
	}
	q, err := e.question(s, s.Name, e.rows, true)
	q.timed = e.o.Timed
	q.take = func(said map[string]*trajectory.Trajectory) {
		e.rules(s.Name, func(r *revise.Row) outcome {
			return e.outcomeOf(revise.Sidecar{Rule: rule, Defaults: e.fixers.defaults}, r, replyOf(said[r.ID]))
		})
	}
	return q, err
}

// alone asks a sidecar without the drafts: once at each point, whatever was drafted there.
func (e *evaluation) alone(s job.System) (question, error) {
	var points []revise.Row
	seen := map[string]bool{}
	for _, r := range e.rows {
		if !seen[r.Point.ID] {
			seen[r.Point.ID] = true
			points = append(points, revise.Row{Point: r.Point, ID: r.Point.ID})
		}
	}
	q, err := e.question(s, s.Name+" alone", points, false)
	q.take = func(said map[string]*trajectory.Trajectory) {
		e.rules(s.Name+"_alone", func(r *revise.Row) outcome {
			x := replyOf(said[r.Point.ID])
			if x == nil {
				return outcome{}
			}
			fixed := e.fixers.of(&r.Point).Fix(x.Message)
			return outcome{calls: fixed.Message.ToolCalls, spoilt: r.IsEnd() && (!fixed.Valid() || !x.Whole),
				asked: true, prompt: x.PromptTokens, written: x.CompletionTokens, gives: true}
		})
	}
	return q, err
}

// ask has a system answer a question, some of its rows one by one first.
func (e *evaluation) ask(ctx context.Context, m *models, q question) error {
	model, err := m.speaker(ctx, q.System)
	if err != nil {
		return err
	}
	runner := rollout.New(rollout.Options{Environment: q.v, Policy: model.policy, MaxTokens: model.c.Rollout.MaxTokens,
		Seed: e.c.Seed})
	for i, one := range spread(q.list, q.timed) {
		t, err := runner.Episode(ctx, one, 0, 0, 0)
		if err != nil {
			return err
		}
		if i >= min(4, q.timed/2) && len(t.Turns) > 0 { // the first ones compile
			e.timed[q.Name] = append(e.timed[q.Name], t.Turns[0].SampleSeconds)
		}
	}
	said, err := answers(ctx, e.Host, model.c, q.what, q.v, model.policy, q.list, 0)
	if err != nil {
		return err
	}
	q.take(said)
	return nil
}

// hints ask the upstreams themselves, told once of what is wrong with their drafts; told adds what they make of the
// rows.
func (e *evaluation) hints() (all []question, told func(), err error) {
	if len(e.o.Hints) == 0 {
		return nil, func() {}, nil
	}
	byRow := map[string]*trajectory.Trajectory{}
	theirs := map[string]bool{}
	for _, given := range e.o.Hints {
		source, model, named := strings.Cut(given, "=")
		if !named {
			source, model = given, given
		}
		systems, err := eval.SystemsOf(e.c, "", []string{model})
		if err != nil {
			return nil, nil, err
		}
		var asked []revise.Row
		for _, r := range e.rows {
			if r.Source != source {
				continue
			}
			theirs[r.ID] = true
			if fixed := e.fixers.of(&r.Point).Fix(r.Draft); !fixed.Valid() {
				r.Messages = append(append(slices.Clone(r.Messages), readable(fixed.Message)), revise.Hint(fixed))
				asked = append(asked, r)
			}
		}
		if len(asked) == 0 {
			continue
		}
		q, err := e.question(systems[0], source+" with hints", asked, false)
		if err != nil {
			return nil, nil, err
		}
		q.take = func(said map[string]*trajectory.Trajectory) { maps.Copy(byRow, said) }
		all = append(all, q)
	}
	return all, func() {
		e.rules("hints", func(r *revise.Row) outcome {
			out := e.outcomeOf(revise.Sidecar{Defaults: e.fixers.defaults}, r, nil)
			out.gives = theirs[r.ID]
			x := replyOf(byRow[r.ID])
			if x == nil {
				return out
			}
			out.asked, out.prompt, out.written = true, x.PromptTokens, x.CompletionTokens
			if again := e.fixers.of(&r.Point).Fix(x.Message); again.Valid() && len(again.Message.ToolCalls) > 0 {
				out.calls, out.verdict = again.Message.ToolCalls, revise.Revised
			}
			return out
		})
	}, nil
}

// readable is a draft as an assistant message that any chat template can write: calls that are no JSON stand as text.
func readable(m chat.Message) chat.Message {
	return chat.Message{Role: chat.Assistant, Content: revise.DraftText(m)}
}

// trainingSources are the sources and servers of what was learnt from.
func (e *evaluation) trainingSources() (sources, servers map[string]bool) {
	sources, servers = map[string]bool{}, map[string]bool{}
	for _, r := range e.d.rows {
		if r.Split == scenario.Train {
			sources[r.Source], servers[r.Server] = true, true
		}
	}
	return sources, servers
}

// where is the file of the report, beside the data where none is named.
func (o EvalOptions) where() string {
	if o.Out != "" {
		return o.Out
	}
	return filepath.Join(o.Data, fmt.Sprintf("eval_%s.json", o.Split))
}
