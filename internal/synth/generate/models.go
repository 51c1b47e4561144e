package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"hone/internal/fault"
	"hone/internal/llm"
)

// Model is one that can be asked: an endpoint's, or one on this machine. Its Chatter is to keep answers, so that a
// synthesis that goes on asks for none twice.
type Model struct {
	llm.Chatter
	Name string // as the request and the provenance have it
}

// Models are whom a synthesis asks. Without a Teacher templates word the tasks.
type Models struct {
	Teacher *Model
	Held    *Model // words the tasks that training does not see; nil: the teacher, with another prompt
	Judge   *Model // picks tools and scores tasks, also those of templates; nil: the teacher
}

func (m Models) forHeldOut() *Model { return cmp.Or(m.Held, m.Teacher) }

// grader is nil where nobody picks and scores.
func (m Models) grader() *Model { return cmp.Or(m.Judge, m.Teacher) }

// Asked is what came of one prompt.
type Asked struct {
	Prompt     string `json:"prompt"`
	Model      string `json:"model"`
	Asked      int    `json:"asked"`
	Kept       int    `json:"kept"`     // of them answered from what earlier commands paid for
	Nonsense   int    `json:"nonsense"` // answers of no use
	Refused    int    `json:"refused"`  // requests that the endpoint would not take
	Unasked    int    `json:"unasked"`  // for want of budget
	Prompted   int    `json:"prompt_tokens"`
	Completion int    `json:"completion_tokens"`
}

// asking counts what is asked. It may be used from many goroutines.
type asking struct {
	mu   sync.Mutex
	rows map[string]*Asked
}

func (a *asking) count(p prompt, who *Model, add func(*Asked)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rows == nil {
		a.rows = map[string]*Asked{}
	}
	key := p.name + "\x00" + who.Name
	if a.rows[key] == nil {
		a.rows[key] = &Asked{Prompt: p.name, Model: who.Name}
	}
	add(a.rows[key])
}

func (a *asking) all() (list []Asked) {
	for _, key := range slices.Sorted(maps.Keys(a.rows)) {
		list = append(list, *a.rows[key])
	}
	return list
}

// question is one thing asked of a model about a record.
type question struct {
	prompt      promptName
	who         *Model
	data        asked
	temperature float64
	tokens      int    // of the answer at most
	key         string // another one draws another answer
}

// Reasons for which a record falls that has no answer.
const (
	unasked  = "not asked: the budget is spent"
	refused  = "the model refused the request"
	nonsense = "the model's answer is of no use"
)

// ask asks, once, and returns what useful makes of the answer: false is nonsense, which is counted. why is the reason
// for which the record falls. The error is an endpoint that is gone, or ctx's.
func (m *maker) ask(
	ctx context.Context, c *Candidate, q question, useful func(answer string) bool,
) (why string, err error) {
	p, err := readPrompt(q.prompt)
	if err != nil {
		return "", err
	}
	messages, err := p.messages(q.data)
	if err != nil {
		return "", err
	}
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, m.Seed, q.key) // a hash does not fail
	resp, err := q.who.Chat(ctx, llm.Request{Model: q.who.Name, Messages: messages, Temperature: q.temperature,
		MaxTokens: q.tokens, Seed: uint64(h.Sum32()>>1) + 1})
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if code := fault.CodeOf(err); err != nil {
		if code == fault.CodeBudget {
			m.asking.count(p, q.who, func(a *Asked) { a.Unasked++ })
			return unasked, nil
		}
		if _, ok := errors.AsType[*llm.StatusError](err); ok && code == fault.CodeError {
			m.asking.count(p, q.who, func(a *Asked) { a.Asked, a.Refused = a.Asked+1, a.Refused+1 })
			return refused, nil
		}
		return "", err
	}
	answer := strings.TrimSpace(resp.Message.Content)
	if len(resp.Message.ToolCalls) > 0 { // some templates make calls of JSON
		answer = resp.Message.ToolCalls[0].Arguments
	}
	ok := answer != "" && useful(answer)
	m.asking.count(p, q.who, func(a *Asked) {
		a.Asked++
		if resp.Cached {
			a.Kept++
		} else {
			a.Prompted, a.Completion = a.Prompted+resp.Usage.PromptTokens, a.Completion+resp.Usage.CompletionTokens
		}
		if !ok {
			a.Nonsense++
		}
	})
	if !ok {
		return nonsense, nil
	}
	if c != nil {
		c.notePrompt(p)
	}
	return "", nil
}

// notePrompt notes that a prompt had a hand in a record.
func (c *Candidate) notePrompt(p prompt) {
	if c.Prompts == nil {
		c.Prompts = map[string]string{}
	}
	c.Prompts[p.name] = p.hash
}

// through runs a stage over the records that have not fallen, several at once, and counts what it did. A stage gives a
// record that falls its reason.
func (m *maker) through(
	ctx context.Context, stage string, list []*Candidate, do func(context.Context, *Candidate) error,
) error {
	var left []*Candidate
	for _, c := range list {
		if c.Why == "" {
			left = append(left, c)
		}
	}
	var done atomic.Int64
	err := atOnce(m.workers, len(left), func(i int) error {
		err := do(ctx, left[i])
		m.Progress(stage, int(done.Add(1)), len(left), "")
		return err
	})
	if err != nil {
		return err
	}
	reasons := map[string]int{}
	for _, c := range left {
		if c.Why != "" {
			c.Fell = stage
			reasons[c.Why]++
		}
	}
	m.report.stage(stage, len(left), len(left)-sum(reasons), reasons)
	return nil
}
