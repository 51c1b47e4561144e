package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/policy"
	"hone/internal/run/metrics"
)

// dialect is a protocol in which completions are asked for and told. It translates, and does nothing else: all dialects
// are answered by generate.
type dialect interface {
	// read reads what a client asks for.
	read(w http.ResponseWriter, r *http.Request) (*request, *apiError)
	// name begins the ids of answers.
	name() string
	// whole is the answer to x where it is not streamed.
	whole(x *exchange) any
	// teller tells of x as a stream.
	teller(x *exchange, e *events) teller
	// failure is an error in the dialect's form.
	failure(e *apiError) any
}

// teller tells of an exchange as it grows. What it writes once the client is gone is lost.
type teller interface {
	begin()                  // before all else, once the policy version is known
	delta(a *answer, d told) // something was added to the message of one of the answers
	finish(a *answer)        // one of the answers has ended
	end()                    // all have
	fail(e *apiError)        // in place of the end
}

// exchange is one request on its way: what was asked, and what came.
type exchange struct {
	id      string
	created time.Time
	model   *served
	request *request
	answers []*answer
	version int       // policy version of all of it, once begun
	owner   int       // which key it came with
	past    []*answer // of a task: the completions before the last
	refused *apiError // what the client was told in place of an answer, or behind the beginning of one
	gone    bool      // the client was, before its stream ended
}

// answer is one completion of an exchange.
type answer struct {
	index  int
	prompt []int32
	policy.Completion
	*reading
	blocks []block
	noted  policy.Completion // tokens that a stream has not told of
	first  time.Time         // when its first token was drawn
	behind bool              // of a task: text stands before its own
	begun  bool              // of a task whose calls were made
}

// block is a part of an answer's message, in the order in which the model wrote it: text, reasoning, or a call.
type block struct {
	text, reasoning string
	call            *chat.ToolCall
}

// told is what a stream tells of at one time: what was added to a block, and whether it is a new one.
type told struct {
	chat.Delta
	at  int // number of the block
	new bool
}

// grow adds what was settled to the blocks.
func (a *answer) grow(deltas []chat.Delta) (out []told) {
	for _, d := range deltas {
		last := len(a.blocks) - 1
		fresh := last < 0 || d.Arguments == "" &&
			(d.Call != nil || a.blocks[last].call != nil || (d.Reasoning != "") != (a.blocks[last].reasoning != ""))
		if fresh {
			a.blocks = append(a.blocks, block{})
			last++
		}
		b := &a.blocks[last]
		b.text += d.Content
		b.reasoning += d.Reasoning
		if d.Call != nil {
			call := *d.Call // it may grow, and what is told does not
			b.call = &call
		}
		if d.Arguments != "" {
			b.call.Arguments += d.Arguments
		}
		out = append(out, told{d, last, fresh})
	}
	return out
}

// cut reports whether the answer ended for want of room.
func (a *answer) cut() bool { return a.FinishReason != policy.FinishStop }

// finish is why an answer ended, in OpenAI's words.
func (a *answer) finish() *string {
	reason := "length"
	if !a.cut() {
		reason = "stop"
		if len(a.message.ToolCalls) > 0 {
			reason = "tool_calls"
		}
	}
	return &reason
}

// counts are the tokens of an exchange: a prompt counts once, however many completions it has.
func (x *exchange) counts() (prompt, completion int) {
	for i, a := range x.answers {
		if i%x.request.n == 0 {
			prompt += len(a.prompt)
		}
		completion += len(a.IDs)
	}
	for _, a := range x.past {
		prompt, completion = prompt+len(a.prompt), completion+len(a.IDs)
	}
	return prompt, completion
}

// generating answers a route of completions.
func (s *Server) generating(d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, refused := d.read(w, r)
		if refused == nil {
			refused = q.check(s.o.Agent, r.Header)
		}
		if refused != nil {
			s.count(refused)
			refuseAs(w, refused, d.failure(refused))
			return
		}
		s.tellOmissions(w, r, q.aside)
		x := &exchange{id: newID(d.name()), created: time.Now(), request: q, owner: ownerOf(r.Context())}
		if x.model, refused = s.models.take(q.model); refused != nil {
			s.count(refused)
			refuseAs(w, refused, d.failure(refused))
			return
		}
		defer s.models.leave(x.model)
		err := s.generate(r.Context(), w, x, d)
		x.gone = x.gone || isGone(r.Context())
		if err != nil && !x.gone && x.refused == nil { // else nobody is there to be told, or was told in the stream
			x.refused = s.refusal(r.Context(), x, err)
			refuseAs(w, x.refused, d.failure(x.refused))
		}
		s.measure(x)
		numPrompt, numCompletion := x.counts()
		s.o.Logger.Info("completion", "id", x.id, "request", w.Header().Get(RequestID), "model", x.model.ID,
			"prompt_tokens", numPrompt, "completion_tokens", numCompletion, "policy_version", x.version, "seconds",
			time.Since(x.created).Seconds(), "failed", x.refused != nil)
	}
}

