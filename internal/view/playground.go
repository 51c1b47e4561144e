package view

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/play"
	"hone/internal/mcp"
	"hone/internal/toolset"
)

// talk is the conversation of a run's playground.
type talk struct {
	*play.Talk
	number int // of all that this server has begun
}

// Playground is a conversation with a model on the servers of a run, as it stands.
type Playground struct {
	Version string     `json:"version"` // another one with each change
	Phase   play.Phase `json:"phase"`   // "" where there is none
	Model   string     `json:"model"`
	Where   string     `json:"where"`            // the endpoint; "" of a PROVIDER/MODEL
	Branch  string     `json:"branch,omitempty"` // the episode that it goes on from
	Turn    int        `json:"turn"`             // of that, which the model says anew
	Episode *Episode   `json:"episode"`          // null before it begins
	Tools   []string   `json:"tools"`            // that the model is shown

	Question     *play.Question `json:"question"`
	Failure      *failure       `json:"failure"`
	Notes        []string       `json:"notes"`
	ReadsUnasked bool           `json:"reads_unasked"`
	Kept         *keptTalk      `json:"kept"`
}

// keptTalk is where a conversation was kept.
type keptTalk struct {
	Run     string `json:"run"` // its key
	Path    string `json:"path"`
	Episode string `json:"episode"`
	Trace   string `json:"trace"` // as the screen of curation names it
}

// longest is how long a page waits for a change before it asks again.
const longest = 20 * time.Second

// playground answers once the conversation is another one than the page knows.
func (s *Server) playground(r *http.Request) (any, error) {
	f, err := s.run(r.FormValue("run"))
	if err != nil {
		return nil, err
	}
	end := time.NewTimer(longest)
	defer end.Stop()
	for {
		t := s.talk(f)
		if t == nil {
			return Playground{Tools: []string{}, Notes: []string{}}, nil
		}
		state, changed := t.State()
		if version := t.version(state); version != r.FormValue("since") {
			return s.stands(f, t, state)
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-end.C:
			return s.stands(f, t, state)
		case <-changed:
		}
	}
}

func (s *Server) talk(f *followed) *talk {
	s.playing.Lock()
	defer s.playing.Unlock()
	return s.talks[f.Key]
}

func (t *talk) version(s play.State) string { return fmt.Sprintf("%d.%d", t.number, s.Seq) }

// stands is how a conversation stands, for the page.
func (s *Server) stands(f *followed, t *talk, state play.State) (Playground, error) {
	p := Playground{Version: t.version(state), Phase: state.Phase, Model: state.Asked.Model,
		Where: state.Asked.Endpoint, Tools: []string{}, Question: state.Question,
		Notes: append([]string{}, state.Notes...), ReadsUnasked: state.ReadsUnasked}
	if b := state.Asked.Branch; b != nil {
		p.Branch, p.Turn = b.Name, b.Turns
	}
	if state.Err != nil {
		p.Failure = new(failureOf(state.Err))
	}
	if k := state.Kept; k != nil {
		p.Kept = &keptTalk{s.keyOf(k.Path), k.Path, k.Name, k.Trace}
	}
	if state.Record == nil {
		return p, nil
	}
	text, err := json.Marshal(state.Record) // whose texts are cut below
	record := &trajectory.Trajectory{}
	if err == nil {
		err = json.Unmarshal(text, record)
	}
	if err != nil {
		return p, err
	}
	p.Tools = append(p.Tools, names(record.Tools)...)
	p.Episode = &Episode{Name: record.ID, Trajectory: record, Problems: problems(f.Path, record)}
	record.Tools = nil
	p.Episode.Cut = shorten(record)
	return p, nil
}

// keyOf is the key of the run in path, which is shown from now on.
func (s *Server) keyOf(path string) string {
	for _, f := range s.all() {
		if f.Path == path {
			return f.Key
		}
	}
	return s.add(path).Key
}

// move is what the person does in the playground.
type move struct {
	Do string `json:"do"` // begin, say, approve, refuse, go_on, ask_reads, let_reads, end, send

	Endpoint     string  `json:"endpoint"` // these begin
	Model        string  `json:"model"`
	KeyEnv       string  `json:"key_env"`
	Temperature  float64 `json:"temperature"`
	ReadsUnasked bool    `json:"reads_unasked"`
	Episode      string  `json:"episode"` // that is gone on from; "" begins anew
	Turn         int     `json:"turn"`    // of that, which is said anew

	Text   string `json:"text"`   // begin, say
	Number int    `json:"number"` // of the question that is answered
}

// makeMove makes a move. ctx ends with the view.
func (s *Server) makeMove(ctx context.Context, r *http.Request) (any, error) {
	f, err := s.run(r.FormValue("run"))
	if err != nil {
		return nil, err
	}
	var m move
	in := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 4<<20))
	in.DisallowUnknownFields()
	if err := in.Decode(&m); err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "that is no move in the playground", Err: err,
			Next: "load the page again"}
	}
	if m.Do == "begin" {
		err = s.beginTalk(ctx, f, m)
	} else if t := s.talk(f); t != nil {
		err = s.take(ctx, t, m)
	} else {
		err = &fault.Error{Code: fault.CodeUsage, What: "there is no conversation", Next: "begin one"}
	}
	if err != nil {
		return nil, err
	}
	t := s.talk(f)
	state, _ := t.State()
	return s.stands(f, t, state)
}

