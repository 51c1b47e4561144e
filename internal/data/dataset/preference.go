package dataset

import (
	"errors"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
)

// Pair is two conversations that begin alike and go on differently, one better than the other. Opening is where they
// part.
type Pair struct{ Chosen, Rejected Row }

// preference is a row of pairs: a prompt and two ways to go on, as TRL has it, its prompt in whichever column; or two
// whole conversations. Each as messages or as texts. OpenAI has other names for the two ways.
type preference struct {
	columns
	Chosen       jsontext.Value `json:"chosen"`
	Rejected     jsontext.Value `json:"rejected"`
	Preferred    jsontext.Value `json:"preferred_output"`
	NonPreferred jsontext.Value `json:"non_preferred_output"`
	ChosenID     jsontext.Value `json:"chosen_id"`
	RejectedID   jsontext.Value `json:"rejected_id"`
}

// LoadPairs reads the pairs of files and folders in order, those that hone curate export writes and those of TRL's
// preference form, and reports on all rows: what is kept, and what is refused. Its errors are those of Read.
func LoadPairs(paths []string) ([]Pair, Report, error) {
	report := Report{Formats: map[string]int{}, Refused: map[string]*Refused{}}
	var pairs []Pair
	err := EachRecord(paths, SourceOptions{}, func(r Record) error {
		x := item{Record: r, format: "preference"}
		var p Pair
		if x.Reason == "" {
			var err error
			if p, x.aside, err = pairOf(x.JSON); err != nil {
				x.Reason, x.Detail = badShape, err.Error()
				if flaw, detail := Flaw(x.JSON); flaw != "" {
					x.Reason, x.Detail = flaw, detail
				} else if why, ok := errors.AsType[*refusal](err); ok {
					x.Reason, x.Detail = why.reason, why.detail
				}
			}
		}
		if x.Reason == "" {
			x.unknown = unknownOf(&p.Chosen)
		}
		if report.count(&x) {
			for _, row := range []*Row{&p.Chosen, &p.Rejected} {
				row.File, row.Line = r.File, r.Line
				if row.Split == "" {
					row.Split = r.Split
				}
			}
			pairs = append(pairs, p)
		}
		return nil
	})
	if err == nil && report.Kept == 0 {
		err = report.nothing(paths)
	}
	return pairs, report, err
}

func pairOf(line []byte) (p Pair, aside []string, err error) {
	var v preference
	if err := decode(line, &v); err != nil {
		return p, nil, refuse(badShape, "it is not an object")
	}
	chosen, rejected := first(v.Chosen, v.Preferred), first(v.Rejected, v.NonPreferred)
	if chosen == nil || rejected == nil {
		return p, nil, refuse(noFormat, `a pair has "chosen" and "rejected"`)
	}
	tools, err := toolsOf(v.tools())
	if err != nil {
		return p, nil, err
	}
	split := ""
	if v.Split.Kind() == '"' && text(v.Split) != "" {
		if split = SplitOf(text(v.Split)); split == "" {
			return p, nil, refuse(noSplit, "%.60q", text(v.Split))
		}
	}
	reads := ""
	for _, side := range []struct {
		said, id jsontext.Value
		to       *Row
	}{{chosen, v.ChosenID, &p.Chosen}, {rejected, v.RejectedID, &p.Rejected}} {
		if *side.to, reads, err = v.sideOf(side.said); err != nil {
			return p, nil, err
		}
		side.to.ID, side.to.ScenarioID, side.to.Tools, side.to.Split = text(side.id), text(v.ScenarioID), tools, split
	}
	if p.Chosen.Opening == 0 && p.Rejected.Opening == 0 {
		n := alike(p.Chosen.Messages, p.Rejected.Messages)
		p.Chosen.Opening, p.Rejected.Opening = n, n
	}
	aside = v.unread(reads, p.Chosen.Messages)
	for _, r := range []*Row{&p.Chosen, &p.Rejected} {
		if err := v.addSystem(r); err != nil {
			return p, nil, err
		}
	}
	if hasNoQuestion(p.Chosen) || hasNoQuestion(p.Rejected) {
		return p, nil, refuse(noPrompt, "none of the columns %s says anything, and the sides do not begin alike",
			askedIn)
	}
	for _, r := range []*Row{&p.Chosen, &p.Rejected} {
		if r.ID == "" { // a trace of hone's stays as it went
			setApart(r)
			aside = append(aside, unsaid(r)...)
		}
		if r.WhyNoDemonstration() != "" {
			return p, nil, refuse(noMessages, "a side in which the assistant says nothing of its own")
		}
	}
	return p, aside, nil
}

