package revise

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/chat"
)

// Corruption makes drafts with errors of given kinds from gold calls: a source of errors that needs no model. It is
// fitted to the errors that models were seen to make.
type Corruption struct {
	Weights map[string]float64 `json:"weights"` // of each kind; they add up to 1
	Twice   float64            `json:"twice"`   // share of drafts with two errors
}

// prior is what each kind counts for that was never seen.
const prior = 1.0

// Fit is the corruption with the kinds of errors of rows, each kind counted once more so that none is never made.
func Fit(rows []Row) Corruption {
	c := Corruption{Weights: map[string]float64{}}
	total, twice, wrong := 0.0, 0.0, 0.0
	for _, k := range AllKinds() {
		c.Weights[k] = prior
		total += prior
	}
	for _, r := range rows {
		if len(r.Kinds) == 0 {
			continue
		}
		wrong++
		if len(r.Kinds) > 1 {
			twice++
		}
		for _, k := range r.Kinds {
			c.Weights[k]++
			total++
		}
	}
	for k := range c.Weights {
		c.Weights[k] /= total
	}
	c.Twice = (twice + prior) / (wrong + 4*prior)
	return c
}

// draw is a kind by its weight.
func (c Corruption) draw(r *rand.Rand) string {
	x := r.Float64()
	for _, k := range AllKinds() {
		if x -= c.Weights[k]; x < 0 {
			return k
		}
	}
	return WrongValue
}

// tries is how many kinds are drawn for a point, of which most may not apply.
const tries = 16

// Draft is a draft of a point with one error or two, and whether one could be made. All that is random is seed's.
func (c Corruption) Draft(p *Point, fixer *Fixer, seed uint64) (chat.Message, bool) {
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	for range tries {
		calls := slices.Clone(p.GoldCalls())
		kind := c.draw(r)
		if r.Float64() < c.Twice && len(calls) > 0 {
			if twice, ok := corruptCalls(calls, c.draw(r), p, fixer.names, r); ok {
				calls = twice
			}
		}
		m := chat.Message{Role: chat.Assistant}
		var ok bool
		if m.Content, ok = corruptText(calls, kind, r); !ok {
			if m.ToolCalls, ok = corruptCalls(calls, kind, p, fixer.names, r); !ok {
				continue
			}
		}
		if len(Kinds(m, p, fixer, nil)) > 0 {
			return m, true
		}
	}
	return chat.Message{}, false
}

// Closing is an answer in words at the end of a scenario, of what was answered last: a draft that is right as it makes
// no call. Where nothing was called it is an answer without tools.
func Closing(p *Point, seed uint64) chat.Message {
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	last := p.Messages[len(p.Messages)-1]
	if last.Role == chat.User {
		plain := []string{"I can answer that without a tool.", "None of my tools does that.",
			"I cannot help with that here.", "Could you tell me more about what you need?"}
		return chat.Message{Role: chat.Assistant, Content: plain[r.IntN(len(plain))]}
	}
	said := shorten(strings.TrimSpace(last.Content), maxDraft/2)
	forms := []string{"The result is: %s", "%s",
		"Here is what came back:\n%s\n\nLet me know if you need more.", "Done. %s"}
	return chat.Message{Role: chat.Assistant, Content: fmt.Sprintf(forms[r.IntN(len(forms))], said)}
}

// corruptText makes errors that a text has and a list of calls has not.
func corruptText(calls []chat.ToolCall, kind string, r *rand.Rand) (string, bool) {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var lines []string
	for _, c := range calls {
		lines = append(lines, DraftText(chat.Message{ToolCalls: []chat.ToolCall{c}}))
	}
	text := strings.Join(lines, "\n")
	switch kind {
	case NoCall:
		return pick("I can help with that.", "Sure! Let me do that for you.", "The answer is "+calls[0].Name+".",
			"I need to use a tool for this task.", "Done."), true
	case Prose:
		return pick("Sure, here you go:\n", "I will call the tool.\n", "```json\n", "Here is the call: ") + text +
			pick("", "\n```", "\nLet me know if you need more."), true
	case Truncated:
		whole := "<tool_call>\n" + text
		return whole[:len(whole)-1-r.IntN(max(1, len(text)*2/3))], true
	case Format:
		switch r.IntN(4) {
		case 0:
			text = strings.ReplaceAll(text, `"`, "'")
		case 1:
			text = strings.Replace(text, `": `, `" `, 1)
		case 2:
			text = strings.TrimSuffix(text, "}")
		default:
			text = strings.Replace(text, `{"name": `, `{name: `, 1)
		}
		return "<tool_call>\n" + text + "\n</tool_call>", true
	}
	return "", false
}

// corruptCalls makes errors of a list of calls.
func corruptCalls(calls []chat.ToolCall, kind string, p *Point, tools []string, r *rand.Rand) ([]chat.ToolCall, bool) {
	out := slices.Clone(calls)
	c := &out[r.IntN(len(out))]
	switch kind {
	case HallucinatedTool:
		verb := []string{"get_", "run_", "do_", "execute_", "tool_", ""}[r.IntN(6)]
		c.Name = verb + c.Name + []string{"", "_tool", "_v2", "s"}[r.IntN(4)]
		return out, c.Name != calls[0].Name
	case WrongTool:
		var others []string
		for _, t := range tools {
			if t != c.Name {
				others = append(others, t)
			}
		}
		if len(others) == 0 {
			return out, false
		}
		c.Name = others[r.IntN(len(others))]
		return out, true
	case MissingCall:
		return out[1:], len(out) > 1
	case ExtraCall:
		extra := *c
		extra.ID = fmt.Sprintf("call_%d", len(out))
		return append(out, extra), true
	case Order:
		if len(p.Later) > 0 {
			c.Name, c.Arguments = p.Later[0].Name, string(p.Later[0].Arguments)
			return out, true
		}
		slices.Reverse(out)
		return out, len(out) > 1
	}
	o, ok := objectOf(c.Arguments)
	if !ok {
		return out, false
	}
	changed, ok := corruptArguments(o, kind, r)
	if !ok {
		return out, false
	}
	text, err := chat.AppendJSON(nil, changed, chat.Format{KeepNumbers: true})
	c.Arguments = string(text)
	return out, err == nil
}
