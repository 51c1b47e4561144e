// Package play lets a person talk with a model that calls the tools of a run's servers: each call waits for the person,
// a trajectory that was kept can be gone on from at any of its turns, and what comes of it is kept as an episode of a
// run of its own, which is curated as any other.
package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/collect"
	"hone/internal/job/episodes"
	"hone/internal/llm"
	"hone/internal/toolset"
)

// Phase is where a conversation stands.
type Phase string

const (
	Opening  Phase = "opening"  // the servers start
	Speaking Phase = "speaking" // the model speaks
	Asking   Phase = "asking"   // a call waits for the person
	Calling  Phase = "calling"  // calls are being made
	Waiting  Phase = "waiting"  // for the person's words
	Held     Phase = "held"     // the model failed, or made many turns: the person says whether it goes on
	Over     Phase = "over"
)

// Asked is how a conversation begins.
type Asked struct {
	Endpoint, Model, KeyEnv string  // as hone collect has them; Model may be PROVIDER/MODEL alone
	Temperature             float64 // 0 takes the likeliest token
	Text                    string  // the person's first words; behind a branch they may come later
	ReadsUnasked            bool    // calls of tools that say they only read are made without asking
	Branch                  *Branch // nil: a new conversation
}

// Branch is a trajectory that is gone on from: its first turns are taken again, and then the model speaks.
type Branch struct {
	Name     string // for the record
	Of       *trajectory.Trajectory
	Tools    []chat.Tool        // that it was shown; nil: those of a new conversation
	Scenario *scenario.Scenario // with the state that its servers begin in; nil where that is not known
	Turns    int                // how many are taken again
}

// State is a conversation as it stands. What it points to does not change.
type State struct {
	Seq          int // rises with each change
	Phase        Phase
	Asked        Asked
	Record       *trajectory.Trajectory // so far; nil before it begins
	Question     *Question              // where Phase is Asking
	Err          error                  // where it is Held, or Over by a failure
	Notes        []string
	ReadsUnasked bool
	Kept         *Kept // where it was sent to curation
}

// Question is a call that the person decides about.
type Question struct {
	Number      int    `json:"number"` // of the question
	Server      string `json:"server"`
	Tool        string `json:"tool"`             // the server's own name of it
	Arguments   string `json:"arguments"`        // as the model wrote them
	ReadOnly    bool   `json:"read_only"`        // the tool says that it only reads
	Destructive bool   `json:"destructive"`      // the tool says that it destroys
	Before      string `json:"before,omitempty"` // why the call is not the model's, "" where it is
}

// answer is what the person says to what is waited for.
type answer struct {
	text string
	yes  bool
}

// Talk is one conversation. Its methods may be called from many goroutines.
type Talk struct {
	job   *job.Job // whose run is begun once the conversation is kept
	from  toolset.Source
	asked Asked
	stop  context.CancelCauseFunc
	done  chan struct{}

	mu      sync.Mutex
	state   State
	changed chan struct{} // closed with each change
	answers chan answer   // has room for the one that is waited for
	keeping sync.Mutex

	// of the goroutine that converses
	l      *episodes.Episodes
	hints  map[string]toolset.Hints // by "server/tool"
	client *llm.Client
	record *trajectory.Trajectory
	scene  scenario.Scenario
	turns  int // of the model since the person spoke
}

// errEnded is why a conversation stops that the person ends.
var errEnded = errors.New("ended by the person")

// Begin begins a conversation on the servers of a run, which are opened for it alone. j is the run that it may be kept
// in: its folder, its configuration, and what the servers' findings may hold; nothing of it is begun. The error is for
// what the person is to give otherwise; all else is told by the state.
func Begin(ctx context.Context, j *job.Job, from toolset.Source, a Asked) (*Talk, error) {
	if err := j.Config.SettleLengths(true, true, 0); err != nil { // an endpoint may think, whatever this machine is
		return nil, err
	}
	t := &Talk{job: j, from: from, asked: a, done: make(chan struct{}), changed: make(chan struct{}),
		answers: make(chan answer, 1)}
	policy, err := t.policy()
	if err == nil && (a.Branch == nil || a.Text != "") {
		err = checkWords(a.Text)
	}
	if err != nil {
		return nil, err
	}
	ctx, t.stop = context.WithCancelCause(ctx)
	t.state = State{Phase: Opening, Asked: a, ReadsUnasked: a.ReadsUnasked, Notes: t.state.Notes}
	go func() {
		defer close(t.done)
		err := t.open(ctx)
		if err == nil {
			err = t.converse(ctx, policy)
		}
		if errors.Is(context.Cause(ctx), errEnded) {
			err = nil
		}
		t.change(func(s *State) { s.Phase, s.Err, s.Question = Over, err, nil })
	}()
	return t, nil
}

