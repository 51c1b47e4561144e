package view

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hone/internal/basemodel"
	"hone/internal/data"
	"hone/internal/data/curate"
	"hone/internal/fault"
	"hone/internal/text/render"
	"hone/internal/toolset"
)

// desk is the traces of a run that are being curated. Its operations are those of hone curate, in the same ledger.
type desk struct {
	*data.Desk
	mu     sync.Mutex // one at a time
	listed map[*curate.Trace]data.Listed
	now    []*curate.Trace

	renderer render.Renderer
	text     *basemodel.Text
}

// Traces are the traces of a run as a list.
type Traces struct {
	Traces  []data.Listed `json:"traces"`
	Data    string        `json:"data"`    // their file
	Command string        `json:"command"` // that writes what is left
}

// Curated is what an operation left.
type Curated struct {
	Op      curate.Op     `json:"op"`
	Changed []data.Listed `json:"changed"` // in the order of the list
	Order   []string      `json:"order"`   // ids of all, where traces came or went; else empty
}

// desk opens the traces of a run, once.
func (s *Server) desk(f *followed) (*desk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.desks[f.Key]; d != nil {
		return d, nil
	}
	if o, err := s.outline(f); err == nil && o.Live {
		return nil, &fault.Error{
			Code:  fault.CodeUsage,
			What:  "the run still goes on, and traces are curated once it has ended",
			Where: f.Path,
			Next:  "wait, or stop it",
		}
	}
	opened, err := data.Curating{Data: dataOf(f), Author: data.AuthorOf(s.Env.LookupEnv)}.Open(s.Env.Host)
	if err != nil {
		return nil, err
	}
	if s.desks == nil {
		s.desks = map[string]*desk{}
	}
	d := &desk{Desk: opened, listed: map[*curate.Trace]data.Listed{}, now: opened.Traces()}
	s.desks[f.Key] = d
	return d, nil
}

func dataOf(f *followed) string { return filepath.Join(f.Path, "trajectories.jsonl") }

// near is a path from the folder in which hone view was started, where it leads into that.
func near(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if from, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(from) {
		return from
	}
	return path
}

func (s *Server) traces(f *followed) (Traces, error) {
	d, err := s.desk(f)
	if err != nil {
		return Traces{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	out := Traces{
		Traces: []data.Listed{},
		Data:   dataOf(f),
		Command: "hone curate export " + toolset.ShellWord(near(dataOf(f))) + " --out " +
			toolset.ShellWord(near(filepath.Join(f.Path, "curated.jsonl"))),
	}
	for _, t := range d.now {
		out.Traces = append(out.Traces, d.of(t))
	}
	return out, nil
}

// of is a trace in the list. One that has not changed is not looked at again.
func (d *desk) of(t *curate.Trace) data.Listed {
	x, known := d.listed[t]
	if !known {
		x = d.Listed(t)
		if r := []rune(x.Task); len(r) > mostTask {
			x.Task = string(r[:mostTask]) + "..."
		}
		d.listed[t] = x
	}
	return x
}

// mostTask is how much of a task the list has.
const mostTask = 200

func (s *Server) trace(f *followed, id string) (data.Shown, error) {
	d, err := s.desk(f)
	if err != nil {
		return data.Shown{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	shown, _, err := d.Show(id)
	return shown, err
}

// curationOp makes the operation that a page sends.
func (s *Server) curationOp(r *http.Request) (any, error) {
	f, err := s.run(r.FormValue("run"))
	if err != nil {
		return nil, err
	}
	d, err := s.desk(f)
	if err != nil {
		return nil, err
	}
	var op curate.Op
	in := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 64<<20))
	in.DisallowUnknownFields()
	if err := in.Decode(&op); err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "that is no operation", Err: err,
			Next: "load the page again"}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.Family(op)
	done, _, err := d.Do(op)
	if err != nil {
		return nil, err
	}
	after := d.Family(op)
	d.replace(before, after)
	out := Curated{Op: done, Changed: []data.Listed{}, Order: []string{}}
	for _, t := range after {
		if !slices.Contains(before, t) {
			out.Changed = append(out.Changed, d.of(t))
		}
	}
	if len(after) != len(before) {
		for _, t := range d.now {
			out.Order = append(out.Order, t.ID)
		}
	}
	return out, nil
}

// replace puts traces of the list in the place of others, which lie side by side in it.
func (d *desk) replace(before, after []*curate.Trace) {
	at := -1
	if len(before) > 0 {
		at = slices.Index(d.now, before[0])
	}
	if at < 0 { // nothing of it was left
		d.now = d.Traces()
		return
	}
	d.now = slices.Replace(d.now, at, at+len(before), after...)
}

// Preview is what sft would learn of a trace: the exact text of each row, cut where what is trained begins and ends.
type Preview struct {
	Rows []PreviewRow `json:"rows"`
}

// PreviewRow is one training row.
type PreviewRow struct {
	Tokens  int            `json:"tokens"`
	Trained int            `json:"trained"`
	Begins  string         `json:"begins,omitempty"` // why it begins anew
	Pieces  []PreviewPiece `json:"pieces"`
}

// PreviewPiece is a stretch of a row that is trained as a whole, or not.
type PreviewPiece struct {
	Text    string `json:"text"`
	Trained bool   `json:"trained"`
}

func (s *Server) preview(f *followed, id string) (Preview, error) {
	d, err := s.desk(f)
	if err != nil {
		return Preview{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t, err := d.Trace(id)
	if err == nil && d.renderer == nil {
		err = s.openRenderer(f, d)
	}
	if err != nil {
		return Preview{}, err
	}
	rows, err := d.renderer.Sequences(t.Row.Messages, t.Row.Opening, t.Row.Tools)
	if err != nil {
		return Preview{}, &fault.Error{Code: fault.CodeUsage, What: "the chat template cannot write the trace",
			Where: id, Err: err, Next: "edit it, or reject it"}
	}
	out := Preview{Rows: []PreviewRow{}}
	for _, row := range rows {
		p := PreviewRow{Tokens: len(row.IDs), Begins: row.Rewrite, Pieces: []PreviewPiece{}}
		for from := 0; from < len(row.IDs); {
			to := from
			for to < len(row.IDs) && row.Trained[to] == row.Trained[from] {
				to++
			}
			if row.Trained[from] {
				p.Trained += to - from
			}
			p.Pieces = append(p.Pieces, PreviewPiece{
				strings.ToValidUTF8(d.text.Tokenizer.Decode(row.IDs[from:to]), "\uFFFD"), row.Trained[from],
			})
			from = to
		}
		out.Rows = append(out.Rows, p)
	}
	return out, nil
}

func (s *Server) openRenderer(f *followed, d *desk) error {
	c, err := configOf(f.Path)
	if err != nil {
		return err
	}
	if d.text, err = basemodel.OpenText(s.Env.Host, c.Model, ""); err != nil {
		return err
	}
	d.renderer, err = d.text.Renderer(c.Rollout.System)
	return err
}
