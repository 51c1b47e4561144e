// Package generate makes scenarios from nothing but servers: it looks at what they hold, drafts calls from schemas and
// live values, makes every call on a copy of its own, and words a task for those that proved good. Templates word it,
// or a teacher: a model that also thinks of tasks.
//
// What the servers answered is in the Ledger, and what models answered is kept by whoever asks them. All else is a
// function of that, of the tools and of the seed. So a stopped synthesis goes on where it was, and gives what it would
// have given.
//
// The stages are those of PROVE (arXiv 2606.03892: dependency graph, sampled live state, replay) and of MCP-Flow
// (arXiv 2510.24284: slots filled with real values), with each call executed.
package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"hone/internal/chat"
	"hone/internal/data/kinds"
	"hone/internal/episode/checktest"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// Tool is a tool that tasks are made for.
type Tool struct {
	chat.Tool
	Server   string
	SHA256   string // of the catalog, over all that its server says of it
	ReadOnly bool   // its server says that it changes nothing
	// Safe says that a call stays in a copy of the server which is the session's own. Of other tools only those are
	// called that say they change nothing.
	Safe bool
	// Shared says that its server has no such copy: what a call changes there stays.
	Shared bool
}

// Options of a synthesis.
type Options struct {
	N         int        // scenarios wanted
	Seed      uint64     // of every draw
	SplitBy   string     // Task, ByTool or ByServer
	Abstain   float64    // share of scenarios that are to be answered without a call [0.2]
	Several   float64    // share of scenarios with several calls [0.4]
	Asked     float64    // share of programs over what a server lists, where it lists anything [0.8]; negative: none
	Workers   int        // sessions at once [4]
	MaxResult int        // bytes of a result that a run shows: of a longer one it cuts the middle out [all]
	Version   string     // of the program, for the provenance
	Kinds     *kinds.Set // of a user's file; nil: none
	Trial     checktest.Trial
	Models
	Reference     Reference // runs what was made; nil: nobody does
	ReferenceRuns int       // of each scenario [4]
	KeepUnsolved  bool      // also scenarios that the reference never passes
	// Progress is told how many of a stage's sessions or rows are done.
	Progress func(stage string, done, total int, note string)

	drawnAlone bool // no task that somebody wrote: for tests of what is drawn
}

// What a split keeps apart: tasks that share a call, tools, or servers.
const (
	ByTask   = "task"
	ByTool   = "tool"
	ByServer = "server"
)

// Kinds of candidates.
const (
	single      = "single"       // one call
	chain       = "chain"        // the second call takes a value of the first one's result
	readBack    = "read_back"    // a call that changes something, and one that sees it
	pair        = "pair"         // two calls that have nothing to do with each other
	recovery    = "recovery"     // a call that is refused, then one that is not
	noTool      = "no_tool"      // nothing is to be called
	missingTool = "missing_tool" // what is asked for, no tool does
	askBack     = "ask_back"     // a required value is missing: the answer is a question
)

// Call is a gold call of a candidate. Fed names the argument that took a value of the result before, and Field what
// that result calls it; both are empty where nothing is taken. Where the value stands inside a longer text, Within is
// that text with hole in its place.
type Call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Fed       string          `json:"fed,omitempty"`
	Field     string          `json:"field,omitempty"`
	Within    string          `json:"within,omitempty"`
	// how a call goes wrong that is shown and not learnt; "": it is none
	Slip string `json:"slip,omitempty"`
	// how somebody comes to it who has read the results before; no part of what is played
	Why string `json:"-"`
}

func (c Call) gold() scenario.Gold {
	return scenario.Gold{Name: c.Tool, Arguments: c.Arguments, Reasoning: c.Why}
}

func (c Call) key() string { return c.Tool + string(c.Arguments) }

// Candidate is the record that goes through the stages.
type Candidate struct {
	Kind    string
	Variant int // of several wordings of one call
	World   int // index of what its session begins with
	Calls   []Call
	Checks  []scenario.Check
	Answer  answer
	Subject string            // of those without calls: what is asked
	Proof   []string          // names of the plays in the ledger that proved it
	Why     string            // it was dropped for; "" while it is not
	Fell    string            // the stage at which
	own     *own              // nil: it is not of a kind of the user's
	program *programs.Program // nil: the task says its own call
	shelf   *shelf            // in which the program takes place
	noted   *noted            // shows a change that no look shows; nil: there is none
	told    *told             // a program as it is worded; nil where the task is of none

	Task     string            // once it is worded
	Taught   bool              // the teacher thought of it
	Split    string            // once it has one
	Teacher  string            // who worded it; "" for templates
	Prompts  map[string]string // that had a hand in it, by name; their hashes
	Quality  float64           // the judge's score, 0 to 10; 0 where there is none
	Runs     int               // of a reference
	PassRate float64           // of these
}

func (c *Candidate) abstains() bool {
	return c.Kind == noTool || c.Kind == missingTool || c.Kind == askBack
}

func (c *Candidate) drop(format string, args ...any) { c.Why = fmt.Sprintf(format, args...) }

// Result is what a synthesis came to.
type Result struct {
	Scenarios []scenario.Scenario
	// Rejected are training tasks that fell at the execution or at a gate, each tagged fell:STAGE, to show what a
	// filter is worth. Those that fell at the execution have no checks.
	Rejected []scenario.Scenario
	Report   Report
}