// policy is the model that speaks.
func (t *Talk) policy() (rollout.Policy, error) {
	a, c := t.asked, t.job.Config
	named := config.NamedModel{URL: a.Endpoint, Model: a.Model, KeyEnv: a.KeyEnv}
	if known, is := c.ModelOf(a.Model); is && a.Endpoint == "" {
		named = known
	}
	if named.URL == "" || named.Model == "" {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "name the model that is to speak",
			Next: "give an endpoint, such as http://127.0.0.1:8000/v1 of hone serve, and a model of it; " +
				"or PROVIDER/MODEL alone"}
	}
	key, set := t.job.LookupEnv(named.KeyEnv)
	if named.KeyEnv != "" && !set {
		t.state.Notes = append(t.state.Notes, named.KeyEnv+" is not set where hone view runs, so no key is sent.")
	}
	client, err := llm.New(llm.Options{BaseURL: named.URL, API: named.API, Key: llm.Secret(key), MaxRetries: 1})
	t.client = client
	return said{llm.Policy{Client: client, Model: named.Model}, t}, err
}

// open opens the servers, and puts the person before their tools.
func (t *Talk) open(ctx context.Context) error {
	j := t.job
	servers, err := toolset.LoadServers(j.Host, j.Config, t.from)
	if err != nil {
		return err
	}
	set, err := toolset.Connect(ctx, j.Host, j.Config, servers, "")
	if err != nil {
		return err
	}
	if t.l, err = episodes.Of(j.Host, j.Config, set); err != nil { // which closes the set
		return err
	}
	if err = toolset.RefuseFindings(j.Host, j.Config.MCP, t.l.Catalog.LintTools(), j.Kept.AllowFindings); err != nil {
		return err
	}
	t.hints = map[string]toolset.Hints{}
	for _, s := range t.l.Catalog.Servers {
		for _, tool := range s.Tools {
			t.hints[s.Name+"/"+tool.Name] = toolset.HintsOf(tool.Annotations)
		}
	}
	gate, err := t.l.PersonGate(j.Config.MCP.Approval, t)
	if err != nil {
		return err
	}
	t.l.Tools = setUpAsked{gate.Wrap(t.l.Tools, nil), gate}
	t.l.Select(j.Config)
	if err := t.l.Under(j.Host, j.Config); err != nil {
		return err
	}
	if err := t.l.Runnable(j.Config, nil); err != nil {
		return err
	}
	t.l.World.User, t.l.World.MaxWork = t, 0 // the person bounds a conversation
	t.l.World.MaxTurns, t.l.World.MaxToolCalls, t.l.World.MaxMalformed = unbounded, unbounded, unbounded
	t.l.Options = rollout.Options{MaxTokens: j.Config.Rollout.MaxTokens, Seed: j.Config.Seed,
		Name: func(id string, _, _ int) string { return id }}
	return t.takeBranch()
}

// unbounded is more turns or calls than a person waits for.
const unbounded = 1 << 30

// converse has the episode run. Its error is for what the person is told beside its end.
func (t *Talk) converse(ctx context.Context, p rollout.Policy) error {
	record, err := t.l.Runner(p, t.asked.Temperature).Episode(ctx, t.scene, 0, 0, 0)
	t.record = record
	t.change(func(s *State) { s.Record = record })
	if err == nil && record.Outcome != trajectory.OK {
		err = &fault.Error{
			Code: fault.CodeUnavailable,
			What: "the conversation broke off: " + string(record.StopReason),
			Why:  record.Error,
			Next: trajectory.Mending(record.Error, "begin again; what was answered before can be sent to curation"),
		}
	}
	return err
}

// change makes a change and tells whoever waits for one.
func (t *Talk) change(how func(s *State)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	how(&t.state)
	t.wake()
}

func (t *Talk) wake() {
	t.state.Seq++
	close(t.changed)
	t.changed = make(chan struct{})
}

// show says in which phase the conversation is, with what there is of it; more is what else is to be known then.
func (t *Talk) show(p Phase, more func(s *State)) {
	record := copyOf(t.record)
	t.change(func(s *State) {
		if s.Phase, s.Record = p, record; more != nil {
			more(s)
		}
	})
}

// copyOf is a record that stays as it is when the episode goes on; nil where it has not begun.
func copyOf(record *trajectory.Trajectory) *trajectory.Trajectory {
	if record == nil {
		return nil
	}
	out := *record
	out.Messages, out.Turns = slices.Clone(record.Messages), slices.Clone(record.Turns)
	if record.User != nil { // whose counts grow
		user := *record.User
		out.User = &user
	}
	return &out
}

