package generate

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// attempts is how often each candidate is played, in sessions of their own: the second tells what stays.
const attempts = 2

// prove plays the candidates, and makes their checks of what they came to. Those that do not hold get a reason; what
// the first play shows to be of no use has no second.
func (m *maker) prove(ctx context.Context, list []*Candidate) error {
	var got [attempts][]*Played
	left, played := list, map[*Candidate][]*Played{}
	for attempt := range attempts {
		plays := make([]play, len(left))
		for i, c := range left {
			r := m.worlds[c.World]
			plays[i] = play{Setup: r.setup, Calls: c.Calls, Attempt: attempt}
			if m.writes(c) {
				if plays[i].Looks = r.looks; c.noted != nil {
					plays[i].Looks = append(slices.Clone(r.looks), c.noted.look)
				}
			}
			c.Proof = append(c.Proof, plays[i].name())
		}
		var err error
		if got[attempt], err = m.playAndTell(ctx, []string{"execute", "execute again"}[attempt], plays); err != nil {
			return err
		}
		var holds []*Candidate
		for i, c := range left {
			p := got[attempt][i]
			played[c] = append(played[c], p)
			if m.useless(c, p); c.Why == "" {
				holds = append(holds, c)
			}
		}
		left = holds
	}
	for _, c := range left {
		m.check(c, played[c][0], played[c][1])
	}
	reasons := map[string]int{}
	for _, c := range list {
		if c.Why != "" {
			c.Fell = "execute"
			reasons[c.Why]++
		}
	}
	m.report.stage("execute", len(list), len(list)-sum(reasons), reasons)
	return nil
}

// playAndTell plays a list and tells of it. A stage that plays several lists counts on, so that its numbers are those
// of the report.
func (m *maker) playAndTell(ctx context.Context, stage string, plays []play) ([]*Played, error) {
	before := m.stages[stage]
	m.stages[stage] += len(plays)
	return m.all(ctx, plays, func(done int) { m.Progress(stage, before+done, before+len(plays), "") })
}

// useless drops a candidate for what one play of it shows.
func (m *maker) useless(c *Candidate, p *Played) {
	if p.Lost != "" {
		c.drop("a server was lost")
		return
	}
	for i, r := range p.Results {
		refused := c.Kind == recovery && i == 0
		switch {
		case refused && r.Status != trajectory.CallToolError:
			c.drop("the call that was to be refused is answered")
		case !refused && !r.ok():
			if s := m.byName[c.Calls[i].Tool]; s != nil {
				s.later = orFirst(s.later, r.Text)
			}
			c.drop("a call is refused")
		case !refused && m.Trial.Refusal != nil && m.Trial.Refusal(r.Text) != "":
			c.drop("an error that is not marked as one")
		case !refused && (c.own == nil || !c.own.kind.StatesChecks()):
			if sign := senseless(r.Text, c.Calls...); sign != "" {
				s := m.byName[c.Calls[i].Tool]
				s.senseless = orFirst(s.senseless, sign)
				c.drop("an answer has no sense: %s", sign)
			}
		}
		if c.Why != "" {
			if c.own != nil {
				c.own.said = r.Text
			}
			if len(c.Proof) > 1 { // the first play was of use
				c.drop("a call is answered at times and refused at others")
			}
			return
		}
	}
	if !c.fed(p) {
		c.drop("the value that a call is to take is not in the result before")
	} else if (c.own == nil || !c.own.kind.StatesChecks()) && len(c.Proof) > 0 && m.idles(c) &&
		m.effect(m.worlds[c.World], p) == "" {
		c.drop("a call that is to change something changes nothing")
	}
}

// fed reports whether a play answered the values that its later calls take of earlier results. A random one is another
// in each session: an agent that takes what it is told would not make the gold call.
func (c *Candidate) fed(p *Played) bool {
	if c.own != nil {
		return c.own.fedBy(c.Calls, p)
	}
	for i, x := range c.Calls {
		if x.Fed == "" {
			continue
		}
		raw, text := find(x.Arguments, x.Fed), p.Results[i-1].Text
		if x.Within != "" {
			if got, ok := soleOf(text, c.Calls[i-1].Arguments); !ok || got.name() != x.Field ||
				!bytes.Equal(raw, quote(strings.Replace(x.Within, hole, got.text(), 1))) {
				return false
			}
			continue
		}
		if x.Field == "" &&
			(bytes.Equal(whole(text), raw) || raw[0] != '"' && slices.Contains(wholeNumbers(text), string(raw))) {
			continue
		}
		if !slices.ContainsFunc(leavesOf(text),
			func(l leaf) bool { return l.name() == x.Field && bytes.Equal(l.raw, raw) }) {
			return false
		}
	}
	return true
}