// maker is a synthesis under way.
type maker struct {
	Options
	player
	tools    []*subject
	byName   map[string]*subject
	worlds   []*realm
	held     map[string]bool            // tools or servers that training does not see
	asks     map[string]map[string]bool // the tools that programs call, by the servers of which they are made
	boarded  map[string][]*boarding     // the boards of which programs are made, by server
	explored bool                       // tools of the others were tried
	asking   asking
	fallen   []draftOf      // at a gate
	stages   map[string]int // plays that were begun, by stage
	report   Report
}

// Run makes scenarios for tools whose sessions from opens. l keeps what the servers answer. The error is a server that
// is gone, or ctx's.
func Run(ctx context.Context, from environment.Tools, tools []Tool, l *Ledger, o Options) (*Result, error) {
	m := newMaker(from, tools, l, o)
	defer m.player.close()
	if err := m.wholes(ctx); err != nil {
		return nil, err
	}
	asked, err := m.programs(ctx)
	if err != nil {
		return nil, err
	}
	list, drafted, err := m.others(ctx, m.N-len(asked))
	if err != nil {
		return nil, err
	}
	list = append(asked, list...)
	out := make([]scenario.Scenario, len(list))
	for i := range list {
		list[i].finish()
		out[i] = m.inMessages(&list[i])
	}
	out = m.followUps(m.random("follow up"), out)
	m.report.Own = m.ownRows(drafted, list)
	m.report.finish(m, out)
	return &Result{Scenarios: out, Rejected: m.rejections(drafted), Report: m.report}, nil
}

// others makes n tasks of calls whose values the task says, for the tools of which no programs were made.
func (m *maker) others(ctx context.Context, n int) (list []draftOf, drafted []*Candidate, err error) {
	all := m.tools
	m.tools = slices.DeleteFunc(slices.Clone(all), func(s *subject) bool { return m.asks[s.Server][s.Name] })
	defer func() { m.tools = all }()
	if m.N = n; n <= 0 || len(m.tools) == 0 {
		return nil, nil, nil
	}
	m.explored = true
	if err := m.learnLogs(ctx); err != nil {
		return nil, nil, err
	}
	if err := m.explore(ctx); err != nil {
		return nil, nil, err
	}
	m.player.renewed = m.renew(m.worlds[0])
	d := &drafts{maker: m, seen: map[string]bool{}, count: map[string]int{}}
	if err := d.draftOwn(ctx); err != nil {
		return nil, nil, err
	}
	first := d.first()
	if m.Teacher != nil {
		taught, err := d.teach(ctx, d.numSingles())
		if err != nil {
			return nil, nil, err
		}
		first = append(taught, first...)
	}
	records, err := m.records(ctx, int(m.programShare()*float64(m.N)))
	if err != nil {
		return nil, nil, err
	}
	d.list, first = append(d.list, records...), append(first, records...)
	for round := 1; len(first) > 0; round++ {
		if err := m.prove(ctx, first); err != nil {
			return nil, nil, err
		}
		first = d.more(round)
	}
	worded, err := m.write(ctx, m.choose(d.list, m.numWanted()))
	if err != nil {
		return nil, nil, err
	}
	held, err := m.vet(ctx, worded)
	if err != nil {
		return nil, nil, err
	}
	if list, err = m.refer(ctx, held); err != nil {
		return nil, nil, err
	}
	return m.trim(list), d.list, nil
}

// newMaker knows of the tools what is said of them.
func newMaker(from environment.Tools, tools []Tool, l *Ledger, o Options) *maker {
	m := &maker{Options: o.withDefaults(), byName: map[string]*subject{}, stages: map[string]int{},
		asks: map[string]map[string]bool{}, boarded: map[string][]*boarding{}, worlds: []*realm{{}}}
	m.player = player{from: from, ledger: l, workers: m.Workers, tool: m.byName}
	for _, t := range tools {
		s := &subject{Tool: t, schema: readParam(t.InputSchema)}
		s.spell()
		s.alike()
		m.tools, m.byName[t.Name] = append(m.tools, s), s
	}
	for _, s := range m.tools {
		s.others = slices.DeleteFunc(slices.Clone(m.tools), func(o *subject) bool {
			return o == s || o.Server != s.Server
		})
	}
	return m
}

func (o Options) withDefaults() Options {
	if o.N <= 0 {
		o.N = 60
	}
	if o.SplitBy == "" {
		o.SplitBy = ByTask
	}
	if o.Abstain == 0 {
		o.Abstain = 0.2
	}
	if o.Several == 0 {
		o.Several = 0.4
	}
	if o.Asked == 0 {
		o.Asked = 0.8
	}
	if o.Workers <= 0 {
		o.Workers = 4
	}
	if o.MaxResult <= 0 {
		o.MaxResult = math.MaxInt
	}
	if o.ReferenceRuns <= 0 {
		o.ReferenceRuns = 4
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int, string) {}
	}
	return o
}

// programShare is the share of programs over what a server lists. They are about many tools, so none is held out of
// them.
func (o Options) programShare() float64 {
	if o.SplitBy != ByTask {
		return 0
	}
	return max(0, o.Asked)
}

// random is a stream of its own for each name: what one stage draws changes nothing in another.
func (o Options) random(names ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, names...) // a hash does not fail
	return rand.New(rand.NewPCG(o.Seed, h.Sum64()))
}
