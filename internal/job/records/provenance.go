package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/data/overlap"
	"hone/internal/episode/scenario"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/run"
)

// Learnt is what an adapter learnt from, by the records of the runs that made it: its own, and those of the adapters it
// was begun from.
type Learnt struct {
	hashes  map[string]bool  // of scenarios
	tasks   map[string]bool  // what the user said
	sources []overlap.Source // all that users said
	// that tasks ask for or conversations call, by the names the model calls them by -> their servers, "" where no
	// catalog says it
	tools   map[string]string
	records []string // the run directories
	unknown []string // where no record is found
}

// ReadProvenance reads the records of the adapter in a folder of its run directory.
func ReadProvenance(folder string) Learnt {
	l := Learnt{hashes: map[string]bool{}, tasks: map[string]bool{}, tools: map[string]string{}}
	for seen := map[string]bool{}; folder != "" && !seen[folder]; {
		seen[folder] = true
		folder = l.read(folder)
	}
	return l
}

// read adds what one run learnt from, and returns the adapter it was begun from, "" where it was begun from a fresh
// one.
func (l *Learnt) read(folder string) (earlier string) {
	dir := run.Around(folder)
	var b job.Begun
	text, err := os.ReadFile(filepath.Join(dir, "version.json"))
	if dir == "" || err != nil || json.Unmarshal(text, &b) != nil {
		l.unknown = append(l.unknown, folder)
		return ""
	}
	switch b.Verb {
	case "train":
		err = l.scenarios(dir)
		// of grpo.demonstrations
		if _, none := os.Stat(filepath.Join(dir, job.ConversationsFile)); err == nil && none == nil {
			err = l.conversations(dir)
		}
	case "sft":
		err = l.conversations(dir)
	case "dpo":
		err = l.pairs(dir)
	case "demo", "demo learn":
		err = l.ownTasks(dir)
	default:
		err = errors.New("a verb that trains no adapter, or one of another hone")
	}
	if err != nil {
		l.unknown = append(l.unknown, folder)
	} else {
		l.records = append(l.records, dir)
	}
	if catalog, err := mcp.Load(filepath.Join(dir, job.CatalogFile)); err == nil {
		l.place(catalog)
	}
	if earlier = b.Flags.Adapter; earlier != "" && !filepath.IsAbs(earlier) {
		earlier = filepath.Join(b.Folder, earlier)
	}
	return earlier
}

func (l *Learnt) scenarios(dir string) error {
	list, err := scenario.LoadCopy(filepath.Join(dir, job.ScenariosFile))
	for _, s := range scenario.OfSplit(list, scenario.Train) {
		l.add(s, dir)
	}
	return err
}

// noteTool notes a tool that is learnt from.
func (l *Learnt) noteTool(tool string) {
	if _, known := l.tools[tool]; !known {
		l.tools[tool] = ""
	}
}

func (l *Learnt) noteTools(messages []chat.Message) {
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			l.noteTool(c.Name)
		}
	}
}

// place notes whose the tools are, as a catalog says.
func (l *Learnt) place(catalog *mcp.Catalog) {
	serverOf := job.ServerOf(catalog)
	for tool, server := range l.tools {
		if server == "" && serverOf != nil {
			l.tools[tool] = serverOf(tool)
		}
	}
}

func (l *Learnt) add(s scenario.Scenario, dir string) {
	l.hashes[s.Hash()] = true
	l.sources = append(l.sources, overlap.Source{Name: s.ID, Where: dir, Text: overlap.TextOf(&s)})
	if s.Task != "" { // the last words of a conversation say little alone
		l.tasks[s.Task] = true
	}
	for _, tool := range s.Tools() {
		l.noteTool(tool)
	}
}

func (l *Learnt) conversations(dir string) error {
	rows, _, err := dataset.Load([]string{filepath.Join(dir, job.ConversationsFile)}, dataset.Options{})
	for _, r := range rows {
		if !r.ToLearnFrom() || r.WhyNoDemonstration() != "" {
			continue
		}
		if r.Scenario != "" {
			l.hashes[r.Scenario] = true
		}
		l.tasks[r.Task()] = true
		l.noteTools(r.Messages)
	}
	l.sources = append(l.sources, userTexts(rows, dir)...)
	return err
}

// pairs are learnt from on both sides.
func (l *Learnt) pairs(dir string) error {
	list, _, err := dataset.LoadPairs([]string{filepath.Join(dir, job.PairsFile)})
	list = slices.DeleteFunc(list, func(x dataset.Pair) bool { return !x.Chosen.ToLearnFrom() })
	for _, r := range (job.Pairs{List: list}).Rows() {
		l.tasks[r.Task()] = true
		l.noteTools(r.Messages)
		l.sources = append(l.sources, userTexts([]dataset.Row{r}, dir)...)
	}
	return err
}

