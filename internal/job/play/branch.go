package play

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/mcp"
)

// takeBranch makes the scenario of the conversation: a new one with the person's first words, or that of the trajectory
// that is gone on from, with the state that its servers began in. Its split stays: what others are measured on is not
// learnt by way of a conversation.
func (t *Talk) takeBranch() error {
	b := t.asked.Branch
	t.scene = scenario.Scenario{ID: "talk", Split: scenario.Train, Tags: []string{"played", "model:" + t.name()},
		User: &scenario.User{Says: []string{t.asked.Text}}}
	if b == nil {
		return nil
	}
	t.scene.Messages, t.scene.Tags = openingOf(b.Of), append(t.scene.Tags, fmt.Sprintf("branch:%s@%d", b.Name, b.Turns))
	if b.Of.Split != "" {
		t.scene.Split = b.Of.Split
	}
	if s := b.Scenario; s != nil {
		t.scene.Template, t.scene.Setup = s.Template, s.Setup
	}
	if b.Tools != nil && !t.l.Selection.UsesSearch() {
		present := append(t.l.Catalog.Tools(), t.l.World.ToolList...) // hone's own too
		for _, tool := range b.Tools {
			if !slices.ContainsFunc(present, func(p chat.Tool) bool { return p.Name == tool.Name }) {
				t.note("Tool %s is not there any more.", tool.Name)
			}
		}
		t.l.World.ToolList, t.l.World.ToolsOf = b.Tools, nil
	}
	return nil
}

// openingOf are the messages that a trajectory began with; of old records, those before the first of the assistant.
func openingOf(of *trajectory.Trajectory) []chat.Message {
	n := of.Opening
	if n == 0 {
		n = slices.IndexFunc(of.Messages, func(m chat.Message) bool { return m.Role == chat.Assistant })
	}
	if n < 0 {
		n = len(of.Messages)
	}
	return slices.Clone(of.Messages[:n])
}

// numAgain is how many turns of the branch have been taken again.
func (t *Talk) numAgain() int {
	if t.asked.Branch == nil {
		return 0
	}
	return min(len(t.record.Turns), t.asked.Branch.Turns)
}

// turnAgain is the next turn that is taken again, as it was said and not to be learnt; again is false where the model
// is to speak.
func (t *Talk) turnAgain() (turn *trajectory.Turn, again bool) {
	b, k := t.asked.Branch, t.numAgain()
	t.compare()
	if b == nil || k == b.Turns {
		return nil, false
	}
	was := b.Of.Turns[k]
	return &trajectory.Turn{ReasoningContent: was.ReasoningContent, Content: was.Content,
		Calls: slices.Clone(was.Calls), ParseError: was.ParseError, NoLoss: true}, true
}

// wordsAgain is what the user said behind the last turn that was taken again, or the first words of the person behind
// them all; "" where the person is to speak.
func (t *Talk) wordsAgain() string {
	b := t.asked.Branch
	if b == nil || len(t.record.Turns) > b.Turns {
		return ""
	}
	if words := wordsBehind(b.Of, len(t.record.Turns)); words != "" {
		return words
	}
	text := t.asked.Text
	t.asked.Text = ""
	return text
}

// wordsBehind is what the user of a trajectory said behind so many turns and before the next.
func wordsBehind(of *trajectory.Trajectory, turns int) string {
	var words []string
	for _, m := range of.Messages[len(openingOf(of)):] {
		if m.Role == chat.Assistant {
			turns--
		}
		if m.Role == chat.User && turns == 0 {
			words = append(words, m.Content)
		}
	}
	return strings.Join(words, "\n\n")
}

// compare says of the turn that was taken again last whether its calls were answered as they had been.
func (t *Talk) compare() {
	k := t.numAgain() - 1
	if k < 0 || len(t.record.Turns) > t.asked.Branch.Turns {
		return
	}
	was, is := t.asked.Branch.Of.Turns[k].Results, t.record.Turns[k].Results
	if !slices.EqualFunc(was, is, func(a, b trajectory.ToolResult) bool {
		return a.Status == b.Status && a.Text == b.Text
	}) {
		t.note("The calls of turn %d were answered otherwise than before: the servers may not be as they were.", k)
	}
}

// before says of the call that is asked about whether it was made before, and is none of the model's.
func (t *Talk) before() string {
	switch b := t.asked.Branch; {
	case t.record == nil:
		return "it sets up the task"
	case b != nil && len(t.record.Turns) <= b.Turns:
		return fmt.Sprintf("turn %d made it before; made again, the servers are as they were then",
			len(t.record.Turns)-1)
	}
	return ""
}

// folderFor is the folder of the run that keeps conversations on the servers of the run in path: beside it, and another
// one where the servers have other tools by now.
func folderFor(path, catalog string) string {
	const ending = "-played"
	stem := path
	if i := strings.LastIndex(filepath.Base(path), ending); i > 0 { // which is one itself
		stem = filepath.Join(filepath.Dir(path), filepath.Base(path)[:i])
	}
	for n := 1; ; n++ {
		folder := stem + ending
		if n > 1 {
			folder += fmt.Sprintf("-%d", n)
		}
		kept, err := mcp.Load(filepath.Join(folder, job.CatalogFile))
		// what cannot be looked at is told when it is made
		if _, absent := os.Lstat(folder); absent != nil || err == nil && kept.Hash == catalog {
			return folder
		}
	}
}
