package generate

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// followUp is the kind of a task that somebody asks behind another one, in the same conversation.
const followUp = "follow_up"

// One in so many tasks becomes a follow-up, where it can, which comes to one in twenty: of 232 that people wrote for
// four servers 10 are.
const followUpOneIn = 16

// mostCalls is how many calls the two tasks take at most: with two answers an episode has 16 completions by default.
const mostCalls = 14

// behind is what people say before they ask the next thing, by split.
var behind = map[string][]string{
	scenario.Train: {"", "", "Thanks. ", "Thank you! ", "ok, next: ", "Good. ", "And another thing: ", "One more. ",
		"Great. Then this: "},
	scenario.Validation: {"", "Fine. ", "Thanks, next one. "},
	scenario.Test:       {"", "Perfect, thank you. ", "Alright. And: ", "Something else: "},
}

// followUps has some tasks asked behind a question of the same split over the same state. A question changes nothing,
// so the checks of the task hold as they are. What it has shown is not called for again.
func (m *maker) followUps(r *rand.Rand, list []scenario.Scenario) []scenario.Scenario {
	out := slices.Clone(list)
	for i := range list {
		if r.IntN(followUpOneIn) > 0 || !follows(&list[i]) {
			continue
		}
		for _, at := range r.Perm(len(list)) {
			first := &list[at]
			if at != i && m.isQuestion(first) && first.Split == list[i].Split && sameSetup(first, &list[i]) {
				if both, ok := after(r, first, &list[i]); ok {
					out[i] = both
					break
				}
			}
		}
	}
	return out
}

// inTwo has a request said in two messages where its words are. What there is to look up is looked up after the first;
// between them is said what a demonstration answers, or asks where a word is missing. later is how many of the last
// calls are those of the second.
func (m *maker) inTwo(s scenario.Scenario, between string, later int) scenario.Scenario {
	first, second, ok := strings.Cut(s.Task, " "+programs.NextMessage+" ")
	if !ok {
		return s
	}
	at := len(s.Gold) - later
	if between == "" {
		between = programs.WhichSpelling
		at = slices.IndexFunc(s.Gold, func(g scenario.Gold) bool { return !m.byName[g.Name].ReadOnly })
	}
	s.Task, s.User = "", &scenario.User{Says: []string{first, second}}
	if s.Gold = slices.Clone(s.Gold); at >= 0 {
		s.Gold[at].Asks = between
	}
	return s
}

// inMessages is a task in the messages in which it is said.
func (m *maker) inMessages(d *draftOf) scenario.Scenario {
	if d.of.told == nil {
		return d.Scenario
	}
	s := m.inTwo(d.Scenario, d.between, d.of.told.Later())
	if at := len(s.Gold) - d.of.told.Later(); at < len(s.Gold) {
		s.Gold[at].AsksReasoning = d.of.told.First()
	}
	if d.of.told.Recalled() != nil {
		return d.recall(s)
	}
	return s
}

// recall has the first of two messages said and answered in a conversation before, in which no table was listed. At
// times that shows the call that was made for it.
func (d *draftOf) recall(s scenario.Scenario) scenario.Scenario {
	says := s.User.Says
	s.Messages = []chat.Message{{Role: chat.User, Content: says[0]}}
	if c := d.recalled; c != nil {
		call := c.chat("call_0")
		s.Messages = append(s.Messages, chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}},
			chat.Message{Role: chat.ToolRole, Content: d.shown, ToolCallID: call.ID, Name: c.Tool})
	}
	s.Messages = append(s.Messages, chat.Message{Role: chat.Assistant, Content: d.between},
		chat.Message{Role: chat.User, Content: says[1]})
	s.User = nil
	for i := range s.Gold {
		s.Gold[i].Asks, s.Gold[i].AsksReasoning = "", ""
	}
	return s
}

// follows reports whether a task can be asked behind another one.
func follows(s *scenario.Scenario) bool {
	return s.Task != "" && s.User == nil && len(s.Messages) == 0 && len(s.Gold) > 0 && len(s.Slips) == 0 &&
		s.GoldAnswer != "" && !slices.ContainsFunc(s.Checks, func(c scenario.Check) bool {
		return !slices.Contains([]string{scenario.AnswerCheck, scenario.StateCheck, scenario.FileCheck,
			scenario.SQLCheck, scenario.UnchangedCheck}, c.Type) // the others say which calls are made
	})
}

// isQuestion reports whether a task asks for something that its calls show, changes nothing, and is answered without a
// working. It changes nothing where no check looks at the state, or no call is of a tool that can.
func (m *maker) isQuestion(s *scenario.Scenario) bool {
	looked := slices.ContainsFunc(s.Checks, func(c scenario.Check) bool {
		return c.Type != scenario.AnswerCheck && (c.Type != scenario.UnchangedCheck || len(c.Ignore) > 0)
	})
	writes := slices.ContainsFunc(s.Gold, func(g scenario.Gold) bool { return !m.byName[g.Name].ReadOnly })
	none := []string{programs.AskBack, programs.Unknown, programs.Cannot, programs.Leave}
	return follows(s) && s.GoldReasoning == "" && isAnswer(s.Checks) && !(looked && writes) &&
		!slices.Contains(none, s.Provenance.Kind)
}

func isAnswer(checks []scenario.Check) bool {
	return slices.ContainsFunc(checks, func(c scenario.Check) bool { return c.Type == scenario.AnswerCheck })
}

func sameSetup(a, b *scenario.Scenario) bool {
	return slices.EqualFunc(a.Setup, b.Setup, func(x, y scenario.Gold) bool {
		return x.Name == y.Name && bytes.Equal(x.Arguments, y.Arguments)
	})
}

// after is a task behind a question. It is none where no call is left for it, or where both are too long.
func after(r *rand.Rand, first, then *scenario.Scenario) (both scenario.Scenario, ok bool) {
	both = *then
	both.Task, both.User = "", &scenario.User{Says: []string{first.Task, pick(r, behind[then.Split]) + then.Task}}
	both.Gold = slices.Clone(first.Gold)
	for _, g := range then.Gold {
		if slices.ContainsFunc(first.Gold, func(x scenario.Gold) bool {
			return x.Name == g.Name && bytes.Equal(x.Arguments, g.Arguments)
		}) {
			continue
		}
		if len(both.Gold) == len(first.Gold) {
			g.Asks = first.GoldAnswer
		}
		both.Gold = append(both.Gold, g)
	}
	both.Checks = nil
	for _, c := range first.Checks {
		if c.Type == scenario.AnswerCheck {
			c.AnyTurn = true // the last one answers the other
			both.Checks = append(both.Checks, c)
		}
	}
	both.Checks = append(both.Checks, then.Checks...)
	both.ID = "follow-up" + then.ID[strings.LastIndexByte(then.ID, '-'):]
	both.Tags = []string{"kind:" + followUp}
	p := *then.Provenance
	p.Kind, p.Proof, p.Tools = followUp, slices.Concat(first.Provenance.Proof, p.Proof), map[string]string{}
	for _, from := range []*scenario.Provenance{first.Provenance, then.Provenance} {
		for tool, hash := range from.Tools {
			p.Tools[tool] = hash
		}
	}
	both.Provenance = &p
	return both, len(both.Gold) > len(first.Gold) && len(both.Gold) <= mostCalls
}
