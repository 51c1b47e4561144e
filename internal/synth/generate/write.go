package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"hone/internal/blob"
	"hone/internal/data/known"
	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
)

// draftOf is a scenario with the candidate that it is of.
type draftOf struct {
	scenario.Scenario
	of       *Candidate
	between  string // what is answered between two messages of a program
	recalled *Call  // that was made for the first one in a conversation before; nil: it shows none
	shown    string // by that call
}

// write makes scenarios of candidates: split first, then worded by a family, or a prompt, of that split. What reads as
// it should not is left out.
func (m *maker) write(ctx context.Context, list []*Candidate) ([]draftOf, error) {
	out := make([]draftOf, len(list))
	for i, c := range list {
		s := scenario.Scenario{Checks: slices.Clone(c.Checks), Setup: m.setupOf(c), Tags: []string{c.tag()}}
		if !c.abstains() {
			for _, x := range c.Calls {
				s.Gold = append(s.Gold, x.gold())
			}
			s.GoldAnswer = m.goldAnswer(c)
		}
		out[i] = draftOf{Scenario: s, of: c}
	}
	m.split(out)
	for i := range out {
		out[i].of.Split = out[i].Split
	}
	if err := m.reword(ctx, out); err != nil {
		return nil, err
	}
	if err := m.asPersons(ctx, out); err != nil {
		return nil, err
	}
	reasons, in := map[string]int{}, 0
	said := map[string]bool{}
	kept := out[:0]
	for i := range out {
		d := &out[i]
		if d.of.Why != "" { // it fell before
			continue
		}
		in++
		why := m.word(d, said)
		if why == "" {
			why = m.unknown(d)
		}
		if why != "" {
			d.of.drop("%s", why)
			reasons[why]++
			continue
		}
		d.of.Task = d.Task
		kept = append(kept, *d)
	}
	m.report.stage("word", in, len(kept), reasons)
	return m.gate(ctx, m.alike(m.oneMeaning(kept)))
}

// gate leaves out tasks whose tool cannot be told from them, and poor ones, where there is a model to say so.
func (m *maker) gate(ctx context.Context, list []draftOf) ([]draftOf, error) {
	if m.grader() == nil {
		return list, nil
	}
	records := make([]*Candidate, len(list))
	for i := range list {
		records[i] = list[i].of
	}
	if err := m.through(ctx, "pick", records, m.pickTool); err != nil {
		return nil, err
	}
	if err := m.through(ctx, "quality", records, m.score); err != nil {
		return nil, err
	}
	var kept []draftOf
	for _, d := range list {
		if d.of.Why == "" {
			kept = append(kept, d)
		} else {
			m.fallen = append(m.fallen, d)
		}
	}
	return kept, nil
}

func (m *maker) setupOf(c *Candidate) (setup []scenario.Gold) {
	for _, x := range m.worlds[c.World].setup {
		setup = append(setup, x.gold())
	}
	return setup
}

// goldAnswer is what a demonstration ends with; "" for the last result itself, which then is short enough to be said.
func (m *maker) goldAnswer(c *Candidate) string {
	if c.Answer.text != "" {
		return c.Answer.text
	}
	if last := m.ledger.get(c.Proof[0]); last != nil {
		if text := last.Results[len(last.Results)-1].Text; len(text) <= 400 && !strings.Contains(text, dirMark) {
			return ""
		}
	}
	return "Done."
}

// rewordings is how often a task that another scenario has is worded anew.
const rewordings = 6

