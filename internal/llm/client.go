// Package llm is a thin client of OpenAI-compatible chat endpoints: the judge, the teacher, the model that collects.
//
// It adds what the endpoints do not give: bounded retries, a budget of tokens, a cache by request digest, so that
// a resumed run never pays twice for an answer, and errors without secrets. Policy speaks with it in episodes.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"hone/internal/chat"
	"hone/internal/fault"
)

// assumedCompletion is reserved in tokens where a request sets no MaxTokens; such a call may overspend by the rest.
const assumedCompletion = 4096

// Options of a Client. Only BaseURL is required.
type Options struct {
	BaseURL string // up to and including the version: "http://127.0.0.1:8000/v1"
	Key     Secret // sent as a bearer token where not empty
	// tokens, prompt and completion, of all answers; 0: no limit. What an attempt without an answer cost is not known,
	// so not counted
	TokenBudget int
	BudgetUSD   float64 // US dollars of all answers, by Cost; 0: no limit
	Budget      *Budget // shared with other clients, in place of TokenBudget and BudgetUSD; nil: none
	// Cost is what a request of so many tokens costs, in US dollars; nil where it is not known.
	Cost       func(promptTokens, completionTokens int) float64
	CacheDir   string // answers are kept here by request digest; empty: no cache
	MaxRetries int    // attempts after the first; 0: 5, negative: none
	// Patience is how long a call is tried again beyond MaxRetries; 0: not at all. An endpoint that turns calls away
	// for an hour is waited for, where that is what the caller can afford.
	Patience time.Duration

	API         string        // OpenAI or Anthropic; empty: OpenAI
	Concurrency int           // most attempts at once, fewer while the endpoint is overloaded; 0: no bound
	GiveUpAfter int           // calls in a row that fail until the endpoint is left alone for Rest; 0: it never is
	Rest        time.Duration // 0: 1 minute

	Timeout   time.Duration     // of one attempt; 0: 5 minutes
	BackOff   time.Duration     // upper bound of the first wait, doubled each time; 0: 500 ms
	MaxWait   time.Duration     // upper bound of any wait, Retry-After included; 0: 1 minute
	Transport http.RoundTripper // nil: http.DefaultTransport
	Rand      func() float64    // uniform in [0, 1), spreads the waits; nil: math/rand
}

// Client talks to one endpoint. It may be used from many goroutines.
type Client struct {
	o      Options
	url    string
	http   *http.Client
	budget *Budget
	mine   Budget // what this client has used
	turns  turns
	hones  atomic.Bool // hone's own server has answered

	pace    *pace
	breaker breaker
	dialect dialect
}

// New checks the options and returns a client. It sends nothing.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" {
		// The URL itself is not shown: what makes it wrong may be a password inside it.
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot use the endpoint's base URL",
			Why:  "it must be http(s)://host[:port]/path, without a user name or a query",
			Next: "put the key into its own setting"}
	}
	if o.Budget == nil {
		o.Budget = NewBudget(o.TokenBudget, o.BudgetUSD)
	}
	if o.Budget.usd > 0 && o.Cost == nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "a budget in dollars cannot be held", Where: o.BaseURL,
			Why: "what the model costs is not known",
			Next: "give its prices in hone.yaml, as providers: {NAME: {prices: {MODEL: {prompt: 0.15, completion: " +
				"0.6}}}}, or a budget of tokens"}
	}
	defaults(&o)
	path := "/chat/completions"
	if o.API == Anthropic {
		path = "/messages"
	}
	return &Client{
		o:       o,
		url:     strings.TrimRight(o.BaseURL, "/") + path,
		pace:    newPace(o.Concurrency),
		breaker: breaker{most: o.GiveUpAfter, rest: o.Rest},
		budget:  o.Budget,
		http: &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirected POST loses its body, and may carry the key elsewhere
		}},
	}, nil
}

func defaults(o *Options) {
	if o.MaxRetries == 0 {
		o.MaxRetries = 5
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Minute
	}
	if o.BackOff == 0 {
		o.BackOff = 500 * time.Millisecond
	}
	if o.MaxWait == 0 {
		o.MaxWait = time.Minute
	}
	if o.Rest == 0 {
		o.Rest = time.Minute
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
}

// Request asks for one completion. Two equal requests share a cache entry: give each of several samples its own Seed.
type Request struct {
	Model       string         `json:"model"`
	Messages    []chat.Message `json:"messages"`
	Tools       []chat.Tool    `json:"tools,omitempty"`
	Temperature float64        `json:"temperature"`
	MaxTokens   int            `json:"max_tokens,omitempty"` // 0: the endpoint's default
	Seed        uint64         `json:"seed,omitempty"`
	TopP        float64        `json:"top_p,omitempty"` // this and the next two leave out improbable tokens; 0 is off
	TopK        int            `json:"top_k,omitempty"`
	MinP        float64        `json:"min_p,omitempty"`
}

// Usage counts tokens.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
}

