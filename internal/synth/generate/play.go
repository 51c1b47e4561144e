package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"hone/internal/blob"
	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// play is a sequence of calls on a copy of the servers of its own.
type play struct {
	Setup   []Call // made before, not part of what is tried
	Calls   []Call
	Looks   []Call // made after, to see what the calls changed
	Attempt int    // the same again is another play
}

// name is what the ledger calls a play: a hash of all of it.
func (p play) name() string {
	text, _ := json.Marshal(p) // of texts and JSON
	return blob.Of(text).String()[:24]
}

// Played is what a play came to.
type Played struct {
	Results []Answered        `json:"results,omitempty"` // of the calls, as far as they were made
	Seen    []Answered        `json:"seen,omitempty"`    // of the looks
	Changed []string          `json:"changed,omitempty"` // files, as "added SERVER a.txt"
	Files   map[string]string `json:"files,omitempty"`   // what short texts among them hold now, by "SERVER a.txt"
	Lost    string            `json:"lost,omitempty"`    // why it was not played to its end
	At      int64             `json:"at"`                // when its calls began, in Unix seconds
	refused bool              // its setup is, so that no server is gone
}

// Answered is the result of one call. In its text the path of the session's own folder is dirMark.
type Answered struct {
	Status trajectory.CallStatus `json:"status"`
	Text   string                `json:"text"`
}

func (a Answered) ok() bool { return a.Status == trajectory.CallOK }

// dirMark stands in texts for the folder of the session.
const dirMark = "${HONE_EPISODE_DIR}"

// mostLost is how many plays in a row may be lost before the servers are taken to be gone.
const mostLost = 12

// player plays, each play once.
type player struct {
	from    environment.Tools
	ledger  *Ledger
	workers int
	tool    map[string]*subject
	renewed *renewed        // sessions that are used again; nil: none is
	logs    map[string]bool // files in which servers note each call: "SERVER PATH"

	mu      sync.Mutex
	lost    int // plays in a row
	commons map[string]*common
}

// common is a session for calls that change nothing, all with one setup.
type common struct {
	mu      sync.Mutex
	session environment.Session
	broken  bool
}

// all plays a list, several at once, and returns what they came to in its order.
func (p *player) all(ctx context.Context, plays []play, report func(done int)) ([]*Played, error) {
	got := make([]*Played, len(plays))
	var done atomic.Int64
	return got, atOnce(p.workers, len(plays), func(i int) (err error) {
		if got[i], err = p.play(ctx, plays[i]); err == nil {
			report(int(done.Add(1)))
		}
		return err
	})
}