// word gives a scenario its task, id and provenance, or says why there is none.
func (m *maker) word(d *draftOf, said map[string]bool) string {
	kind := "wording:seen"
	if d.Split != scenario.Train {
		kind = "wording:held"
	}
	c := d.of
	key := c.key()
	random := m.random("word", key)
	for try := range rewordings {
		f := pick(random, families(d.Split))
		switch {
		case c.program != nil:
			said := c.program.WordAs(random, d.Split, c.told.requests)
			d.Task, d.GoldAnswer, f.Name = said.Task, said.Answer, "asked "+d.Split
			d.Checks = append(slices.Clone(c.Checks), said.Checks...)
		case c.own != nil:
			d.Task, f.Name = m.text(c, f, random), c.own.wording(d.Split)
			if len(c.own.kind.HeldOut) == 0 {
				kind = "wording:seen"
			}
		case c.Teacher != "": // a model has worded it
			d.Task, f.Name = c.Task, "teacher"
		case try >= rewordings/2: // its description may be all that there is to say
			if f.Request == inDescription {
				f.Request = inName
			}
			fallthrough
		default:
			m.byTemplate(d, f, random)
		}
		if plain := normal(d.Task); !said[plain] &&
			(try == rewordings-1 || c.program != nil || c.Teacher != "" || c.own != nil || !m.describes(d)) {
			said[plain] = true
			d.ID = fmt.Sprintf("%s-%s", strings.ReplaceAll(c.Kind, "_", "-"), blob.Of(key + d.Task).String()[:10])
			d.Tags = append(d.Tags, kind)
			d.Provenance = m.provenance(c, f)
			d.unsaid()
			if len(d.Checks) == 0 {
				return "the task says its answer"
			}
			return ""
		}
	}
	return "another task reads the same"
}

// unknown says why a demonstration would teach an answer that follows from nothing, "" where it can be known.
func (m *maker) unknown(d *draftOf) string {
	if d.of.abstains() || len(d.of.Calls) == 0 || d.GoldAnswer == "" || len(d.of.Proof) == 0 {
		return ""
	}
	played := m.ledger.get(d.of.Proof[0])
	if played == nil {
		return ""
	}
	var c known.Context
	c.Ask(d.Task)
	for _, call := range d.of.Calls {
		c.Call(string(call.Arguments))
	}
	for _, r := range played.Results {
		c.Show(r.Text)
	}
	for _, name := range d.of.tools() {
		if s := m.byName[name]; s != nil {
			c.Offer(s.Name + "\n" + s.Description + "\n" + string(s.InputSchema))
		}
	}
	if c.Missing(d.GoldAnswer) != "" {
		return "its answer is in no result and not in the task"
	}
	return ""
}

// byTemplate words a scenario by a family.
func (m *maker) byTemplate(d *draftOf, f family, r *rand.Rand) {
	if d.of.abstains() {
		m.abstain(&d.Scenario, d.of, f, r)
	} else {
		d.Task = m.text(d.of, f, r)
	}
}

// key names a candidate among all.
func (c *Candidate) key() string {
	key := fmt.Sprint(c.Kind, c.Subject, c.Variant, c.World)
	if c.program != nil {
		key += c.program.Key()
	}
	for _, x := range c.Calls {
		key += x.key()
	}
	return key
}

// normal is a text but for case, white space and punctuation.
func normal(text string) string { return strings.Join(words(strings.ToLower(text)), " ") }

// unsaid takes out a check of an answer that repeating the task would pass.
func (d *draftOf) unsaid() {
	if d.of.Answer.text == "" {
		return
	}
	d.Checks = slices.DeleteFunc(d.Checks, func(c scenario.Check) bool {
		return c.Type == scenario.AnswerCheck && c.Equals != nil && len(*c.Equals) > 1 &&
			strings.Contains(d.Task, *c.Equals)
	})
}

const byHone = "hone synth"

func (m *maker) provenance(c *Candidate, f family) *scenario.Provenance {
	p := &scenario.Provenance{By: byHone, Version: m.Version, Kind: c.Kind, Wording: f.Name, Teacher: c.Teacher,
		Prompts: c.Prompts, Seed: m.Seed, Proof: c.Proof}
	if c.Teacher != "" && c.Split != scenario.Train {
		p.Wording += " held"
	}
	if c.Kind == noTool && c.Teacher == "" {
		p.Wording = ""
	}
	names := c.tools()
	if c.Kind == askBack {
		names = []string{c.Calls[0].Tool}
	}
	for _, x := range m.worlds[c.World].setup {
		names = append(names, x.Tool)
	}
	for _, name := range names {
		if p.Tools == nil {
			p.Tools = map[string]string{}
		}
		p.Tools[name] = m.byName[name].SHA256
	}
	return p
}