// Total is the number of tokens in both directions.
func (u Usage) Total() int { return u.PromptTokens + u.CompletionTokens }

// Response is one completion.
type Response struct {
	Message      chat.Message `json:"message"`
	Usage        Usage        `json:"usage"`
	FinishReason string       `json:"finish_reason"` // "stop", "length", "tool_calls", or the endpoint's own
	// that it took when it was asked for, whenever that was; 0 of an answer that another hone kept
	Seconds float64 `json:"seconds,omitempty"`
	Cached  bool    `json:"-"` // answered by the cache, nothing was spent

	hones bool // hone's own server answered
}

// StatusError is an answer other than 200. It is inside the *fault.Error that Chat returns.
type StatusError struct {
	Status  int
	Code    string // the endpoint's own, such as "context_length_exceeded"; may be empty
	Message string // what the endpoint said, shortened, without our key
	Param   string // the parameter it objects to; may be empty
}

func (e *StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s %s", e.Status, http.StatusText(e.Status), e.Message))
}

// Usage returns the tokens used so far, cache hits not counted.
func (c *Client) Usage() Usage {
	used, _ := c.mine.Usage()
	return used
}

// cost are tokens with what they cost.
func (c *Client) cost(u Usage) sum {
	s := sum{Usage: u}
	if c.o.Cost != nil {
		s.usd = c.o.Cost(u.PromptTokens, u.CompletionTokens)
	}
	return s
}

// CostUSD is what they cost in US dollars, 0 where Options has no Cost.
func (c *Client) CostUSD() float64 {
	_, usd := c.mine.Usage()
	return usd
}

// Chat asks for one completion, from the cache where it is there. Errors are *fault.Error: CodeBudget where the
// tokens left do not cover the request, CodeUnavailable where the endpoint failed after all retries, CodeUsage where
// it refused the key or the model, CodeError where it refused this request; or ctx's error.
func (c *Client) Chat(ctx context.Context, r Request) (Response, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return Response{}, &fault.Error{What: "cannot encode the request", Where: c.url, Err: err}
	}
	end, err := c.turn(ctx, body)
	if err != nil {
		return Response{}, err
	}
	defer end()
	cached, ok, err := c.lookup(body)
	if ok || err != nil {
		return cached, err
	}
	// An upper estimate: no tokeniser in use makes more than one token of a byte, and few more than one of two.
	worst := Usage{PromptTokens: len(body)/2 + 1, CompletionTokens: r.MaxTokens}
	if r.MaxTokens == 0 {
		worst.CompletionTokens = assumedCompletion
	}
	reserved := c.cost(worst)
	if err := c.budget.reserve(reserved); err != nil {
		return Response{}, &fault.Error{Code: fault.CodeBudget, What: "the budget is spent", Where: c.url, Err: err,
			Next: "raise the budget and resume: answers already paid for are kept"}
	}
	if err := c.breaker.allow(time.Now()); err != nil {
		c.budget.settle(reserved, sum{}, false)
		return Response{}, &fault.Error{Code: fault.CodeUnavailable, What: "the endpoint is not asked", Where: c.url,
			Err: err, Next: "check that it is running, then resume"}
	}
	asked := time.Now()
	resp, err := c.retry(ctx, r)
	resp.Seconds = time.Since(asked).Seconds()
	c.breaker.end(time.Now(), err != nil && again(err), ctx.Err() != nil)
	c.budget.settle(reserved, c.cost(resp.Usage), err == nil)
	c.mine.settle(sum{}, c.cost(orAll(resp.Usage, worst)), err == nil)
	if err != nil {
		return Response{}, c.explain(ctx, err)
	}
	return resp, c.store(body, resp)
}

// orAll is what was used, or where an answer does not say it, what it may have been.
func orAll(used, worst Usage) Usage {
	if used.Total() <= 0 {
		return worst
	}
	return used
}

func (c *Client) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f := &fault.Error{Code: fault.CodeUnavailable, What: "the endpoint did not answer", Where: c.url, Err: err,
		Next: "check that it is running, then resume"}
	var status *StatusError
	var bad *badAnswer
	switch {
	case errors.As(err, &bad):
		f.What, f.Next = "the endpoint's answer is of no use",
			"check that the base URL is that of an OpenAI-compatible API, then resume"
	case errors.As(err, &status):
		f.What = "the endpoint answered with errors alone"
	}
	if errors.As(err, &status) && !retryable(status.Status) {
		f.Code, f.What, f.Next = fault.CodeError, "the endpoint refused the request",
			"change what it objects to: the endpoint, the model, the tools or the limits"
		switch status.Status {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			f.Next = "give the base URL it redirects to"
		case http.StatusUnauthorized, http.StatusForbidden:
			f.Code, f.Next = fault.CodeUsage, "check the API key"
		case http.StatusNotFound:
			f.Code, f.Next = fault.CodeUsage, "check the base URL and the model's name"
		}
	}
	return f
}
