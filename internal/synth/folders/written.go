package folders

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"sync"

	"hone/internal/synth/programs"
	"hone/internal/synth/written"
)

// WrittenFolder is an invented folder, and what people asked of it: requests that somebody wrote one by one.
type WrittenFolder struct {
	Name  string            `json:"name"`
	Files map[string]string `json:"files"`
	Tasks []WrittenTask     `json:"tasks"`
}

// WrittenTask is a request, the files that whoever answers it reads, and what is done then.
type WrittenTask struct {
	Task    string   `json:"task"`
	Reads   []string `json:"reads"`
	Think   string   `json:"think"`   // before the first read
	Working string   `json:"working"` // before the first change, or the answer
	Do      []struct {
		Op, Path, From, To, Old, New, Text string
	} `json:"do"`
	programs.WrittenAnswer
}

// WrittenFolders are all of them, in the order of their names.
var WrittenFolders = sync.OnceValue(func() []*WrittenFolder {
	return written.Read(written.Folders, func(data []byte) (w *WrittenFolder, err error) {
		return w, json.Unmarshal(data, &w)
	})
})

// Folder is the folder as a server holds it.
func (w *WrittenFolder) Folder() *Folder { return Of(w.Files, nil) }

// Plan is what a stranger does for a task, by the operations that a server has; nil where it lacks one.
func (t WrittenTask) Plan(f *Folder, can Can) *Plan {
	working := t.Working
	if len(t.Do) > 0 {
		working = ""
	}
	p, err := programs.NewWritten(t.Task, working, len(t.Do) > 0, t.WrittenAnswer)
	if err != nil {
		return nil
	}
	d := &drawer{f: f, can: can, seen: map[string]bool{}, deep: can[Tree]}
	d.everywhere()
	for i, file := range t.Reads {
		o := Op{Do: Show, Path: file}
		if i == 0 {
			o.Why = t.Think
		}
		d.once(o)
	}
	for _, do := range t.Do {
		o := Op{Path: do.Path, Old: do.Old, New: do.New}
		switch do.Op {
		case "edit":
			if o.Do = Edit; !can[Edit] {
				o = Op{Do: Write, Path: do.Path, New: strings.Replace(d.now()[do.Path], do.Old, do.New, 1)}
			}
		case "write":
			o.Do, o.New = Write, do.Text
		case "move":
			o.Do, o.Path, o.To = Move, do.From, do.To
		case "mkdir":
			o.Do = MakeDir
		case "delete":
			o.Do = Delete
		}
		if dir := path.Dir(cmp.Or(o.To, o.Path)); o.Do != MakeDir && !d.now().parent(path.Join(dir, "file")) {
			d.change(Op{Do: MakeDir, Path: dir})
		}
		d.change(o)
	}
	if at := slices.IndexFunc(d.ops, Op.Changes); at >= 0 {
		d.ops[at].Why = programs.InSteps(t.Working)
	}
	for _, o := range d.ops {
		if !can[o.Do] {
			return nil
		}
	}
	return &Plan{Program: p, Ops: d.ops, About: append([]string{"."}, t.Reads...)}
}

// now is the folder as the operations so far leave it.
func (d *drawer) now() State {
	s, _ := d.f.State().Apply(d.ops)
	return s
}