// await shows a phase and waits for the person in it.
func (t *Talk) await(ctx context.Context, p Phase, more func(s *State)) (answer, error) {
	t.show(p, more)
	select {
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case a := <-t.answers:
		return a, nil
	}
}

// State is how the conversation stands, and a channel that is closed when that changes.
func (t *Talk) State() (State, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state, t.changed
}

// answer gives what is waited for in a phase; then says which phase follows. A second answer finds that nothing waits.
func (t *Talk) answer(p, then Phase, number int, a answer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.Phase != p || p == Asking && (t.state.Question == nil || t.state.Question.Number != number) {
		return &fault.Error{Code: fault.CodeUsage, What: "nothing waits for that now",
			Why: "the conversation has gone on since", Next: "look at what it waits for"}
	}
	t.state.Phase, t.state.Question, t.state.Err = then, nil, nil
	t.answers <- a
	t.wake()
	return nil
}

// checkWords refuses words that nobody could say again.
func checkWords(text string) error {
	if strings.TrimSpace(text) == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "nothing is said", Next: "write what the model is told"}
	}
	for _, end := range scenario.EndTokens() {
		if strings.Contains(text, end) {
			return &fault.Error{Code: fault.CodeUsage, What: "a message cannot hold " + end,
				Why: "by it simulated users end conversations", Next: "say it otherwise"}
		}
	}
	return nil
}

// Say is what the person says next.
func (t *Talk) Say(text string) error {
	if err := checkWords(text); err != nil {
		return err
	}
	return t.answer(Waiting, Speaking, 0, answer{text: text})
}

// Decide answers the question of a number.
func (t *Talk) Decide(number int, yes bool) error {
	return t.answer(Asking, Calling, number, answer{yes: yes})
}

// GoOn lets the model be asked again.
func (t *Talk) GoOn() error { return t.answer(Held, Speaking, 0, answer{yes: true}) }

// AskReads says whether calls of tools that say they only read wait for the person, from the next question on.
func (t *Talk) AskReads(ask bool) { t.change(func(s *State) { s.ReadsUnasked = !ask }) }

// End ends the conversation, wherever it is.
func (t *Talk) End() {
	if t.answer(Waiting, Over, 0, answer{}) != nil {
		t.stop(errEnded)
	}
	<-t.done
}

// Close ends it, and its servers. Who waits for a change is told.
func (t *Talk) Close() {
	t.End()
	defer t.change(func(*State) {})
	t.keeping.Lock()
	defer t.keeping.Unlock()
	if t.l != nil {
		t.l.Close()
		t.l = nil
	}
}

// Kept is where a conversation was kept.
type Kept struct {
	Path  string // of the run
	Name  string // of the episode
	Trace string // as curation names it
}

// Keep ends the conversation and writes it into a run of hone collect beside that of its servers, as one more episode.
func (t *Talk) Keep(ctx context.Context) (Kept, error) {
	t.End()
	t.keeping.Lock()
	defer t.keeping.Unlock()
	s, _ := t.State()
	if s.Kept != nil {
		return *s.Kept, nil
	}
	nothing := &fault.Error{Code: fault.CodeUsage, What: "there is nothing to curate",
		Why: "the model has given no whole answer", Next: "begin again"}
	if t.l == nil || t.record == nil {
		return Kept{}, nothing
	}
	record := copyOf(t.record)
	if !collect.Settle(record) || t.asked.Branch != nil && len(record.Turns) <= t.asked.Branch.Turns {
		return Kept{}, nothing
	}
	j := *t.job
	j.Path = folderFor(t.job.Path, t.l.Catalog.Hash)
	defer func() { j.Close() }()
	if err := j.BeginOrGoOn(t.l.Set); err != nil {
		return Kept{}, err
	}
	name, err := collect.KeepTalk(ctx, &j, t.l, t.scene, record)
	if err == nil {
		err = collect.FinishTalks(&j)
	}
	if err != nil {
		return Kept{}, err
	}
	kept := Kept{j.Path, name, record.ID}
	t.change(func(s *State) { s.Kept = &kept })
	return kept, nil
}

// said is a policy whose words the person hears.
type said struct {
	rollout.Policy
	talk *Talk
}

// Speaker implements rollout.Policy.
func (p said) Speaker(a rollout.Attempt) rollout.Speaker {
	return &speaker{p.Policy.Speaker(a), p.talk}
}

// note puts a line beside the conversation, once.
func (t *Talk) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	t.change(func(s *State) {
		if !slices.Contains(s.Notes, line) {
			s.Notes = append(slices.Clone(s.Notes), line)
		}
	})
}

// name is what the record has the model as.
func (t *Talk) name() string { return cmp.Or(t.asked.Model, "model") }
