package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/data/kinds"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
)

// own is what a candidate has that is drawn from a kind of a user's file.
type own struct {
	kind   *kinds.Kind
	values kinds.Values
	file   *kinds.Set
	said   string // by the server, where it fell for that
}

// OwnRow is what became of a kind of a user's file.
type OwnRow struct {
	Kind      string `json:"kind"`
	Drafted   int    `json:"drafted"`
	Good      int    `json:"good"` // executed, and checked
	Scenarios int    `json:"scenarios"`
	Why       string `json:"why,omitempty"` // the first reason why one fell
}

// ownShare is the part of the tasks with calls that is drawn from the user's file, where that gives so many.
const ownShare = 0.5

// ownTries is how often values are drawn for one candidate: others may have the same.
const ownTries = 20

// draftOwn drafts tasks of the kinds of a user's file, of each as many. A call that takes the result of one before is
// built from what a first play of that answers.
func (d *drafts) draftOwn(ctx context.Context) error {
	if d.Kinds == nil {
		return nil
	}
	wanted := int(drafting * float64(d.N) * (1 - d.Abstain) * ownShare)
	for i := range d.Kinds.Kinds {
		k := &d.Kinds.Kinds[i]
		random := d.random("own", k.Name)
		for made, try := 0, 0; made < max(enough, (wanted+len(d.Kinds.Kinds)-1)/len(d.Kinds.Kinds)) &&
			try < ownTries*(made+1); try++ {
			v := k.Draw(random)
			c := &Candidate{Kind: single, own: &own{kind: k, values: v, file: d.Kinds}}
			if k.NumCalls() > 1 {
				c.Kind = chain
			}
			first, err := c.own.call(0, "")
			if err != nil {
				c.drop("%v", err)
			}
			key := fmt.Sprint(k.Name, v)
			if d.seen[key] {
				continue
			}
			d.seen[key] = true
			c.Calls = []Call{first}
			d.mayCall(c)
			d.list = append(d.list, c)
			made++
		}
	}
	return d.goOn(ctx)
}

// goOn builds the calls behind the first, one after the other.
func (d *drafts) goOn(ctx context.Context) error {
	for made := 1; ; made++ {
		var plays []play
		var of []*Candidate
		for _, c := range d.list {
			if c.Why == "" && c.own.kind.NumCalls() > made {
				plays, of = append(plays, play{Calls: c.Calls}), append(of, c)
			}
		}
		if len(plays) == 0 {
			break
		}
		got, err := d.playAndTell(ctx, "draft", plays)
		if err != nil {
			return err
		}
		for i, c := range of {
			if d.useless(c, got[i]); c.Why != "" {
				continue
			}
			taken, err := c.own.kind.Take(made-1, got[i].Results[made-1].Text)
			var next Call
			if err == nil {
				next, err = c.own.call(made, taken)
			}
			if err != nil {
				c.drop("%v", err)
				continue
			}
			c.Calls = append(slices.Clip(c.Calls), next)
			d.mayCall(c)
		}
	}
	reasons := map[string]int{}
	for _, c := range d.list {
		if calls := keyOf(c.Calls); c.Why == "" && d.seen[calls] {
			c.drop("another task has the same calls")
		} else {
			d.seen[calls] = true
		}
		if c.Why != "" {
			c.Fell = "draft"
			reasons[c.Why]++
		}
	}
	d.report.stage("draft", len(d.list), len(d.list)-sum(reasons), reasons)
	return nil
}

// mayCall drops a candidate whose last call is not to be made, or does not fit the tool's schema.
func (d *drafts) mayCall(c *Candidate) {
	x := c.Calls[len(c.Calls)-1]
	switch s := d.byName[x.Tool]; {
	case c.Why != "":
	case s == nil:
		c.drop("the servers have no tool %s", x.Tool)
	case !s.mayTry():
		c.drop("%s may not be called: nothing bounds what it changes", x.Tool)
	case !s.takes(string(x.Arguments)):
		c.drop("the arguments do not fit the schema of %s", x.Tool)
	}
}

// call is a call of the kind as synth has it.
func (o *own) call(i int, before string) (Call, error) {
	c, err := o.kind.Call(i, o.values, before)
	return Call{Tool: c.Name, Arguments: json.RawMessage(c.Arguments)}, err
}

// fedBy reports whether the later calls are those that a play's results lead to.
func (o *own) fedBy(calls []Call, p *Played) bool {
	for i := 1; i < len(calls) && i <= len(p.Results); i++ {
		taken, err := o.kind.Take(i-1, p.Results[i-1].Text)
		if err != nil {
			return false
		}
		if again, err := o.call(i, taken); err != nil || !bytes.Equal(again.Arguments, calls[i].Arguments) {
			return false
		}
	}
	return true
}