func (l *Learnt) ownTasks(dir string) error {
	t, err := ownTasksOf(dir)
	if err != nil {
		return err
	}
	for _, s := range t.Train {
		l.add(s, dir)
	}
	for i, shown := range t.Demonstrations {
		messages := shown.Messages
		l.sources = append(l.sources,
			overlap.Source{Name: fmt.Sprintf("demonstration %d", i), Where: dir, Text: overlap.UserText(messages)})
		l.noteTools(messages)
		for _, m := range messages {
			if m.Role == chat.User {
				l.tasks[m.Content] = true
			}
		}
	}
	return nil
}

// Of are the ids of the scenarios that were learnt from: the same scenario, whatever it is called and in whichever
// split it now is, or the same task.
func (l Learnt) Of(tasks []scenario.Scenario) (ids []string) {
	for _, s := range tasks {
		if l.hashes[s.Hash()] || s.Task != "" && l.tasks[s.Task] {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// ProvenanceOf says for each system of an evaluation with which tools and servers it was trained, by the records of its
// adapter. A system without an adapter is held against what any other learnt, so that it has the same parts as those it
// is compared with. A system whose record is not whole has none. folder is where relative paths are from, "" for here;
// catalog says the servers that no record does.
func ProvenanceOf(systems []job.System, folder string, catalog *mcp.Catalog) map[string]*stats.Learnt {
	out, any := map[string]*stats.Learnt{}, &stats.Learnt{Tools: map[string]bool{}, Servers: map[string]bool{}}
	for _, s := range systems {
		if s.Adapter == "" {
			continue
		}
		path := s.Adapter
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		if l := ReadProvenance(path); len(l.unknown) == 0 {
			out[s.Name] = l.names(catalog)
			maps.Copy(any.Tools, out[s.Name].Tools)
			maps.Copy(any.Servers, out[s.Name].Servers)
		}
	}
	for _, s := range systems {
		if s.Adapter == "" && len(out) > 0 {
			out[s.Name] = any
		}
	}
	return out
}

func (l Learnt) names(catalog *mcp.Catalog) *stats.Learnt {
	l.place(catalog)
	out := &stats.Learnt{Tools: map[string]bool{}, Servers: map[string]bool{}}
	for tool, server := range l.tools {
		if out.Tools[tool] = true; server != "" {
			out.Servers[server] = true
		}
	}
	return out
}

// WarnSame tells which of the scenarios to evaluate on the adapter it was trained on, and returns them.
func (l Learnt) WarnSame(h *host.Host, tasks []scenario.Scenario) []string {
	for _, folder := range l.unknown {
		h.Say("note: there is no run's record beside %s, so what it was trained on is not known", folder)
	}
	ids := l.Of(tasks)
	if len(ids) == 0 {
		return nil
	}
	h.Say("warning: the model was trained on %d of %s (%s), as the record of %s says: success on them says little "+
		"about new tasks", len(ids),
		fault.Count(len(tasks), "scenario"), some(ids), strings.Join(l.records, ", "))
	return ids
}

// WarnNear tells which of the scenarios to evaluate are near copies of what the adapter was trained on, and returns
// them: those that Of does not know already. Where only values differ, as a number, the two may be one template filled
// in twice.
func (l Learnt) WarnNear(h *host.Host, tasks []scenario.Scenario) []overlap.Near {
	same := l.Of(tasks)
	found := slices.DeleteFunc(overlap.FindNear(tasks, l.sources, overlap.Threshold), func(n overlap.Near) bool {
		return slices.Contains(same, n.ScenarioID)
	})
	var copies, filled []string
	for _, n := range found {
		text := fmt.Sprintf("%s is near to %s of %s (%.2f)", n.ScenarioID, n.Source.Name, n.Source.Where, n.Similarity)
		if n.SameValues {
			copies = append(copies, text)
		} else {
			filled = append(filled, text)
		}
	}
	if len(copies) > 0 {
		h.Say("warning: %s of %d near to what the model was trained on: %s; success on them says little about "+
			"new tasks", fault.Count(len(copies), "scenario"), len(tasks), some(copies))
	}
	if len(filled) > 0 {
		h.Say("note: %s of %d near to what the model was trained on but for values, such as numbers: %s",
			fault.Count(len(filled), "scenario"), len(tasks), some(filled))
	}
	return found
}

// some are the first of a list, and how many more there are.
func some(list []string) string {
	const most = 5
	text := strings.Join(list[:min(most, len(list))], ", ")
	if len(list) > most {
		text += fmt.Sprintf(" and %d more", len(list)-most)
	}
	return text
}

// TasksFile holds the tasks that a run made for itself, as a demo does.
const TasksFile = "tasks.json"

// ownTasks are what every such file holds.
type ownTasks struct {
	Demonstrations []scenario.Solved
	Train, Test    []scenario.Scenario
}

// ownTasksOf are those of the run in path.
func ownTasksOf(path string) (t ownTasks, err error) {
	text, err := os.ReadFile(filepath.Join(path, TasksFile))
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	return t, err
}
