package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hone/internal/data"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
)

// review is what a person decided about the tasks of a file. The file stays as it is: decisions are lines of another
// one beside it, and what they leave is a third.
type review struct {
	mu    sync.Mutex
	file  string // of the tasks
	tasks []scenario.Scenario
	log   []Decision
}

// Decision is one line of a review.
type Decision struct {
	Task string `json:"task"`
	// accept, reject, edit or undo: the last before it on that task that is not undone
	Do   string    `json:"do"`
	Text string    `json:"text,omitempty"` // of an edit: what is asked then
	Why  string    `json:"why,omitempty"`  // of a reject
	By   string    `json:"by,omitempty"`
	At   time.Time `json:"at"`
}

// Reviewed is where a task stands.
type Reviewed struct {
	Status string `json:"status"` // undecided, accepted or rejected
	Why    string `json:"why,omitempty"`
	Edited string `json:"edited,omitempty"` // what is asked now, where a person wrote it
	Steps  int    `json:"steps"`            // decisions that can be taken back
}

// Endings of the files beside one of tasks.
const (
	decisionsEnding = ".review.jsonl"
	leftEnding      = ".reviewed.json"
)

// openReview reads the tasks of a file and what was decided about them.
func openReview(file string) (*review, error) {
	r := &review{file: file}
	var err error
	if r.tasks, err = scenario.LoadRows(file); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file + decisionsEnding)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		var d Decision
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &d); err != nil {
			return nil, &fault.Error{
				Code:  fault.CodeError,
				What:  "what was decided about the tasks cannot be read",
				Where: fmt.Sprintf("%s:%d", file+decisionsEnding, i+1),
				Err:   err,
				Next:  "mend the line, or move the file away",
			}
		}
		r.log = append(r.log, d)
	}
	return r, nil
}

// of is where a task stands: by its decisions in order, without those that were taken back.
func (r *review) of(id string) Reviewed {
	var live []Decision
	for _, d := range r.log {
		switch {
		case d.Task != id:
		case d.Do == "undo":
			live = live[:max(0, len(live)-1)]
		default:
			live = append(live, d)
		}
	}
	out := Reviewed{Status: "undecided", Steps: len(live)}
	for _, d := range live {
		switch d.Do {
		case "accept":
			out.Status, out.Why = "accepted", ""
		case "reject":
			out.Status, out.Why = "rejected", d.Why
		case "edit":
			out.Edited = d.Text
		}
	}
	return out
}

// decide makes a decision, and writes what is left. It is on the disk when it returns.
func (r *review) decide(d Decision) (Reviewed, error) {
	refused := func(why string) (Reviewed, error) {
		return Reviewed{}, &fault.Error{Code: fault.CodeUsage, What: "cannot " + d.Do + " the task",
			Where: d.Task, Why: why}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.tasks, func(s scenario.Scenario) bool { return s.ID == d.Task })
	switch {
	case i < 0:
		return refused("there is none of that name")
	case !slices.Contains([]string{"accept", "reject", "edit", "undo"}, d.Do):
		return refused("there is no such decision")
	case d.Do == "undo" && r.of(d.Task).Steps == 0:
		return refused("nothing was decided about it")
	case d.Do == "edit" && r.tasks[i].Task == "":
		return refused("it is a conversation or has a user: edit the file by hand")
	case d.Do == "edit" && strings.TrimSpace(d.Text) == "":
		return refused("it would ask nothing")
	}
	line, err := json.Marshal(d)
	if err == nil {
		err = appendLine(r.file+decisionsEnding, line)
	}
	if err != nil {
		return Reviewed{}, err
	}
	r.log = append(r.log, d)
	return r.of(d.Task), r.write()
}

func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// left is the file of the tasks that are not rejected.
func (r *review) left() string { return strings.TrimSuffix(r.file, filepath.Ext(r.file)) + leftEnding }

// write writes them, in the words that a person gave them.
func (r *review) write() error {
	kept := []scenario.Scenario{}
	for _, s := range r.tasks {
		now := r.of(s.ID)
		if now.Edited != "" {
			s.Task = now.Edited
		}
		if now.Status != "rejected" {
			kept = append(kept, s)
		}
	}
	return scenario.Save(r.left(), kept)
}

// review is that of the tasks of a run or a file, opened once.
func (s *Server) review(f *followed) (*review, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.reviews[f.Key]; r != nil {
		return r, nil
	}
	r, err := openReview(f.tasksFile())
	if err != nil {
		return nil, err
	}
	if s.reviews == nil {
		s.reviews = map[string]*review{}
	}
	s.reviews[f.Key] = r
	return r, nil
}

// reviewed makes the decision that a page sends.
func (s *Server) reviewed(r *http.Request) (any, error) {
	f, err := s.run(r.FormValue("run"))
	if err != nil {
		return nil, err
	}
	desk, err := s.review(f)
	if err != nil {
		return nil, err
	}
	var d Decision
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20)).Decode(&d); err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "that is no decision", Err: err,
			Next: "load the page again"}
	}
	d.By, d.At = data.AuthorOf(s.Env.LookupEnv), time.Now().UTC().Truncate(time.Second)
	return desk.decide(d)
}
