package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"hone/internal/chat"
	"hone/internal/episode/policy"
)

// The clock of patterns in schemas ends by itself, a little after their last use.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))
}

const stopID = 0

// runes is a renderer whose token ids are Unicode code points, whose reasoning reads "THINK ... SO " and whose calls
// read "CALL name args".
type runes struct{}

func (runes) Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error) {
	var b strings.Builder
	for _, t := range tools {
		b.WriteString("[" + t.Name + "]")
	}
	for _, m := range messages {
		b.WriteString(m.Role + ":")
		if m.ReasoningContent != "" {
			b.WriteString("THINK " + m.ReasoningContent + " SO ")
		}
		b.WriteString(m.Content + "\n")
	}
	return ids(b.String()), nil
}
func (runes) Next([]chat.Message, int, []int32, []chat.Tool) ([]int32, string, error) {
	return nil, "", nil
}
func (runes) Completion(m chat.Message) ([]int32, error) {
	if strings.Contains(m.Content, "CALL ") {
		return nil, errors.New("it is not read back")
	}
	return append(ids(m.Content), stopID), nil
}
func (runes) Parse(completion []int32, _ []chat.Tool) (chat.Message, string) {
	text := strings.TrimSuffix(text(completion), "\x00")
	m := chat.Message{Role: chat.Assistant}
	if inner, ok := strings.CutPrefix(text, "THINK "); ok {
		m.ReasoningContent, text, _ = strings.Cut(inner, " SO ")
	}
	content, rest, ok := strings.Cut(text, "CALL ")
	m.Content = content
	if !ok {
		return m, ""
	}
	for _, c := range strings.Split(rest, "CALL ") {
		name, args, _ := strings.Cut(c, " ")
		m.ToolCalls = append(m.ToolCalls,
			chat.ToolCall{ID: fmt.Sprint("call_", len(m.ToolCalls)), Name: name, Arguments: args})
	}
	return m, ""
}
func (runes) StopIDs() []int32 { return []int32{stopID} }

// decoder gives the text of each id at once.
type decoder struct{}

func (decoder) Next(id int32) string { return string(id) }
func (decoder) Close() string        { return "" }

// reader passes content on as it comes, but for what may become a call; reasoning and calls it passes on in the end.
type reader struct{ text, told string }

func (r *reader) Feed(text string) []chat.Delta {
	r.text += text
	if strings.HasPrefix(r.text, "T") {
		return nil
	}
	n := beforeStop(r.text, []string{"CALL "})
	return r.tell(r.text[:n])
}

func (r *reader) tell(content string) []chat.Delta {
	more := content[len(r.told):]
	if r.told = content; more == "" {
		return nil
	}
	return []chat.Delta{{Content: more}}
}

func (r *reader) Close() (out []chat.Delta) {
	m, _ := runes{}.Parse(ids(r.text+"\x00"), nil) // which takes a stop id off
	if m.ReasoningContent != "" {
		out = append(out, chat.Delta{Reasoning: m.ReasoningContent})
	}
	out = append(out, r.tell(m.Content)...)
	for i := range m.ToolCalls {
		out = append(out, chat.Delta{Call: &m.ToolCalls[i]})
	}
	return out
}

func ids(s string) []int32 {
	var out []int32
	for _, r := range s {
		out = append(out, r)
	}
	return out
}

func text(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteRune(id)
	}
	return b.String()
}

// sampler says one thing, to everyone, and keeps what it was asked. With a gate, each Sample waits for it.
type sampler struct {
	says     string
	finish   policy.FinishReason
	err      error
	numSlots int
	gate     chan struct{}
	seen     chan struct{} // where not nil, the first completion waits for it behind its first token
	late     error         // and fails then, where not nil

	mu        sync.Mutex
	asked     []policy.Request
	started   chan struct{} // one for each Sample that began, where not nil
	cancelled chan struct{} // one for each Sample that was cancelled, where not nil
}

func (s *sampler) NumSlots() int { return max(1, s.numSlots) }

func (s *sampler) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r)
	waits := s.seen != nil && len(s.asked) == 1
	s.mu.Unlock()
	if s.started != nil {
		s.started <- struct{}{}
	}
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			if s.cancelled != nil {
				s.cancelled <- struct{}{}
			}
			return policy.Completion{}, ctx.Err()
		}
	}
	if s.err != nil {
		return policy.Completion{}, s.err
	}
	c := policy.Completion{IDs: ids(s.says), FinishReason: s.finish, PolicyVersion: 4}
	if c.FinishReason == "" {
		c.FinishReason = policy.FinishStop
		c.IDs = append(c.IDs, stopID)
	}
	for _, stop := range r.Stop { // ends with its token, as if that went on behind it
		if before, _, found := strings.Cut(s.says, stop); found {
			c.IDs, c.FinishReason = ids(before+stop+"~"), policy.FinishStop
			c.Text, c.StopText = before, stop
		}
	}
	for i := range c.IDs {
		c.SamplerLogprobs = append(c.SamplerLogprobs, -float32(i)/8)
		if r.TopLogprobs > 0 {
			c.TopLogprobs = append(c.TopLogprobs,
				[]policy.TokenLogprob{{ID: c.IDs[i], Logprob: -float32(i) / 8}, {ID: 'z', Logprob: -9}})
		}
		if r.Each == nil {
			continue
		}
		token := policy.Token{ID: c.IDs[i], Logprob: c.SamplerLogprobs[i], PolicyVersion: c.PolicyVersion}
		if r.TopLogprobs > 0 {
			token.Top = c.TopLogprobs[i]
		}
		r.Each(token)
		if waits && i == 0 { // sampling goes on only once the client has seen the first token
			select {
			case <-s.seen:
			case <-ctx.Done():
				return policy.Completion{}, ctx.Err()
			}
			if s.late != nil {
				return policy.Completion{}, s.late
			}
		}
	}
	return c, nil
}