// refusal is what the client is told of an error; what is the server's own fault is in the log.
func (s *Server) refusal(ctx context.Context, x *exchange, err error) *apiError {
	if refused := CutOff(ctx); refused != nil {
		return refused
	}
	refused := asRefusal(err)
	if errors.Is(err, errForm) {
		if refused.Param = "tools"; x.request.answer != nil {
			refused.Param = x.request.answer.param
		}
	}
	if refused.Status >= 500 {
		s.o.Logger.Error("a completion failed", "id", x.id, "model", x.model.ID, "error", err)
	}
	return refused
}

// generate samples and writes an exchange, as a stream where that is asked for. Behind the first event the client is
// told of an error in the stream.
func (s *Server) generate(ctx context.Context, w http.ResponseWriter, x *exchange, d dialect) error {
	if err := s.prepare(ctx, x); err != nil {
		return err
	}
	if x.request.stream {
		return s.stream(ctx, w, x, d)
	}
	var come []news
	if x.request.agent != nil {
		if err := s.work(ctx, x, func(_ context.Context, n news) { come = append(come, n) }); err != nil {
			return err
		}
	} else {
		if err := s.sampleAll(ctx, x, func(*answer, *policy.Token) {}); err != nil {
			return err
		}
		for _, a := range x.answers {
			for _, id := range a.IDs {
				come = append(come, news{answer: a, token: &policy.Token{ID: id}})
			}
			come = append(come, news{answer: a})
		}
	}
	for _, n := range come {
		x.read(n)
	}
	x.version = x.answers[0].PolicyVersion
	writeJSON(w, http.StatusOK, d.whole(x))
	return nil
}

// prepare renders the prompts, and makes a reading for each completion.
func (s *Server) prepare(ctx context.Context, x *exchange) error {
	q, m := x.request, x.model
	if err := m.slots.admits(); err != nil {
		return err
	}
	prompts := q.prompts
	for _, text := range q.raw {
		prompts = append(prompts, m.Encode(text))
	}
	plain := prompts != nil
	if !plain {
		if err := s.shorten(ctx, q.messages); err != nil {
			return err
		}
		prompt, refused := m.prompt(q)
		if refused != nil {
			return refused
		}
		prompts = [][]int32{prompt}
	}
	if most := m.Sampler.NumSlots(); q.n > most/max(1, len(prompts)) { // a product of theirs may overflow
		return invalid("n",
			fmt.Sprintf("%d completions of each of %d prompts are asked for at once; the server samples %d",
				q.n, len(prompts), most))
	}
	for _, prompt := range prompts {
		if len(prompt) == 0 {
			return invalid("prompt", "a prompt has no tokens")
		}
		for range q.n {
			r := s.reading(x, q, prompt, q.messages)
			x.answers = append(x.answers, &answer{index: len(x.answers), prompt: prompt, reading: r})
		}
	}
	return nil
}

// prompt renders a conversation, up to where the answer is to go on.
func (m *served) prompt(q *request) ([]int32, *apiError) {
	prompt, err := m.Renderer.Prompt(q.messages, q.promptTools())
	if err != nil {
		return nil, invalid("messages", "the conversation cannot be rendered: "+err.Error())
	}
	if q.begun == nil {
		return prompt, nil
	}
	begun, err := m.Renderer.Completion(*q.begun)
	if err != nil {
		return nil, invalid("messages",
			"the beginning of the answer is nothing that the model could have said: "+err.Error())
	}
	for len(begun) > 0 && slices.Contains(m.Renderer.StopIDs(), begun[len(begun)-1]) {
		begun = begun[:len(begun)-1]
	}
	return append(prompt, begun...), nil
}

// reading makes a reading of a completion behind a prompt, which a request asks for: of a task, its turn's.
func (s *Server) reading(x *exchange, q *request, prompt []int32, messages []chat.Message) *reading {
	m := x.model
	r := &reading{decoder: m.NewDecoder(), ends: m.Renderer.StopIDs(), stops: q.sampling.Stop,
		first: nextCall(messages), unique: newID("")[1:], message: chat.Message{Role: chat.Assistant}}
	if r.reader = (&plainReader{}); q.prompts == nil && q.raw == nil {
		r.reader = m.Read(prompt, q.promptTools())
		// a stop text may end a call anywhere
		if q.choice.mode == choiceRequired && len(q.sampling.Stop) == 0 && m.Shape != nil && m.Shape.Read != nil {
			r.reader = m.Shape.Read(prompt)
		}
	}
	return r
}