// answer is what a play's last result comes to.
func (o *own) answer(p *Played) (string, error) {
	last := len(p.Results) - 1
	return o.kind.Take(last, p.Results[last].Text)
}

// checkOwn makes the checks of a candidate from its kind: what the file states, else as of other candidates, with what
// the kind takes of the last result as the answer.
func (m *maker) checkOwn(c *Candidate, a, b *Played) {
	text, err := c.own.answer(a)
	again, errAgain := c.own.answer(b)
	steady := err == nil && errAgain == nil && text == again && !saysNow(text, []int64{a.At, b.At}) &&
		!strings.Contains(text, dirMark)
	last := c.Calls[len(c.Calls)-1]
	if c.own.kind.StatesChecks() {
		m.takeChecks(c, text, again, errAgain)
		return
	}
	if m.writes(c) {
		m.stateChecks(c, a, b)
	}
	m.callChecks(c)
	if m.changes(last) {
		return
	}
	check, notShort := kinds.AnswerCheck("", text)
	switch {
	case err != nil:
		c.drop("%v", err)
	case !steady:
		c.drop("the answer is another one each time")
	case notShort != nil:
		c.drop("the last result is too long to be the answer: take a field or a pattern of it, or state checks")
	case argumentsSay(c, text):
		c.drop("the task says its answer")
	default:
		c.Answer, c.Checks = answer{text: text}, append(c.Checks, check)
	}
}

// takeChecks takes the checks that a file states, where two plays lead to the same.
func (m *maker) takeChecks(c *Candidate, text, again string, errAgain error) {
	var calls []chat.ToolCall
	for _, x := range c.Calls {
		calls = append(calls, x.chat(""))
	}
	checks, err := c.own.kind.Checks(c.own.values, calls, "", text)
	others, errOthers := c.own.kind.Checks(c.own.values, calls, "", again)
	if err != nil || errOthers != nil || errAgain != nil {
		c.drop("its checks cannot be written: %v", firstOf(err, errOthers, errAgain))
		return
	}
	one, _ := json.Marshal(checks) // of texts and JSON
	two, _ := json.Marshal(others)
	if c.Checks = checks; !bytes.Equal(one, two) {
		c.drop("its checks want something else each time")
	}
	if slices.ContainsFunc(checks, func(x scenario.Check) bool { return x.Type == scenario.AnswerCheck }) {
		c.Answer = answer{text: text}
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// wordings are those of training tasks, or those of the tasks that training does not see.
func (o *own) wordings(split string) []string {
	if split != scenario.Train && split != "" && len(o.kind.HeldOut) > 0 {
		return o.kind.HeldOut
	}
	return o.kind.Wordings
}

// wording names the wordings of a candidate in its provenance.
func (o *own) wording(split string) string {
	name := fmt.Sprintf("%s of %s (%s)", o.kind.Name, filepath.Base(o.file.Name), o.file.Sum[:12])
	if split != scenario.Train && len(o.kind.HeldOut) > 0 {
		name += " held"
	}
	return name
}

// tag says of which kind a candidate is.
func (c *Candidate) tag() string {
	if c.own != nil {
		return "kind:" + c.own.kind.Name
	}
	return "kind:" + c.Kind
}

// ownRows say what became of each kind of a user's file.
func (m *maker) ownRows(drafts []*Candidate, kept []draftOf) (rows []OwnRow) {
	if m.Kinds == nil {
		return nil
	}
	for i := range m.Kinds.Kinds {
		row := OwnRow{Kind: m.Kinds.Kinds[i].Name}
		for _, c := range drafts {
			if c.own == nil || c.own.kind != &m.Kinds.Kinds[i] {
				continue
			}
			row.Drafted++
			if c.Fell == "" {
				row.Good++
			}
			if row.Why = orFirst(row.Why, c.Why); c.own.said != "" && row.Why == c.Why {
				row.Why += ": " + fault.Short(c.own.said)
			}
			if slices.ContainsFunc(kept, func(d draftOf) bool { return d.of == c }) {
				row.Scenarios++
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// OwnRows are the kinds of a user's file as a table; none where there is no file.
func (r *Report) OwnRows() [][]string {
	if len(r.Own) == 0 {
		return nil
	}
	rows := [][]string{{"KIND", "DRAFTED", "GOOD", "SCENARIOS", "WHY ONE FELL"}}
	for _, o := range r.Own {
		rows = append(rows, []string{o.Kind, fmt.Sprint(o.Drafted), fmt.Sprint(o.Good), fmt.Sprint(o.Scenarios), o.Why})
	}
	return rows
}