// atOnce does n things, so many at once; after an error it begins none. It returns the first error by number.
func atOnce(workers, n int, do func(i int) error) error {
	errs := make([]error, n)
	slots := make(chan struct{}, workers)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		if stop.Load() {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if errs[i] = do(i); errs[i] != nil {
				stop.Store(true)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// play is what the ledger has of a play, or what it comes to now.
func (p *player) play(ctx context.Context, x play) (*Played, error) {
	key := x.name()
	if got := p.ledger.get(key); got != nil {
		return got, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var got *Played
	if p.pure(x) {
		got = p.shared(ctx, x)
	} else {
		got = p.alone(ctx, x)
	}
	if err := ctx.Err(); err != nil { // what was cut off says nothing
		return nil, err
	}
	if err := p.stillThere(got); err != nil {
		return nil, err
	}
	if got.Lost != "" { // another time it may be answered
		p.ledger.remember(key, got)
		return got, nil
	}
	return got, p.ledger.put(key, got)
}

// stillThere is an error where one play after the other was lost.
func (p *player) stillThere(got *Played) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if got.Lost == "" || got.refused {
		p.lost = 0
		return nil
	}
	if p.lost++; p.lost < mostLost {
		return nil
	}
	return &fault.Error{Code: fault.CodeUnavailable, What: "the MCP servers no longer answer", Why: got.Lost,
		Next: trajectory.Mending(got.Lost, "hone doctor") + "; then the same command goes on where it was"}
}

// alone plays in a session of its own.
func (p *player) alone(ctx context.Context, x play) *Played {
	got := &Played{At: time.Now().Unix()}
	from := p.from
	if p.renewed != nil && x.Attempt == 0 { // the play that proves has processes of its own
		from = p.renewed
	}
	session, err := p.open(ctx, from, x.Setup)
	if err != nil {
		got.Lost = err.Error()
		return got
	}
	defer func() { _ = session.Close() }() // the calls are made
	checks := p.unchangedChecks(session)
	watch, lost := environment.OpenWatch(ctx, session, checks, nil)
	got.At = time.Now().Unix() // to start a process may take a while
	if lost != nil {
		got.Lost = lost.Why
		return got
	}
	p.make(ctx, session, x.Calls, got)
	if got.Lost != "" {
		return got
	}
	t := &trajectory.Trajectory{Outcome: trajectory.OK}
	if lost := watch.End(ctx, t); lost != nil {
		got.Lost = lost.Why
		return got
	}
	for i, saw := range t.Seen {
		var changes []string
		_ = json.Unmarshal([]byte(saw.Text), &changes) // what world writes
		for _, c := range changes {
			if p.isLog(checks[i].Server, c) {
				continue
			}
			verb, path, _ := strings.Cut(c, " ")
			got.Changed = append(got.Changed, verb+" "+checks[i].Server+" "+path)
			if text, ok := shortFile(session.Dir(checks[i].Server), path); ok && len(got.Files) < mostFiles {
				if got.Files == nil {
					got.Files = map[string]string{}
				}
				got.Files[checks[i].Server+" "+path] = text
			}
		}
	}
	for _, c := range x.Looks {
		r := session.Probe(ctx, c.chat("look"))
		r.Text = r.Data() // as checks of state have it
		got.Seen = append(got.Seen, answerOf(session, r, p.server(c)))
	}
	return got
}

// mostFiles bounds how many files a play remembers.
const mostFiles = 8

// shortFile is the text of a file in a session's folder, where it is short and does not name that folder.
func shortFile(dir, path string) (string, bool) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", false
	}
	defer root.Close()
	info, err := root.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostText {
		return "", false
	}
	data, err := root.ReadFile(path)
	return string(data), err == nil && utf8.Valid(data) && !bytes.ContainsRune(data, 0) &&
		!bytes.Contains(data, []byte(dir))
}

// open opens a session in which a setup has been made.
func (p *player) open(ctx context.Context, from environment.Tools, setup []Call) (environment.Session, error) {
	session, err := from.Open(ctx, "synth")
	if err != nil {
		return nil, err
	}
	for _, c := range setup {
		if r := session.Probe(ctx, c.chat("setup")); r.Status != trajectory.CallOK {
			_ = session.Close() // it is of no use
			err := fmt.Errorf("setup %s: %s: %s%s", c.Tool, r.Status, r.Error, r.Text)
			if r.Status == trajectory.CallToolError {
				return nil, refusal{err}
			}
			return nil, err
		}
	}
	return session, nil
}

// refusal says that a setup is refused.
type refusal struct{ error }

// make makes calls one after the other. What is sent after a call that was not answered would say nothing.
func (p *player) make(ctx context.Context, session environment.Session, calls []Call, got *Played) {
	for i, c := range calls {
		r := session.Call(ctx, []chat.ToolCall{c.chat(fmt.Sprintf("call_%d", i))})[0]
		got.Results = append(got.Results, answerOf(session, r, p.server(c)))
		if r.Status == trajectory.CallTransportError || r.Status == trajectory.CallTimeout {
			got.Lost = fmt.Sprintf("%s: %s: %s", c.Tool, r.Status, r.Error)
			return
		}
	}
}

func (p *player) server(c Call) string {
	if s := p.tool[c.Tool]; s != nil {
		return s.Server
	}
	return ""
}

func (c Call) chat(id string) chat.ToolCall {
	return chat.ToolCall{ID: id, Name: c.Tool, Arguments: string(c.Arguments)}
}

// answerOf is a result without the path of the session's folder, which no other session has.
func answerOf(session environment.Session, r trajectory.ToolResult, server string) Answered {
	text := r.Text
	if dir := session.Dir(server); dir != "" {
		text = strings.NewReplacer(dir, dirMark, filepath.Dir(dir), dirMark+"/..").Replace(text)
	}
	return Answered{r.Status, text}
}

// unchangedChecks are the looks at what a session's folders hold.
func (p *player) unchangedChecks(session environment.Session) (checks []scenario.Check) {
	for _, s := range p.servers() {
		if session.Dir(s) != "" {
			checks = append(checks, scenario.Check{Type: scenario.UnchangedCheck, Server: s})
		}
	}
	return checks
}

// servers are the names of all servers, sorted.
func (p *player) servers() (names []string) {
	for _, s := range p.tool {
		if !slices.Contains(names, s.Server) {
			names = append(names, s.Server)
		}
	}
	slices.Sort(names)
	return names
}

// pure reports whether a play changes nothing, so that others can be played in the same session.
func (p *player) pure(x play) bool {
	return len(x.Calls) > 0 && len(x.Looks) == 0 &&
		!slices.ContainsFunc(x.Calls, func(c Call) bool { return p.tool[c.Tool] == nil || !p.tool[c.Tool].pure })
}

// shared plays in the session that all pure plays with this setup have; a second attempt has another one.
func (p *player) shared(ctx context.Context, x play) *Played {
	got := &Played{At: time.Now().Unix()}
	c, err := p.common(ctx, x.Setup, x.Attempt)
	if err != nil {
		got.Lost = err.Error()
		return got
	}
	defer c.mu.Unlock()
	got.At = time.Now().Unix() // others were before it
	p.make(ctx, c.session, x.Calls, got)
	c.broken = got.Lost != ""
	return got
}

// common is the session that pure plays with a setup share, open and locked.
func (p *player) common(ctx context.Context, setup []Call, attempt int) (*common, error) {
	key := play{Setup: setup, Attempt: attempt}.name()
	p.mu.Lock()
	if p.commons == nil {
		p.commons = map[string]*common{}
	}
	c := p.commons[key]
	if c == nil {
		c = &common{}
		p.commons[key] = c
	}
	p.mu.Unlock()
	c.mu.Lock()
	if c.broken && c.session != nil {
		_ = c.session.Close() // a server of it is gone
		c.session = nil
	}
	if c.session == nil {
		session, err := p.open(ctx, p.from, setup)
		if err != nil {
			c.mu.Unlock()
			return nil, err
		}
		c.session, c.broken = session, false
	}
	return c, nil
}

// lent is environment.Tools whose sessions are the common one without a setup, one after the other: for scenarios that
// change nothing.
type lent struct{ p *player }

// Open implements environment.Tools.
func (l lent) Open(ctx context.Context, _ string, _ ...environment.Template) (environment.Session, error) {
	c, err := l.p.common(ctx, nil, attempts) // one that no proof was made in
	if err != nil {
		return nil, err
	}
	return &loan{c.session, c}, nil
}

// loan is the common session until it is closed.
type loan struct {
	environment.Session
	of *common
}

// Call implements environment.Session.
func (l *loan) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	results := l.Session.Call(ctx, calls)
	l.of.broken = l.of.broken || slices.ContainsFunc(results, func(r trajectory.ToolResult) bool {
		return r.Status == trajectory.CallTransportError || r.Status == trajectory.CallTimeout
	})
	return results
}

// Close gives the session back.
func (l *loan) Close() error {
	l.of.mu.Unlock()
	return nil
}

// close closes the common sessions.
func (p *player) close() {
	for _, c := range p.commons {
		if c.session != nil {
			_ = c.session.Close() // it is not needed any more
		}
	}
	p.commons = nil
	if p.renewed != nil {
		p.renewed.stop()
	}
}
