package formats

import (
	"errors"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/data/source"
)

// Pair is two conversations that begin alike and go on differently, one better than the other. Opening is where they part.
type Pair struct{ Chosen, Rejected dataset.Row }

// preference is a row of pairs as TRL has it: a prompt and two ways to go on, or two whole conversations; as messages or as texts.
type preference struct {
	Prompt     jsontext.Value `json:"prompt"`
	Chosen     jsontext.Value `json:"chosen"`
	Rejected   jsontext.Value `json:"rejected"`
	Tools      jsontext.Value `json:"tools"`
	Split      jsontext.Value `json:"split"`
	ChosenID   jsontext.Value `json:"chosen_id"`
	RejectedID jsontext.Value `json:"rejected_id"`
	ScenarioID jsontext.Value `json:"scenario_id"`
}

// LoadPairs reads the pairs of files and folders in order, those that hone curate export writes and those of TRL's preference form, and
// reports on all rows: what is kept, and what is refused. Its errors are those of Read.
func LoadPairs(paths []string) ([]Pair, Report, error) {
	report := Report{Formats: map[string]int{}, Refused: map[string]*Refused{}}
	var pairs []Pair
	err := source.Each(paths, source.Options{}, func(r source.Record) error {
		x := item{Record: r, format: "preference"}
		var p Pair
		if x.Reason == "" {
			var err error
			if p, err = pairOf(x.JSON); err != nil {
				x.Reason, x.Detail = badShape, err.Error()
				if flaw, detail := source.Flaw(x.JSON); flaw != "" {
					x.Reason, x.Detail = flaw, detail
				} else if why, ok := errors.AsType[*refusal](err); ok {
					x.Reason, x.Detail = why.reason, why.detail
				}
			}
		}
		if report.count(&x) {
			for _, row := range []*dataset.Row{&p.Chosen, &p.Rejected} {
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

func pairOf(line []byte) (p Pair, err error) {
	var v preference
	if err := decode(line, &v); err != nil {
		return p, refuse(badShape, "it is not an object")
	}
	if v.Chosen == nil || v.Rejected == nil {
		return p, refuse(noFormat, `a pair has "chosen" and "rejected"`)
	}
	tools, err := toolsOf(v.Tools)
	if err != nil {
		return p, err
	}
	split := ""
	if v.Split.Kind() == '"' && text(v.Split) != "" {
		if split = source.SplitOf(text(v.Split)); split == "" {
			return p, refuse(noSplit, "%.60q", text(v.Split))
		}
	}
	for _, side := range []struct {
		said, id jsontext.Value
		to       *dataset.Row
	}{{v.Chosen, v.ChosenID, &p.Chosen}, {v.Rejected, v.RejectedID, &p.Rejected}} {
		c := conversation{lenient: true} // what went wrong is shown as it went
		opening := 0
		if first(v.Prompt) != nil {
			if err := c.side(v.Prompt, chat.User); err != nil {
				return p, within(err, "prompt")
			}
			opening = len(c.messages)
		}
		if err := c.side(side.said, chat.Assistant); err != nil {
			return p, err
		}
		*side.to = dataset.Row{ID: text(side.id), ScenarioID: text(v.ScenarioID), Messages: c.messages, Opening: opening, Tools: tools, Split: split}
		if first(side.id) == nil { // a trace of hone's stays as it went
			setApart(side.to)
		}
	}
	if first(v.Prompt) == nil {
		n := 0
		for n < min(len(p.Chosen.Messages), len(p.Rejected.Messages)) && reflect.DeepEqual(p.Chosen.Messages[n], p.Rejected.Messages[n]) {
			n++
		}
		p.Chosen.Opening, p.Rejected.Opening = n, n
	}
	for _, r := range []dataset.Row{p.Chosen, p.Rejected} {
		if r.NotDemonstrated() != "" {
			return p, refuse(noMessages, "a side in which the assistant says nothing of its own")
		}
	}
	return p, nil
}

// side adds messages, or a text that is one message of a role.
func (c *conversation) side(v jsontext.Value, role string) error {
	list, err := unwrapped(v)
	if err == nil && list.Kind() == '[' {
		return c.add(list)
	}
	if v.Kind() != '"' {
		return refuse(badShape, "neither messages nor a text")
	}
	c.messages = append(c.messages, chat.Message{Role: role, Content: text(v)})
	return nil
}

// EncodePairs are lines that LoadPairs reads as the same pairs.
func EncodePairs(pairs []Pair) (text []byte) {
	for _, p := range pairs {
		cut := p.Chosen.Opening
		text = dataset.AppendMessages(append(text, `{"prompt":`...), p.Chosen.Messages[:cut])
		text = dataset.AppendMessages(append(text, `,"chosen":`...), p.Chosen.Messages[cut:])
		text = dataset.AppendMessages(append(text, `,"rejected":`...), p.Rejected.Messages[cut:])
		if p.Chosen.Tools != nil {
			text = dataset.AppendTools(append(text, `,"tools":`...), p.Chosen.Tools)
		}
		for _, m := range [][2]string{{"scenario_id", p.Chosen.ScenarioID}, {"chosen_id", p.Chosen.ID}, {"rejected_id", p.Rejected.ID}, {"split", p.Chosen.Split}} {
			if m[1] != "" {
				text = append(append(append(text, `,"`...), m[0]...), `":`...)
				text = chat.AppendString(text, m[1], false)
			}
		}
		text = append(text, "}\n"...)
	}
	return text
}