func sum(counts map[string]int) (n int) {
	for _, one := range counts {
		n += one
	}
	return n
}

func (m *maker) writes(c *Candidate) bool {
	return slices.ContainsFunc(c.Calls, func(x Call) bool { return !m.byName[x.Tool].pure })
}

// check makes the checks of a candidate from two plays of it.
func (m *maker) check(c *Candidate, a, b *Played) {
	if c.own != nil {
		m.checkOwn(c, a, b)
		return
	}
	if m.writes(c) {
		m.stateChecks(c, a, b)
	}
	if c.program != nil {
		if m.idles(c) && len(c.Checks) == 0 {
			c.drop("what is changed does not show")
		}
		return
	}
	if len(c.Checks) == 0 && len(a.Changed) == 0 && m.idles(c) {
		c.drop("a call that is to change something changes nothing")
		return
	}
	m.callChecks(c)
	m.answerCheck(c, a, b)
	if len(c.Checks) == 0 {
		c.drop("nothing of it can be checked")
	}
}

// idles reports whether a candidate has a call that is there for what it changes.
func (m *maker) idles(c *Candidate) bool {
	calls := c.Calls
	if c.Kind == recovery {
		calls = calls[1:]
	}
	return slices.ContainsFunc(calls, m.changes)
}

// changes reports whether a call is there for what it changes.
func (m *maker) changes(x Call) bool { return m.byName[x.Tool].writes }

// mostState is how many looks one scenario is held to.
const mostState = 2

// stateChecks want what the calls left behind: what looks answer in both plays and did not answer before.
func (m *maker) stateChecks(c *Candidate, a, b *Played) {
	r := m.worlds[c.World]
	for i, look := range r.looks {
		if len(c.Checks) == mostState || i >= len(a.Seen) || i >= len(b.Seen) || !a.Seen[i].ok() || !b.Seen[i].ok() ||
			r.before[i].same(a.Seen[i].Text) {
			continue
		}
		check := scenario.Check{Type: scenario.StateCheck, Name: look.Tool, Arguments: look.Arguments}
		s := stableOf(a.Seen[i].Text, b.Seen[i].Text, a.At, b.At)
		added, found := addedLine(r.before[i].text, a.Seen[i].Text, b.Seen[i].Text, a.At, b.At)
		switch {
		case s.equal && len(s.text) <= mostText && !s.json:
			check.Equals = &s.text
		case s.json && len(s.leaves) > 0 && (len(s.text) <= mostText || countLine.MatchString(added) &&
			len(s.text) <= mostCounted):
			check.Matches = s.pattern()
		case found:
			check.Contains = &added
		default:
			continue
		}
		c.Checks = append(c.Checks, check)
	}
	if n := len(r.looks); c.noted != nil && len(a.Seen) > n && len(b.Seen) > n {
		line, found := addedLine(c.noted.before, a.Seen[n].Text, b.Seen[n].Text, a.At, b.At)
		if c.Checks = nil; !found || !strings.Contains(line, c.program.Slot("v")) {
			return
		}
		c.Checks = []scenario.Check{
			{Type: scenario.StateCheck, Name: c.noted.look.Tool, Arguments: c.noted.look.Arguments,
				Contains: &line},
		}
	}
	if len(c.Checks) == 0 {
		m.fileChecks(c, a, b)
	}
}

// countLine is a line that says how many things there are, whichever they are.
var countLine = regexp.MustCompile(`^"[\w ]+": *\d+,?$`)

// mostCounted bounds a text that a check wants whole where a count is all that is new in it, in bytes.
const mostCounted = 4 * mostText

// mostText bounds a text that a check wants whole, in bytes.
const mostText = 3000

// addedLine is a line that two texts have and a third has not, and that does not say the time at which it was made.
func addedLine(before, a, b string, at ...int64) (string, bool) {
	had, also := strings.Split(before, "\n"), strings.Split(b, "\n")
	for _, one := range strings.Split(a, "\n") {
		text := strings.TrimSpace(one)
		if len(text) > 3 && len(text) < 200 && !strings.Contains(text, dirMark) && !slices.Contains(had, one) &&
			slices.Contains(also, one) && !strings.Contains(before, text) && !saysNow(text, at) {
			return text, true
		}
	}
	return "", false
}

