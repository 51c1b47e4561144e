package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/data/known"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Aside counts the rows that are kept, but for one part.
type Aside struct {
	Rows  int    `json:"rows"`
	First string `json:"first"` // where the first one stands
}

// What is left aside of a row beside columns: an answer that says and calls nothing, and one that nothing asked for.
const (
	emptyAnswer = "an empty answer"
	firstAnswer = "an answer that nothing stands before"
)

// everyRow are the columns that are read whatever the format.
const everyRow = " system system_prompt tools functions available_tools id uuid split opening shown scenario_id " +
	"scenario_hash trace_id turn n_turns "

// unread tells of the columns of a row that hold something which is not read. read are those of its format; messages
// are what was read.
func (r *columns) unread(read string, messages []chat.Message) (aside []string) {
	found := map[string]jsontext.Value{}
	if len(r.Others) > 0 {
		_ = decode(r.Others, &found) // valid: it was decoded
	}
	for _, m := range []struct {
		name  string
		value jsontext.Value
	}{
		{"messages", r.Messages}, {"conversations", r.Conversations}, {"conversation", r.Conversation}, {"trajectory",
			r.Trajectory},
		{"query", r.Query}, {"answers", r.Answers}, {"function_call", r.FunctionCall}, {"source_instruction",
			r.SourceInstruction},
		{"prompt", r.Prompt}, {"question", r.Question}, {"completion", r.Completion}, {"instruction", r.Instruction},
		{"input", r.Input}, {"output", r.Output}, {"history", r.History}, {"task", r.Task}, {"checks", r.Checks},
		{"outcome", r.Outcome}, {"terms", r.Terms}, {"turns", r.Turns},
	} {
		if m.value != nil {
			found[m.name] = m.value
		}
	}
	name := func(column string) { aside = append(aside, fmt.Sprintf("the column %q", column)) }
	for column, v := range found {
		if says(v) && !slices.Contains(strings.Fields(read), column) && !strings.Contains(everyRow, " "+column+" ") {
			name(column)
		}
	}
	said := text(r.system())
	if len(messages) > 0 && messages[0].Role == chat.System && said != "" &&
		strings.TrimSpace(messages[0].Content) != strings.TrimSpace(said) {
		name("system") // a conversation that has one of its own keeps it
	}
	if other := text(first(r.SystemPrompt)); first(r.System) != nil && other != "" && other != said {
		name("system_prompt")
	}
	return aside
}

// unsaid masks answers that teach nothing, and tells of them. A model that learns empty ones learns to fall silent;
// what a conversation begins with, a greeting, is never prompted for, and stays as what the next answer stands behind.
func unsaid(row *Row) (aside []string) {
	for i := range row.Messages {
		m := &row.Messages[i]
		empty := strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0
		switch {
		case !row.Trains(i):
		case empty:
			m.NoLoss, aside = true, append(aside, emptyAnswer)
		case i == 0:
			m.NoLoss, aside = true, append(aside, firstAnswer)
		}
	}
	return aside
}

// unknownOf is a value of an answer of a row that no prompt and no result says, "" where each may be known, or is not
// learnt. What the reasoning comes to is known where the episode passed its scenario's checks, as gold solutions do.
func unknownOf(row *Row) string {
	if row.Outcome != "" && row.WhyNoDemonstration() != "" {
		return ""
	}
	passed := slices.ContainsFunc(row.Terms, func(t trajectory.Term) bool { return t.Name == "checks" && t.Score == 1 })
	value, _ := known.Unknown(row.Messages, row.Tools, row.Trains, passed)
	return value
}

// leaveAside counts what is left aside of a row that is kept, each once.
func (r *Report) leaveAside(x *item) {
	slices.Sort(x.aside)
	for _, what := range slices.Compact(x.aside) {
		if r.Aside == nil {
			r.Aside = map[string]*Aside{}
		}
		if r.Aside[what] == nil {
			r.Aside[what] = &Aside{First: x.Where()}
		}
		r.Aside[what].Rows++
	}
}

// AsideLines say what is left aside, the most frequent first, and how many answers could not be known.
func (r *Report) AsideLines() []string { return append(r.omissions(), r.unknownLines()...) }

func (r *Report) unknownLines() []string {
	if r.Unknown == nil {
		return nil
	}
	return []string{
		fmt.Sprintf("warning: %s an answer that no prompt and no result says, the first, %.60q, at %s: "+
			"a model learns to invent from these",
			fault.Count(r.Unknown.Rows, "row")+map[bool]string{true: " teaches", false: " teach"}[r.Unknown.Rows == 1],
			r.Unknown.Value, r.Unknown.First),
	}
}

func (r *Report) omissions() []string {
	const shown = 12
	all := fault.Asides{}
	for what, of := range r.Aside {
		all[what] = fault.Aside{Times: of.Rows, First: "at " + of.First}
	}
	return all.Lines(shown, "row", "see --json of hone data validate")
}
