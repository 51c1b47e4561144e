package programs

import (
	"encoding/json"
	"fmt"
	"sync"

	"hone/internal/synth/written"
)

// WrittenGraph is an invented graph, and what people asked of it.
type WrittenGraph struct {
	Name  string
	Graph Graph
	Tasks []WrittenNote
}

// WrittenNote is a request to whoever keeps a graph, who reads all of it, thinks, and makes the changes.
type WrittenNote struct {
	*GraphProgram
	Think   string // before the graph is read
	Working string // before the first change
}

// WrittenGraphs are all of them, in the order of their names.
var WrittenGraphs = sync.OnceValue(func() []*WrittenGraph {
	return written.Read(written.Graphs, readWrittenGraph)
})

func readWrittenGraph(data []byte) (*WrittenGraph, error) {
	var file struct {
		Name   string `json:"name"`
		Things []struct {
			Name, Type string
			Notes      []string
		} `json:"things"`
		Relations [][3]string `json:"relations"` // from, verb, to
		Tasks     []struct {
			Task    string        `json:"task"`
			Think   string        `json:"think"`
			Working string        `json:"working"`
			Do      []writtenEdit `json:"do"`
			WrittenAnswer
		} `json:"tasks"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	w := &WrittenGraph{Name: file.Name}
	for _, t := range file.Things {
		w.Graph.Things = append(w.Graph.Things, Thing{t.Name, t.Type, t.Notes})
	}
	for _, r := range file.Relations {
		w.Graph.Relations = append(w.Graph.Relations, Relation{From: r[0], Type: r[1], To: r[2]})
	}
	for _, t := range file.Tasks {
		note := WrittenNote{GraphProgram: &GraphProgram{}, Think: t.Think}
		for _, do := range t.Do {
			e, err := do.edit()
			if err != nil {
				return nil, fmt.Errorf("%q: %w", t.Task, err)
			}
			note.Edits = append(note.Edits, e)
		}
		if len(note.Edits) > 0 {
			note.Working, t.Working = InSteps(t.Working), ""
		}
		var err error
		if note.Program, err = NewWritten(t.Task, t.Working, len(note.Edits) > 0, t.WrittenAnswer); err != nil {
			return nil, err
		}
		w.Tasks = append(w.Tasks, note)
	}
	return w, nil
}

// writtenEdit is a change as it stands in a file.
type writtenEdit struct {
	Op, Name, Type string
	Notes          []string
	Thing, Note    string
	From, Verb, To string
}

func (e writtenEdit) edit() (Edit, error) {
	switch e.Op {
	case "thing":
		return Edit{Do: AddThing, Thing: Thing{e.Name, e.Type, e.Notes}}, nil
	case "unthing":
		return Edit{Do: RemoveThing, Thing: Thing{Name: e.Name}}, nil
	case "note":
		return note(AddNote, e.Thing, e.Note), nil
	case "unnote":
		return note(RemoveNote, e.Thing, e.Note), nil
	case "relate":
		return relate(AddRelation, e.From, e.To, e.Verb), nil
	case "unrelate":
		return relate(RemoveRelation, e.From, e.To, e.Verb), nil
	}
	return Edit{}, fmt.Errorf("the change %q is not known", e.Op)
}