// fileChecks want what both plays left of a file: its text, where that is short, else that it is there, or gone.
func (m *maker) fileChecks(c *Candidate, a, b *Played) {
	for _, change := range a.Changed {
		verb, rest, _ := strings.Cut(change, " ")
		server, path, _ := strings.Cut(rest, " ")
		text, known := a.Files[rest]
		also, same := b.Files[rest]
		same = same && known && also == text && strings.TrimSpace(text) != "" && !saysNow(text, []int64{a.At, b.At})
		there := verb == "added"
		if !slices.Contains(b.Changed, change) || strings.HasPrefix(path, ".") || len(c.Checks) == mostState ||
			verb == "changed" && !same {
			continue
		}
		check := scenario.Check{Type: scenario.FileCheck, Server: server, Path: path}
		if same {
			check.Equals = &text
		} else {
			check.Exists = &there
		}
		c.Checks = append(c.Checks, check)
	}
}

// callChecks want the calls that are not seen in what they leave: those that change nothing, and all where nothing is
// seen.
func (m *maker) callChecks(c *Candidate) {
	left := len(c.Checks) > 0
	for i, x := range c.Calls {
		refused := c.Kind == recovery && i == 0
		if left && m.changes(x) && !refused {
			continue
		}
		c.Checks = append(c.Checks,
			scenario.Check{Type: scenario.CallCheck, Name: x.Tool, Arguments: x.Arguments, Refused: refused})
	}
}

// answer is what the agent is asked to say: a field of the last result, or all of it where that is short.
type answer struct {
	field string // "" for the whole
	text  string // "" where nothing is asked
}

// mostAnswer is what a small model can still copy, in bytes.
const mostAnswer = 48

// answerCheck wants a short part of the last result that stays and that no argument gives away.
func (m *maker) answerCheck(c *Candidate, a, b *Played) {
	last := len(c.Calls) - 1
	x := c.Calls[last]
	if m.changes(x) || c.Kind == pair {
		return
	}
	s := stableOf(a.Results[last].Text, b.Results[last].Text, a.At, b.At)
	if found, ok := m.fieldOf(c, s); ok {
		c.Answer = found
	} else if text := strings.TrimSpace(s.text); s.equal && !s.json && short(text) {
		c.Answer = answer{text: text}
	} else {
		return
	}
	if argumentsSay(c, c.Answer.text) || m.constant(c, x, c.Answer) {
		c.Answer = answer{}
		return
	}
	text := c.Answer.text
	c.Checks = append(c.Checks, scenario.Check{Type: scenario.AnswerCheck, Equals: &text})
}

func short(text string) bool {
	return len(text) >= 1 && len(text) <= mostAnswer && !strings.ContainsAny(text, "\n\r") &&
		!strings.Contains(text, dirMark)
}

// fieldOf is a leaf to ask for: one whose name no other has, neither empty nor said in the arguments.
func (m *maker) fieldOf(c *Candidate, s stable) (answer, bool) {
	names := map[string]int{}
	for _, l := range leavesOf(s.text) {
		names[l.name()]++
	}
	var fits []answer
	for _, l := range s.leaves {
		text := strings.TrimSpace(l.text())
		if names[l.name()] == 1 && l.name() != "" && short(text) && !argumentsSay(c, text) &&
			wordsOfName(l.name()) != "" {
			if one := (answer{l.name(), text}); !m.constant(c, c.Calls[len(c.Calls)-1], one) {
				fits = append(fits, one)
			}
		}
	}
	if len(fits) == 0 {
		return answer{}, false
	}
	return pick(m.random("answer", c.Proof[0]), fits), true
}

// argumentsSay reports whether the arguments say a text: then to repeat them would answer.
func argumentsSay(c *Candidate, text string) bool {
	for _, x := range c.Calls {
		said := string(x.Arguments)
		for _, l := range leavesOf(said) { // as they read without escapes
			said += " " + l.text()
		}
		if says(flat(said), leaf{raw: whole(text)}) {
			return true
		}
	}
	return false
}

// constant reports whether the tool answers so whatever it is asked: then the answer shows nothing.
func (m *maker) constant(c *Candidate, x Call, want answer) bool {
	others, same := 0, 0
	for _, t := range m.worlds[c.World].good {
		if t.call.Tool != x.Tool || string(t.call.Arguments) == string(x.Arguments) {
			continue
		}
		others++
		text := t.got.Results[0].Text
		if want.field == "" && strings.TrimSpace(text) == want.text {
			same++
		}
		for _, l := range leavesOf(text) {
			if want.field != "" && l.name() == want.field && strings.TrimSpace(l.text()) == want.text {
				same++
				break
			}
		}
	}
	return others > 0 && same == others
}

// describe is a check as a word, for the report.
func describe(checks []scenario.Check) string {
	var types []string
	for _, c := range checks {
		if !slices.Contains(types, c.Type) {
			types = append(types, c.Type)
		}
	}
	slices.Sort(types)
	return strings.Join(types, "+")
}

// argumentsOf are the arguments of a call in their order.
func argumentsOf(c Call) []member { return members(c.Arguments) }