// vet tries each scenario as hone scenarios validate does, and plays those that ask for an answer once more: by then
// the time is another. Those that do not hold are left out.
func (m *maker) vet(ctx context.Context, list []draftOf) ([]draftOf, error) {
	why := make([]string, len(list))
	var plays []play
	var at []int
	for i, d := range list {
		if d.of.Answer.text != "" {
			plays = append(plays, play{Setup: m.worlds[d.of.World].setup, Calls: d.of.Calls, Attempt: attempts})
			at = append(at, i)
		}
	}
	got, err := m.all(ctx, plays, func(done int) { m.Progress("replay", done, len(plays), "") })
	if err != nil {
		return nil, err
	}
	for k, p := range got {
		if i := at[k]; !answers(p, list[i].of) {
			why[i] = "a later call is answered otherwise"
		}
	}
	if err := m.validate(ctx, list, why); err != nil {
		return nil, err
	}
	if err := m.blind(ctx, list, why); err != nil {
		return nil, err
	}
	reasons := map[string]int{}
	var out []draftOf
	for i, d := range list {
		if why[i] == "" {
			out = append(out, d)
		} else {
			reasons[why[i]]++
		}
	}
	m.report.stage("validate", len(list), len(out), reasons)
	return out, nil
}

// answers reports whether a play still ends with a candidate's answer.
func answers(p *Played, c *Candidate) bool {
	if p.Lost != "" || len(p.Results) != len(c.Calls) {
		return false
	}
	text := p.Results[len(p.Results)-1].Text
	if c.own != nil {
		taken, err := c.own.answer(p)
		return err == nil && taken == c.Answer.text
	}
	if c.Answer.field == "" {
		return strings.TrimSpace(text) == c.Answer.text
	}
	return slices.ContainsFunc(leavesOf(text), func(l leaf) bool {
		return l.name() == c.Answer.field && strings.TrimSpace(l.text()) == c.Answer.text
	})
}

// validate tries each scenario that has no reason against it yet.
func (m *maker) validate(ctx context.Context, list []draftOf, why []string) error {
	var done atomic.Int64
	return atOnce(m.workers, len(list), func(i int) error {
		defer func() { m.Progress("validate", int(done.Add(1)), len(list), "") }()
		if why[i] != "" || list[i].of.program != nil { // whose plays have shown what a check wants
			return nil
		}
		found := checktest.Alone(&list[i].Scenario)
		if len(found) == 0 && checktest.Looks(&list[i].Scenario) {
			said, err := m.vetOnce(ctx, &list[i].Scenario)
			if err != nil {
				return err
			}
			found = said
		}
		if len(found) > 0 {
			why[i] = general(found[0])
		}
		return nil
	})
}

// unsound says why train would refuse the task of a program, whose plays have shown what a check wants of the servers:
// its answer passes no check, or any answer does, or the echo of the task.
func (m *maker) unsound(d *draftOf) string {
	s := m.inMessages(d) // between two messages the first is answered
	found := checktest.Alone(&s)
	asks := d.of.told != nil && d.of.told.Later() > 0 || !slices.ContainsFunc(d.of.Calls, m.changes)
	if len(found) == 0 && asks && checktest.EchoAnswers(&s) {
		found = []string{checktest.EchoPasses}
	}
	if len(found) == 0 {
		return ""
	}
	return general(found[0])
}

// general is a finding without what differs from row to row: the first parts of "gold[0] (tool): tool_error: text".
func general(finding string) string {
	if parts := strings.SplitN(finding, ": ", 3); len(parts) == 3 {
		return parts[0] + ": " + parts[1]
	}
	return finding
}

// quiet reports whether trying a scenario changes nothing, and looks at nothing but results: then it needs no session
// of its own.
func (m *maker) quiet(s *scenario.Scenario) bool {
	return len(s.Setup) == 0 && !slices.ContainsFunc(s.Checks, func(c scenario.Check) bool { return c.Look() != "" }) &&
		!slices.ContainsFunc(s.Gold, func(g scenario.Gold) bool { return !m.byName[g.Name].pure })
}

// vetOnce is what vet finds wrong on the servers; the ledger has it, where it was tried before.
func (m *maker) vetOnce(ctx context.Context, s *scenario.Scenario) ([]string, error) {
	text, _ := json.Marshal(s) // of texts and JSON
	key := "vet " + blob.Of(text).String()[:24]
	if got := m.ledger.get(key); got != nil {
		return got.Changed, nil
	}
	trial := m.Trial
	if m.quiet(s) {
		trial.Tools = lent{&m.player}
	} else if m.player.renewed != nil {
		trial.Tools = m.player.renewed
	}
	found, err := trial.Row(ctx, s)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return found, m.ledger.put(key, &Played{Changed: found})
}