func (s *Server) take(ctx context.Context, t *talk, m move) error {
	switch m.Do {
	case "say":
		return t.Say(m.Text)
	case "approve", "refuse":
		return t.Decide(m.Number, m.Do == "approve")
	case "go_on":
		return t.GoOn()
	case "ask_reads", "let_reads":
		t.AskReads(m.Do == "ask_reads")
	case "end":
		t.End()
	case "send":
		kept, err := t.Keep(ctx)
		if err == nil {
			s.clearDesk(s.keyOf(kept.Path))
		}
		return err
	default:
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no move %q", m.Do),
			Next: "load the page again"}
	}
	return nil
}

// beginTalk begins a conversation, in the place of one that is over.
func (s *Server) beginTalk(ctx context.Context, f *followed, m move) error {
	s.playing.Lock()
	defer s.playing.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	before := s.talks[f.Key]
	if before != nil {
		if state, _ := before.State(); state.Phase != play.Over {
			return &fault.Error{Code: fault.CodeUsage, What: "a conversation goes on in this run's playground",
				Next: "end it first"}
		}
	}
	a := play.Asked{Endpoint: m.Endpoint, Model: m.Model, KeyEnv: m.KeyEnv, Temperature: m.Temperature, Text: m.Text,
		ReadsUnasked: m.ReadsUnasked}
	var err error
	if m.Episode != "" {
		if a.Branch, err = f.branch(m.Episode, m.Turn); err != nil {
			return err
		}
	}
	j, from, err := s.jobOn(f)
	if err != nil {
		return err
	}
	begun, err := play.Begin(ctx, j, from, a)
	if err != nil {
		return err
	}
	if before != nil {
		before.Close()
	}
	if s.talks == nil {
		s.talks = map[string]*talk{}
	}
	s.numTalks++
	s.talks[f.Key] = &talk{begun, s.numTalks}
	return nil
}

// branch is an episode that is gone on from at a turn.
func (f *followed) branch(name string, turn int) (*play.Branch, error) {
	of, err := f.find(name)
	if err != nil {
		return nil, err
	}
	t := of.example.Trajectory
	if turn < 0 || turn > len(t.Turns) {
		return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("%s has no turn %d", name, turn),
			Next: fmt.Sprintf("give one from 0 to %d, which is behind the last", len(t.Turns))}
	}
	return &play.Branch{Name: of.row.ID, Of: t, Tools: toolsShown(f.Path, t), Scenario: of.example.Scenario,
		Turns: turn}, nil
}

// toolsShown are the tools that an episode was shown, nil where that cannot be told.
func toolsShown(path string, t *trajectory.Trajectory) []chat.Tool {
	if t.Shown == nil {
		return t.Tools
	}
	catalog, err := mcp.Load(catalogFile(path))
	if err != nil {
		return nil
	}
	tools, err := t.Shown.Tools(catalog.Tools())
	if err != nil {
		return nil
	}
	return tools
}

// jobOn is what the conversations on a run's servers are begun with: its configuration with what is denied today,
// and the servers that it was begun on.
func (s *Server) jobOn(f *followed) (*job.Job, toolset.Source, error) {
	c, err := configOf(f.Path)
	if err != nil {
		return nil, toolset.Source{}, err
	}
	if s.Today != nil {
		today, err := s.Today()
		if err != nil {
			return nil, toolset.Source{}, err
		}
		toolset.AlsoDeny(&c, today)
		c.MCP.AllowFindings = append(c.MCP.AllowFindings, today.MCP.AllowFindings...)
	}
	var begun job.Begun
	text, err := os.ReadFile(filepath.Join(f.Path, "version.json"))
	if err == nil {
		err = json.Unmarshal(text, &begun)
	}
	if err != nil {
		return nil, toolset.Source{}, err
	}
	if begun.Flags.MCPGiven {
		if url, _ := s.Env.LookupEnv("MCP_URL"); url == "" {
			return nil, toolset.Source{}, &fault.Error{Code: fault.CodeUsage,
				What: "the servers of the run are not known", Where: f.Path,
				Why:  "it was begun with --mcp or MCP_URL, which may hold a secret, so the run does not keep it",
				Next: "set MCP_URL to the server's URL, and start hone view again"}
		}
	}
	c.MCP.Config = fromFolder(begun.Folder, c.MCP.Config)
	from := toolset.Source{}
	if begun.Flags.MCPConfig != "" {
		from.File = fromFolder(begun.Folder, begun.Flags.MCPConfig)
	}
	h := *s.Env.Host // the log of the run that keeps a conversation is not this command's
	e := s.Env
	e.Host = &h
	return &job.Job{Env: e, Verb: "collect", Path: f.Path, Config: c, Kept: job.Kept{MCPGiven: begun.Flags.MCPGiven,
		MCPConfig: from.File, AllowFindings: slices.Concat(begun.Flags.AllowFindings, s.Env.Accept)}}, from, nil
}

// fromFolder is a path as it was meant in a folder, where there is such a file.
func fromFolder(folder, path string) string {
	if there := filepath.Join(folder, path); folder != "" && path != "" && !filepath.IsAbs(path) {
		if _, err := os.Stat(there); err == nil {
			return there
		}
	}
	return path
}

// clearDesk has the traces of a run read again.
func (s *Server) clearDesk(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.desks[key]; d != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.Close()
		delete(s.desks, key)
	}
}

// closeTalks ends all conversations, and their servers.
func (s *Server) closeTalks() {
	s.playing.Lock()
	defer s.playing.Unlock()
	for _, t := range s.talks {
		t.Close()
	}
}
