package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// attempts are the episodes of a group as they are shown: what all of them begin with, and of each the rest. Attempts
// that are the same, word for word, are shown once and share a score.
type attempts struct {
	context []chat.Message
	tools   []chat.Tool
	each    []attempt
	of      []int // which of each a member of the group is
}

// attempt is what is shown of one.
type attempt struct {
	facts    facts
	messages []chat.Message
}

// facts are what rules know of an attempt: a judge need not count, and cannot be told otherwise.
type facts struct {
	Ended       string `json:"ended"`
	Turns       int    `json:"turns"`
	Calls       int    `json:"calls"`
	FailedCalls int    `json:"failed_calls"`
}

func factsOf(t *trajectory.Trajectory) facts {
	f := facts{Ended: "by itself", Turns: len(t.Turns)}
	if t.Outcome != trajectory.OK {
		f.Ended = "cut: " + string(t.StopReason)
	}
	for _, r := range t.Calls() {
		f.Calls++
		if r.Status != trajectory.CallOK {
			f.FailedCalls++
		}
	}
	return f
}

// attemptsOf are those of a group, at least one.
func attemptsOf(ts []*trajectory.Trajectory) (attempts, error) {
	var a attempts
	seen := map[string]int{}
	var kinds []*trajectory.Trajectory
	for _, t := range ts {
		key, err := json.Marshal(struct {
			Facts    facts
			Messages []chat.Message
		}{factsOf(t), withoutReasoning(t.Messages)})
		if err != nil {
			return a, err
		}
		i, known := seen[string(key)]
		if !known {
			i = len(kinds)
			seen[string(key)], kinds = i, append(kinds, t)
		}
		a.of = append(a.of, i)
	}
	shared := len(kinds[0].Messages)
	for _, t := range kinds[1:] {
		n := 0
		for n < min(shared, len(t.Messages)) && reflect.DeepEqual(t.Messages[n], kinds[0].Messages[n]) {
			n++
		}
		shared = n
	}
	if len(kinds) == 1 { // all of them begin alike to their ends: what they were asked is what the opening says
		shared = min(kinds[0].Opening, shared)
	}
	a.context, a.tools = withoutReasoning(kinds[0].Messages[:shared]), kinds[0].Tools
	for _, t := range kinds {
		a.each = append(a.each, attempt{factsOf(t), withoutReasoning(t.Messages[shared:])})
	}
	return a, nil
}

// withoutReasoning are messages without what the policy thought: a plan is no deed, and an opening such as "Thought
// process:" alone moves judges (arXiv 2507.08794).
func withoutReasoning(messages []chat.Message) []chat.Message {
	out := make([]chat.Message, len(messages))
	for i, m := range messages {
		m.ReasoningContent = ""
		out[i] = m
	}
	return out
}

// level says how much of long texts is shown.
type level struct {
	most int // bytes of a text
	keep int // messages at each end of an attempt, and half of those of what all begin with; 0: all
}

// levels are from the one that leaves nothing out to the one that leaves most out.
func levels() []level {
	all := []level{{1 << 30, 0}}
	for most := 1 << 16; most >= 96; most = most * 3 / 4 {
		all = append(all, level{most, 0})
	}
	for _, keep := range []int{20, 12, 8, 5, 3, 2, 1} {
		all = append(all, level{96, keep})
	}
	return all
}

// cut shortens a text to about so many bytes: its beginning and its end, with what is left out between them.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := text[:most*2/3], text[len(text)-most/3:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("[... %d bytes left out ...]", len(text)-len(head)-len(tail)) +
		strings.ToValidUTF8(tail, "")
}

// write writes messages as JSON, one on a line.
func (l level) write(b *strings.Builder, messages []chat.Message, keep int) error {
	for i, m := range messages {
		if left := len(messages) - 2*keep; keep > 0 && left > 1 && i >= keep && i < keep+left {
			if i == keep {
				fmt.Fprintf(b, "[%d messages left out]\n", left)
			}
			continue
		}
		m.Content = cut(m.Content, l.most)
		var calls []chat.ToolCall
		for _, c := range m.ToolCalls {
			c.Arguments = cut(c.Arguments, l.most)
			calls = append(calls, c)
		}
		m.ToolCalls = calls
		text, err := plainJSON(m)
		if err != nil {
			return err
		}
		b.WriteString(text + "\n")
	}
	return nil
}

func (l level) writeTools(b *strings.Builder, tools []chat.Tool) error {
	for _, t := range tools {
		shown := struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters,omitempty"`
		}{t.Name, cut(t.Description, l.most), t.InputSchema}
		if len(shown.Parameters) > l.most {
			shown.Parameters = nil
		}
		text, err := plainJSON(shown)
		if err != nil {
			return err
		}
		b.WriteString(text + "\n")
	}
	return nil
}

// plainJSON is JSON in one line in which <, > and & are themselves.
func plainJSON(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// reference is what the judge knows of a scenario and the agent did not, in the rubric's order: the parts that there
// are.
func (r *Rubric) reference(s *scenario.Scenario, more func(id string) map[string]any) (string, error) {
	var b strings.Builder
	var known map[string]any
	if more != nil {
		known = more(s.ID)
	}
	for _, key := range r.References {
		var value any
		switch {
		case known[key] != nil:
			value = known[key]
		case key == "gold" && len(s.Gold) > 0:
			value = s.Gold
		case key == "gold_answer" && s.GoldAnswer != "":
			value = s.GoldAnswer
		case key == "task" && s.Task != "":
			value = s.Task
		default:
			continue
		}
		text, err := plainJSON(map[string]any{key: value})
		if err != nil {
			return "", errors.New("the reference of scenario " + s.ID + " is no JSON: " + err.Error())
		}
		b.WriteString(text + "\n")
	}
	return b.String(), nil
}