// sideOf is the conversation that ends with one side, and the columns that it is read from. Without a prompt, a side
// that begins with what a person says is whole.
func (v *preference) sideOf(said jsontext.Value) (row Row, reads string, err error) {
	c := conversation{lenient: true} // what went wrong is shown as it went
	if !says(v.Prompt) {
		if err := c.side(said, chat.Assistant); err != nil {
			return row, "", err
		}
		asked, _ := v.question()
		if n := len(c.messages); n > 1 && (c.messages[0].Role != chat.Assistant || asked == nil) {
			return Row{Messages: c.messages}, "", nil
		}
		c = conversation{lenient: true}
	}
	if err := v.openingOf(&c); err != nil {
		return row, "", err
	}
	opening := len(c.messages)
	if err := c.side(said, chat.Assistant); err != nil {
		return row, "", err
	}
	opening = c.openingLength(opening)
	_, reads = v.question()
	switch reads {
	case "instruction":
		reads += " input"
	case "conversations":
		reads += " conversation"
	}
	return Row{Messages: c.messages, Opening: opening}, reads + " history", nil
}

// hasNoQuestion reports whether nothing stands before what a side says of its own, or a system message alone before
// what a person says.
func hasNoQuestion(r Row) bool {
	for _, m := range r.Messages[:r.Opening] {
		if m.Role != chat.System {
			return false
		}
	}
	return r.Opening == 0 || r.Opening < len(r.Messages) && r.Messages[r.Opening].Role != chat.Assistant
}

// tools are the tools of a pair.
func (v *preference) tools() jsontext.Value {
	var request struct {
		Tools jsontext.Value `json:"tools"`
	}
	if v.Input.Kind() == '{' && decode(v.Input, &request) == nil {
		return first(v.columns.tools(), request.Tools)
	}
	return v.columns.tools()
}

// alike is how many messages two conversations begin with alike.
func alike(a, b []chat.Message) (n int) {
	for n < min(len(a), len(b)) && reflect.DeepEqual(a[n], b[n]) {
		n++
	}
	return n
}

// EncodePairs are lines that LoadPairs reads as the same pairs.
func EncodePairs(pairs []Pair) (text []byte) {
	for _, p := range pairs {
		cut := p.Chosen.Opening
		text = AppendMessages(append(text, `{"prompt":`...), p.Chosen.Messages[:cut])
		text = AppendMessages(append(text, `,"chosen":`...), p.Chosen.Messages[cut:])
		text = AppendMessages(append(text, `,"rejected":`...), p.Rejected.Messages[cut:])
		if p.Chosen.Tools != nil {
			text = AppendTools(append(text, `,"tools":`...), p.Chosen.Tools)
		}
		for _, m := range [][2]string{
			{"scenario_id", p.Chosen.ScenarioID},
			{"chosen_id", p.Chosen.ID},
			{"rejected_id", p.Rejected.ID},
			{"split", p.Chosen.Split},
		} {
			if m[1] != "" {
				text = append(append(append(text, `,"`...), m[0]...), `":`...)
				text = chat.AppendString(text, m[1], false)
			}
		}
		text = append(text, "}\n"...)
	}
	return text
}
