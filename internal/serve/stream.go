package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/policy"
)

// news is a token that was drawn for an answer, or with nil that the answer has ended. Of a task it is one of the
// others too.
type news struct {
	answer  *answer
	token   *policy.Token
	turned  bool           // the completion has ended, and the task goes on
	step    *Step          // a call is made, or has its result
	said    []chat.Message // what was added to the conversation so far
	stopped string         // the limit that ended the task
	told    chan struct{}  // closed once the client was told; nil where nobody waits for that
}

// feed hands tokens from the sampler, which must not wait, to a client, which may be slow. A completion's tokens are
// bounded, so the feed is.
type feed struct {
	mu   sync.Mutex
	news []news
	more chan struct{} // one place: there is something new
	done chan struct{} // closed once nothing follows
}

func newFeed() *feed { return &feed{more: make(chan struct{}, 1), done: make(chan struct{})} }

func (f *feed) add(n news) {
	f.mu.Lock()
	f.news = append(f.news, n)
	f.mu.Unlock()
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// addCall adds a task's news. A call is made only once the client was told of it.
func (f *feed) addCall(ctx context.Context, n news) {
	if n.step == nil || n.step.Status != "" {
		f.add(n)
		return
	}
	n.told = make(chan struct{})
	f.add(n)
	select {
	case <-n.told:
	case <-ctx.Done():
	}
}

// take waits for news and returns what has come; none once all was taken. Where nothing comes for as long as pingEvery,
// idle is called.
func (f *feed) take(idle func()) []news {
	quiet := time.NewTicker(pingEvery)
	defer quiet.Stop()
	for {
		ended := false
		select {
		case <-f.more:
		case <-f.done:
			ended = true
		case <-quiet.C:
			idle()
			continue
		}
		f.mu.Lock()
		come := f.news
		f.news = nil
		f.mu.Unlock()
		if ended || come != nil { // a signal may come for what an earlier one brought
			return come
		}
	}
}

// stream samples an exchange and sends it as server-sent events while it grows. Where something was sent already, an
// error is told in the stream, which then has no end of the usual kind.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, x *exchange, d dialect) error {
	ctx, cancel := context.WithCancel(ctx)
	f := newFeed()
	var err error
	go func() {
		defer close(f.done)
		if x.request.agent != nil {
			err = s.work(ctx, x, f.addCall)
		} else {
			err = s.sampleAll(ctx, x, func(a *answer, t *policy.Token) { f.add(news{answer: a, token: t}) })
		}
	}()
	defer func() {
		cancel() // where the client is gone
		<-f.done
	}()
	e := &events{w: w}
	t := d.teller(x, e)
	ping := func() {
		if e.ping(); e.gone {
			cancel()
		}
	}
	for come := f.take(ping); come != nil; come = f.take(ping) {
		for _, n := range come {
			s.tell(x, n, t, e)
			// a client that is gone was told of nothing: the request ends, and with it the wait
			if n.told != nil && !e.gone {
				close(n.told)
			}
		}
		if e.gone {
			x.gone = true
			return nil
		}
	}
	<-f.done
	switch {
	case e.gone:
		x.gone = true
	case err != nil:
		if e.open && !isGone(ctx) {
			x.refused = s.refusal(ctx, x, err)
			t.fail(x.refused)
		}
		return err
	default:
		t.end()
	}
	return nil
}

// tell tells of one piece of news.
func (s *Server) tell(x *exchange, n news, t teller, e *events) {
	a := n.answer
	if !e.begun {
		if n.token != nil {
			x.version = n.token.PolicyVersion
		} else { // only now is the completion whole; before, the sampler may be writing it
			x.version = a.PolicyVersion
		}
		e.begin()
		t.begin()
	}
	if n.token != nil {
		a.note(n.token, x.request)
	}
	deltas, comment := x.read(n)
	for _, d := range deltas {
		t.delta(a, d)
	}
	if comment != "" {
		e.line(comment)
	}
	if n.ends() {
		t.finish(a)
	}
}

// ends reports whether nothing follows of the answer.
func (n news) ends() bool { return n.token == nil && n.step == nil && n.said == nil && !n.turned }

// note remembers a token for the next event: logprobs and ids go with what they settled, which may be several tokens'
// text.
func (a *answer) note(t *policy.Token, q *request) {
	if !q.logprobs && !q.ids {
		return
	}
	a.noted.IDs, a.noted.SamplerLogprobs = append(a.noted.IDs, t.ID), append(a.noted.SamplerLogprobs, t.Logprob)
	if q.sampling.TopLogprobs > 0 {
		a.noted.TopLogprobs = append(a.noted.TopLogprobs, t.Top)
	}
}

// takeCompletion returns what was noted; nil where that is nothing.
func (a *answer) takeCompletion() *policy.Completion {
	if len(a.noted.IDs) == 0 {
		return nil
	}
	c := a.noted
	a.noted = policy.Completion{}
	return &c
}

// events writes server-sent events.
type events struct {
	w     http.ResponseWriter
	open  bool // the headers are sent
	begun bool // the first event is
	gone  bool // the client is: nothing is written any more
}

// pingEvery is how long a stream says nothing before it says that it is alive: a long prompt, a queue, or a long call,
// which is told of when it has ended. What stands between cuts idle connections, mostly after a minute.
const pingEvery = 10 * time.Second

// ping sends a comment, which no client reads (HTML standard, server-sent events).
func (e *events) ping() {
	e.head()
	e.line(": ping")
}

func (e *events) begin() {
	e.begun = true
	e.head()
}

func (e *events) head() {
	if e.open {
		return
	}
	e.open = true
	e.w.Header().Set("Content-Type", "text/event-stream")
	e.w.Header().Set("Cache-Control", "no-store")
	e.w.Header().Set("X-Accel-Buffering", "no") // nginx holds events back else
	e.w.WriteHeader(http.StatusOK)
}

// data sends an event without a name.
func (e *events) data(v any) { e.send("", v) }

// send sends an event.
func (e *events) send(name string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		e.gone = true
		return
	}
	if name != "" {
		e.line("event: " + name + "\ndata: " + string(text))
		return
	}
	e.line("data: " + string(text))
}

// line sends an event as it is written. A client that takes nothing for as long as there is patience (Options) is gone.
func (e *events) line(text string) {
	if e.gone {
		return
	}
	_, err := e.w.Write([]byte(text + "\n\n"))
	if err == nil {
		err = http.NewResponseController(e.w).Flush()
	}
	e.gone = err != nil
}
