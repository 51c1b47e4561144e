package view

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"hone/internal/chat"
	"hone/internal/chat/schema"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/run"
)

func episodeName(scenario string, step, rollout int) string {
	return fmt.Sprintf("%s/%d/%d", scenario, step, rollout)
}

// Episode is a trajectory as a page shows it.
type Episode struct {
	Name       string                 `json:"name"`
	Stage      string                 `json:"stage"`
	Step       int                    `json:"step"`
	Scored     bool                   `json:"scored"`
	Trajectory *trajectory.Trajectory `json:"trajectory"`
	Verdicts   []stats.Verdict        `json:"verdicts"`
	// Problems are, by turn and call of it, what its tool's schema does not take.
	Problems []Problem `json:"problems"`
	// Cut is how many bytes of long texts are left out here; ?whole=1 has them.
	Cut int `json:"cut"`
}

// Problem is a call that its tool does not take, with reasons that point into the arguments.
type Problem struct {
	Turn    int             `json:"turn"`
	Call    int             `json:"call"`
	Reasons []schema.Reason `json:"reasons"`
}

// mostShown is how many bytes of one text come at first: a result of 10 MB would take a page seconds.
const mostShown = 32 << 10

// episode reads one.
func (s *Server) episode(f *followed, name string, whole bool) (Episode, error) {
	found, err := f.find(name)
	if err != nil {
		return Episode{}, err
	}
	return f.episode(found, whole), nil
}

// episode is an episode without its ids, which the view of tokens has, and with the beginnings of long texts alone,
// unless whole is set.
func (f *followed) episode(of found, whole bool) Episode {
	t := of.example.Trajectory
	e := Episode{Name: of.row.ID, Stage: of.row.Stage, Step: of.row.Step, Scored: of.row.Score != nil, Trajectory: t,
		Verdicts: of.example.Verdicts(), Problems: problems(f.Path, t)}
	for i := range t.Turns {
		t.Turns[i].BridgeIDs, t.Turns[i].CompletionIDs, t.Turns[i].SamplerLogprobs = nil, nil, nil
	}
	if !whole {
		e.Cut = shorten(t)
	}
	return e
}

// found is a row of a ledger and its episode.
type found struct {
	row     run.TrajectoryRow
	example stats.Example
}

// find reads the trajectory of a name, and its scenario where the run keeps the one that was run.
func (f *followed) find(name string) (out found, err error) {
	err = records.ReadLedger(f.Path, func(l *run.Ledger) error {
		out, err = f.findIn(l, name)
		return err
	})
	return out, err
}

func (f *followed) findIn(l *run.Ledger, name string) (out found, err error) {
	row, ok, err := l.Trajectory(name)
	if err == nil && !ok {
		err = &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no episode %q", name), Where: f.Path,
			Next: "look for it in the list of trajectories"}
	}
	t := &trajectory.Trajectory{}
	if err == nil {
		err = row.Decode(t)
	}
	if err != nil {
		return out, err
	}
	out = found{row, stats.Example{Title: name, Trajectory: t}}
	if k := f.scenarios()[t.ScenarioID]; k != nil && (t.Scenario == "" || k.Hash() == t.Scenario) {
		out.example.Scenario = k
	}
	ratings, err := records.RatingsOf(f.Path)
	t.Rating = ratings[name]
	return out, err
}

// problems holds the calls of an episode against the schemas of the tools that it was shown.
func problems(path string, t *trajectory.Trajectory) []Problem {
	out := []Problem{}
	tools := toolsShown(path, t)
	schemas := map[string]*schema.Schema{}
	for _, tool := range tools {
		schemas[tool.Name] = nil
	}
	for i, turn := range t.Turns {
		for j, call := range turn.Calls {
			compiled, known := schemas[call.Name]
			if !known {
				if len(tools) > 0 && (j >= len(turn.Results) || turn.Results[j].Status == trajectory.CallInvalid) {
					out = append(out, Problem{i, j, []schema.Reason{{Text: fault.NoTool(call.Name, names(tools))}}})
				}
				continue
			}
			if compiled == nil {
				compiled = schema.Compile(inputOf(tools, call.Name))
				schemas[call.Name] = compiled
			}
			if verdict, reasons := compiled.Validate(call.Arguments); verdict == schema.Invalid {
				out = append(out, Problem{i, j, reasons})
			}
		}
	}
	return out
}

func names(tools []chat.Tool) (out []string) {
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

func inputOf(tools []chat.Tool, name string) json.RawMessage {
	for _, t := range tools {
		if t.Name == name {
			return t.InputSchema
		}
	}
	return nil
}

// shorten cuts long texts, and returns how many bytes that leaves out.
func shorten(t *trajectory.Trajectory) (left int) {
	cut := func(text *string) {
		if len(*text) > mostShown {
			left += len(*text) - mostShown
			*text = strings.ToValidUTF8((*text)[:mostShown], "") + fmt.Sprintf("\n... %d bytes more",
				len(*text)-mostShown)
		}
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		cut(&m.Content)
		cut(&m.ReasoningContent)
		for j := range m.ToolCalls {
			cut(&m.ToolCalls[j].Arguments)
		}
	}
	for i := range t.Turns {
		turn := &t.Turns[i]
		cut(&turn.Content)
		cut(&turn.ReasoningContent)
		for j := range turn.Calls {
			cut(&turn.Calls[j].Arguments)
		}
		for j := range turn.Results {
			r := &turn.Results[j]
			cut(&r.Text)
			cut(&r.Call.Arguments)
			if len(r.Content) > mostShown {
				left, r.Content = left+len(r.Content), nil
			}
			if len(r.StructuredContent) > mostShown {
				left, r.StructuredContent = left+len(r.StructuredContent), nil
			}
		}
	}
	for i := range t.Seen {
		cut(&t.Seen[i].Text)
	}
	return left
}

// scenarios are those that the run keeps, or the file. They do not change while a run goes on, but may come after its
// beginning.
func (f *followed) scenarios() map[string]*scenario.Scenario {
	known, _ := remember(f, "scenarios", func() (map[string]*scenario.Scenario, error) {
		if !f.File {
			return records.ScenariosOf(f.Path), nil
		}
		list, err := scenario.Load(f.Path)
		return scenario.ByID(list), err
	})
	return known
}

// tasksFile is where the tasks of a run are, or the file itself.
func (f *followed) tasksFile() string {
	if f.File {
		return f.Path
	}
	return filepath.Join(f.Path, job.ScenariosFile)
}
