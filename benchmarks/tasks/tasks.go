// Package tasks reads the task files of other benchmarks and environments, and makes scenarios of them: MCP-Bench,
// MCPMark, Toolathlon-GYM and Agent World Model. It reads files that the user has; none is fetched, and no program in
// them is run.
//
// A task that cannot be run and checked as a scenario is refused by name, with the reason. A field that the form is not
// known to have is counted by its path; so is what a form is known to have and a scenario has no place for.
package tasks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/fault"
)

// Options say what is read, and where it goes.
type Options struct {
	Form   string // one of Forms
	From   string // the form's file or folder
	States string // of MCPMark: the folder with its unpacked start states, by category; "" for none
	Only   string // a pattern of ids as path.Match has it, "" for all
	// Unchecked takes a task too whose own check cannot be made here. It has no checks then, and only a judge could
	// score it.
	Unchecked bool
}

// form is one benchmark's.
type form struct {
	name  string
	split string // that its tasks are for, "" where they are for training as well
	read  func(*reader) error
}

func forms() []form {
	return []form{
		{"mcpbench", scenario.Test, readMCPBench},
		{"mcpmark", scenario.Test, readMCPMark},
		{"toolathlon", "", readToolathlon},
		{"awm", "", readAWM},
	}
}

// Forms are the names of those that are known.
func Forms() []string {
	var names []string
	for _, f := range forms() {
		names = append(names, f.name)
	}
	return names
}

// Imported is what was read.
type Imported struct {
	Scenarios int       `json:"scenarios"`
	Refused   []Refused `json:"refused"`
	Unchecked []Refused `json:"unchecked,omitempty"` // scenarios without the task's own check, and why
	Others    int       `json:"others"`              // tasks that Options.Only leaves out
	// fields that the form is not known to have: path -> how often
	Unknown map[string]int `json:"unknown"`
	LeftOut map[string]int `json:"left_out"` // known ones that a scenario has no place for
	Servers map[string]int `json:"servers"`  // that tasks need, by their names there -> how many tasks
	// the folder beside the scenarios, "" where nothing was needed
	Files string `json:"files"`
}

// Refused is a task that is no scenario.
type Refused struct {
	Where string `json:"where"` // a file, or a file and an id in it
	Why   string `json:"why"`
}

// reader collects what a form's function finds.
type reader struct {
	Options
	split     string
	staging   string // where files go that scenarios need
	name      string // of that folder as scenarios write it
	scenarios []scenario.Scenario
	ids       map[string]bool
	Imported
}

// Import reads tasks and writes scenarios into the file out. What they need beside them, such as programs of checks and
// start states, goes into a folder NAME.files of its folder, which must not be there yet. Nothing is written where
// nothing was read.
func Import(o Options, out string) (Imported, error) {
	i := slices.IndexFunc(forms(), func(f form) bool { return f.name == o.Form })
	if i < 0 {
		return Imported{}, &fault.Error{Code: fault.CodeUsage,
			What: fmt.Sprintf("there is no form of tasks %q",
				o.Form), Next: "the forms are " + strings.Join(Forms(), ", ")}
	}
	if _, err := path.Match(o.Only, ""); err != nil {
		return Imported{}, &fault.Error{Code: fault.CodeUsage, What: "the pattern of ids is not one", Where: o.Only,
			Err: err, Next: "write it as a shell does: 'shop_*'"}
	}
	name := strings.TrimSuffix(filepath.Base(out), filepath.Ext(out)) + ".files"
	folder := filepath.Join(filepath.Dir(out), name)
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		return Imported{}, &fault.Error{Code: fault.CodeUsage,
			What: "the folder for the scenarios' files is there already", Where: folder, Err: err,
			Next: "remove it, or give --out another name"}
	}
	staging, err := os.MkdirTemp(filepath.Dir(out), "."+name+"-*")
	if err != nil {
		return Imported{}, &fault.Error{Code: fault.CodeError, What: "cannot write the scenarios",
			Where: filepath.Dir(out), Err: err, Next: "name a file in a folder that can be written"}
	}
	defer os.RemoveAll(staging) // where it is not renamed
	r := &reader{Options: o, split: forms()[i].split, staging: staging, name: name, ids: map[string]bool{},
		Imported: Imported{Refused: []Refused{}, Unknown: map[string]int{}, LeftOut: map[string]int{},
			Servers: map[string]int{}}}
	if err := forms()[i].read(r); err != nil {
		return Imported{}, unreadable(o, err)
	}
	if len(r.scenarios) == 0 {
		return r.Imported, r.nothing()
	}
	return r.Imported, r.write(folder, out)
}

func unreadable(o Options, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	return &fault.Error{Code: fault.CodeUsage, What: "cannot read the tasks of the form " + o.Form, Where: o.From,
		Err: err, Next: "hone-bench import --help says what each form is"}
}

func (r *reader) nothing() error {
	e := &fault.Error{Code: fault.CodeUsage, What: "no task of the form " + r.Form + " is there", Where: r.From,
		Next: "hone-bench import --help says what each form is"}
	if len(r.Refused) > 0 {
		e.What, e.Where, e.Why =
			fault.Count(len(r.Refused), "task")+" read, and none is a scenario", r.Refused[0].Where, r.Refused[0].Why
		if !r.Options.Unchecked {
			e.Next = "--unchecked takes tasks whose own check cannot be made here"
		}
	}
	return e
}

// write puts the files into place and then the scenarios that name them.
func (r *reader) write(folder, out string) error {
	r.Imported.Scenarios = len(r.scenarios)
	if list, err := os.ReadDir(r.staging); err != nil {
		return err
	} else if len(list) > 0 {
		if err := os.Chmod(r.staging, 0o755); err != nil {
			return err
		}
		if err := os.Rename(r.staging, folder); err != nil {
			return err
		}
		r.Files = folder
	}
	return scenario.Save(out, r.scenarios)
}

// wants reports whether a task of this id is asked for, and counts those that are not.
func (r *reader) wants(id string) bool {
	if r.selects(id) {
		return true
	}
	r.Others++
	return false
}

func (r *reader) selects(id string) bool {
	ok, _ := path.Match(r.Only, id) // its error was seen
	return ok || r.Only == ""
}

// take adds a scenario; why says what keeps its own check from being made, "" for nothing.
func (r *reader) take(where string, s scenario.Scenario, why string) {
	s.Task = strings.TrimSpace(s.Task)
	switch {
	case s.Task == "":
		r.refuse(where, "it has no text that says what to do")
		return
	case r.ids[s.ID]:
		r.refuse(where, fmt.Sprintf("the id %q is another task's", s.ID))
		return
	case why != "" && !r.Options.Unchecked:
		r.refuse(where, why)
		return
	case why != "":
		s.Tags = append(s.Tags, "unchecked")
	}
	s.Split = r.split
	s.Tags = append([]string{r.Form}, s.Tags...)
	if err := s.Validate(); err != nil {
		r.refuse(where, err.Error())
		return
	}
	if why != "" {
		r.Imported.Unchecked = append(r.Imported.Unchecked, Refused{where, why})
	}
	r.ids[s.ID] = true
	r.scenarios = append(r.scenarios, s)
}

func (r *reader) refuse(where, why string) { r.Refused = append(r.Refused, Refused{where, why}) }

// need counts servers of a task that was taken.
func (r *reader) need(servers ...string) {
	for _, s := range servers {
		r.Servers[s]++
	}
}