// read takes a piece of news into the answer that it is of, and returns what clients are told: pieces of its blocks,
// and of a task a comment.
func (x *exchange) read(n news) (out []told, comment string) {
	a := n.answer
	if x.request.agent != nil {
		x.turn(a)
		if comment = x.note(n); n.step != nil || n.said != nil {
			return nil, comment
		}
	}
	var deltas []chat.Delta
	if n.token != nil {
		deltas = a.next(n.token.ID)
	} else {
		deltas = a.close(&a.Completion)
	}
	if x.request.agent == nil {
		return a.grow(deltas), ""
	}
	out = a.grow(x.separateTexts(a, withoutCalls(deltas)))
	if n.ends() {
		x.sum(a)
	}
	return out, comment
}

// plainReader reads nothing but text.
type plainReader struct{}

func (plainReader) Feed(text string) []chat.Delta {
	if text == "" {
		return nil
	}
	return []chat.Delta{{Content: text}}
}
func (plainReader) Close() []chat.Delta { return nil }

// shorten puts in place of tools' results what the model is shown of them, as it was in training.
func (s *Server) shorten(ctx context.Context, messages []chat.Message) (err error) {
	if s.o.Shorten == nil {
		return nil
	}
	calls := map[string]chat.ToolCall{}
	for i := range messages {
		m := &messages[i]
		for _, c := range m.ToolCalls {
			calls[c.ID] = c
		}
		if m.Role != chat.ToolRole {
			continue
		}
		if m.Content, err = s.o.Shorten(ctx, calls[m.ToolCallID], m.Content); err != nil {
			return err
		}
	}
	return nil
}

// seed is what the draws of an exchange are made from.
func (x *exchange) seed() uint64 {
	if x.request.seed != nil {
		return uint64(*x.request.seed)
	}
	return rand.Uint64()
}

// sampleAll samples the completions of an exchange beside each other. each is told of a token as soon as it is drawn,
// and with nil of an answer's end; it must not block.
func (s *Server) sampleAll(ctx context.Context, x *exchange, each func(a *answer, t *policy.Token)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(x.answers))
	var all sync.WaitGroup
	seed := x.seed()
	for i, a := range x.answers {
		all.Go(func() {
			if errs[i] = s.sample(ctx, x, x.request, a, policy.Key{Seed: seed, Stream: uint64(i)},
				each); errs[i] != nil {
				cancel()
				return
			}
			each(a, nil)
		})
	}
	all.Wait()
	var failed error
	for _, err := range errs { // the one that made the others stop comes first
		if err != nil && (failed == nil || errors.Is(failed, context.Canceled)) {
			failed = err
		}
	}
	return failed
}

// sample samples one completion in a slot of its own.
func (s *Server) sample(
	ctx context.Context, x *exchange, q *request, a *answer, key policy.Key, each func(*answer, *policy.Token),
) error {
	m := x.model
	form, refused := m.constraint(q, a.prompt) // one for each completion: it keeps where that is
	if refused != nil {
		return refused
	}
	slot, err := m.slots.acquire(ctx, m.Adapter, x.owner, a.prompt, a.begun)
	if err != nil {
		return err
	}
	s.metrics.Observe(queueTime, metrics.Labels("model_name", m.ID), time.Since(x.created))
	held := a.prompt
	defer func() { m.slots.release(slot, m.Adapter, x.owner, held) }()
	sampling := q.sampling
	if !q.ignoreEOS {
		sampling.StopIDs = append(m.Renderer.StopIDs(), q.sampling.StopIDs...)
	}
	if sampling.MaxTokens == 0 {
		sampling.MaxTokens = s.o.MaxTokens
	}
	request := policy.Request{Prompt: a.prompt, Slot: slot, Adapter: m.Adapter, Owner: x.owner, Key: key,
		Sampling: sampling, Constraint: form}
	request.Each = func(t policy.Token) {
		if a.first.IsZero() {
			a.first = time.Now()
		}
		each(a, &t)
	}
	if a.Completion, err = m.Sampler.Sample(ctx, request); err != nil {
		held = nil // what the slot holds now is not known
		return formError(form, err)
	}
	held = append(a.prompt[:len(a.prompt):len(a.prompt)], a.IDs...)
	return nil
}
