// Package tinker trains and samples on a server behind the Tinker API: rows go out, logprobs come back, and weights
// stay there. Its wire is that of the SDK tinker 0.25 to 0.38: protobuf for passes and completions, JSON for all
// else. What a request began is a future, asked for until it is there.
package tinker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hone/internal/fault"
)

// Options of a Client. URL is required.
type Options struct {
	URL     string        // of the server, without /api/v1
	Model   string        // the base model's name there; empty: the only one
	Key     fault.Secret  // sent as X-API-Key where not empty
	Slots   int           // completions of a Sampler at once; 0: 16
	Timeout time.Duration // of what one request began; 0: an hour
	Retries int           // attempts after the first at a request that was not answered; 0: 4, negative: none
	BackOff time.Duration // upper bound of the first wait, doubled each time; 0: 500 ms
	Poll    time.Duration // of one question for a future; 0: 45 s, as the SDK
	Beat    time.Duration // between signs of life; 0: 10 s, as the SDK

	Transport http.RoundTripper // nil: http.DefaultTransport
}

// Client is a session at a server.
type Client struct {
	o       Options
	base    string // the base model's name there
	session string
	http    *http.Client
	models  atomic.Int64 // made in the session so far
	samples atomic.Int64 // sampling sessions so far

	stop  context.CancelFunc
	beats sync.WaitGroup
}

// sdkVersion is that of the SDK whose wire this is.
const sdkVersion = "0.38.0"

const (
	maxAnswer  = 1 << 30 // bytes
	maxMessage = 500     // bytes of a server's error text that are kept
	maxWait    = 30 * time.Second
)

// Open looks for the base model at a server and begins a session, which is kept alive until Close.
func Open(ctx context.Context, o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" {
		// The URL itself is not shown: what makes it wrong may be a password inside it.
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot use the URL of the trainer",
			Why:  "it must be http(s)://host[:port]/path, without a user name or a query",
			Next: "set trainer.url, and put a key into the variable that trainer.key_env names"}
	}
	o.URL = strings.TrimSuffix(strings.TrimRight(o.URL, "/"), "/api/v1")
	setDefault(&o.Timeout, time.Hour)
	setDefault(&o.BackOff, 500*time.Millisecond)
	setDefault(&o.Poll, 45*time.Second)
	setDefault(&o.Beat, 10*time.Second)
	o.Retries, o.Slots = cmp.Or(o.Retries, 4), cmp.Or(o.Slots, 16)
	c := &Client{o: o, http: &http.Client{Transport: o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirected POST loses its body, and may carry the key elsewhere
		}}}
	if err := c.choose(ctx); err != nil {
		return nil, err
	}
	var told struct {
		Session string `json:"session_id"`
		Failed  string `json:"error_message"`
	}
	if err := c.tell(ctx, "create_session", object{"tags": []string{"hone"}, "user_metadata": object{},
		"sdk_version": sdkVersion, "type": "create_session"}, &told); err != nil {
		return nil, err
	}
	if told.Failed != "" || told.Session == "" {
		return nil, c.refusal("begins no session", errors.New(told.Failed))
	}
	c.session = told.Session
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.beats.Go(func() { c.beat(alive) })
	return c, nil
}

func setDefault(d *time.Duration, to time.Duration) {
	if *d == 0 {
		*d = to
	}
}

// Base is the base model's name at the server.
func (c *Client) Base() string { return c.base }

// URL is the server's.
func (c *Client) URL() string { return c.o.URL }

// Close ends the signs of life: the server forgets the session then.
func (c *Client) Close() {
	c.stop()
	c.beats.Wait()
}

// choose takes the base model.
func (c *Client) choose(ctx context.Context) error {
	var told struct {
		Models []struct {
			Name string `json:"model_name"`
		} `json:"supported_models"`
	}
	answer, err := c.request(ctx, http.MethodGet, "get_server_capabilities", "", nil, "")
	if err == nil {
		err = json.Unmarshal(answer.body, &told)
	}
	if err != nil {
		return c.refusal("does not list its models", err)
	}
	var names []string
	for _, m := range told.Models {
		if names = append(names, m.Name); m.Name == c.o.Model {
			c.base = m.Name
		}
	}
	if c.o.Model == "" && len(names) == 1 {
		c.base = names[0]
	}
	if c.base != "" {
		return nil
	}
	const most = 20
	if len(names) > most {
		names = append(names[:most], "...")
	}
	return &fault.Error{Code: fault.CodeUsage, What: "the trainer's base model is not clear", Where: c.o.URL,
		Why:  fmt.Sprintf("it has %q, and trainer.model is %q", names, c.o.Model),
		Next: "set trainer.model to the name there of the model that model.base is"}
}

// beat tells the server that the session is used: SkyRL forgets one after 300 s. A sign that is lost is no failure; the
// requests tell of a server that is gone.
func (c *Client) beat(ctx context.Context) {
	t := time.NewTicker(c.o.Beat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			ctx, cancel := context.WithTimeout(ctx, c.o.Beat)
			body, _ := json.Marshal(object{"session_id": c.session, "type": "session_heartbeat"})
			_, _ = c.once(ctx, http.MethodPost, "session_heartbeat", jsonType, body, "")
			cancel()
		}
	}
}

// object is one of JSON.
type object = map[string]any

const (
	jsonType  = "application/json"
	protoType = "application/x-protobuf"
)

// answered is what a server answered with status 200, or a redirect that a GET got.
type answered struct {
	body     []byte
	kind     string // Content-Type
	location string // of a redirect
}

// statusError is an answer of another status.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s: %s", e.status, http.StatusText(e.status), e.message))
}

// failedError is what a future ended with that is no result.
type failedError struct{ message, category string }

func (e *failedError) Error() string { return strings.TrimSpace(e.message + " " + e.category) }

// tell posts JSON and reads the JSON that answers it.
func (c *Client) tell(ctx context.Context, path string, body object, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	a, err := c.request(ctx, http.MethodPost, path, jsonType, text, "")
	if err == nil {
		err = json.Unmarshal(a.body, into)
	}
	if err != nil {
		return c.refusal("refused "+path, err)
	}
	return nil
}

// begin posts a request that begins something, and waits for what comes of it.
func (c *Client) begin(ctx context.Context, path, kind string, body []byte) (a answered, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, fmt.Errorf("no result after %s (trainer.timeout)",
		c.o.Timeout))
	defer cancel()
	for attempt := 0; ; attempt++ {
		if a, err = c.request(ctx, http.MethodPost, path, kind, body, ""); err != nil {
			break
		}
		var future struct {
			ID json.RawMessage `json:"request_id"`
		}
		if err = json.Unmarshal(a.body, &future); err == nil && len(future.ID) == 0 {
			err = errors.New("the answer names no request_id")
		}
		if err != nil {
			break
		}
		a, err = c.result(ctx, future.ID)
		// 410: the server lost the future, and asks for the request once more: the same one, by its number.
		gone, ok := errors.AsType[*statusError](err)
		if !ok || gone.status != http.StatusGone || attempt >= c.o.Retries {
			break
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return a, c.refusal("failed at "+path, err)
	}
	return a, nil
}

// beginJSON is begin of a request and a result in JSON; into may be nil.
func (c *Client) beginJSON(ctx context.Context, path string, body object, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	a, err := c.begin(ctx, path, jsonType, text)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return c.refusal("answered "+path+" in a form that is not known", err)
	}
	return nil
}

// result asks for a future until it is there. A question that is not answered in time is asked again.
func (c *Client) result(ctx context.Context, id json.RawMessage) (answered, error) {
	body, err := json.Marshal(object{"request_id": id, "allow_metadata_only": false})
	if err != nil {
		return answered{}, err
	}
	for {
		poll, cancel := context.WithTimeout(ctx, c.o.Poll)
		began := time.Now()
		a, err := c.request(poll, http.MethodPost, "retrieve_future", jsonType, body, protoType+", "+jsonType)
		late := poll.Err() != nil
		cancel()
		switch refused, ok := errors.AsType[*statusError](err); {
		case ctx.Err() != nil:
			return a, ctx.Err()
		case late, ok && refused.status == http.StatusRequestTimeout: // it goes on
		case err != nil:
			return a, err
		case strings.HasPrefix(a.kind, protoType):
			return a, nil
		default:
			var told struct {
				Type     string `json:"type"`
				Error    string `json:"error"`
				Category string `json:"category"`
			}
			if err := json.Unmarshal(a.body, &told); err != nil {
				return a, err
			}
			if told.Error != "" {
				return a, &failedError{c.clean([]byte(told.Error)), told.Category}
			}
			if told.Type != "try_again" {
				return a, nil
			}
		}
		if time.Since(began) < c.o.BackOff/10 { // a server that does not hold the question
			if err := sleep(ctx, c.o.BackOff/10); err != nil {
				return a, err
			}
		}
	}
}

// request sends one until it is answered, refused, or the attempts are used up. What is sent again is the same to the
// byte, and what moves a model has a sequence number, by which the server knows it.
func (c *Client) request(
	ctx context.Context, method, path, kind string, body []byte, accept string,
) (a answered, err error) {
	bound := c.o.BackOff
	for attempt := 0; ; attempt++ {
		a, err = c.once(ctx, method, path, kind, body, accept)
		if err != nil && ctx.Err() != nil {
			return a, ctx.Err()
		}
		if err == nil || !again(err) || attempt >= c.o.Retries {
			return a, err
		}
		if err := sleep(ctx, time.Duration(rand.Float64()*float64(bound))); err != nil {
			return a, err
		}
		bound = min(2*bound, maxWait)
	}
}

// again reports whether an attempt that failed so may succeed later.
func again(err error) bool {
	s, ok := errors.AsType[*statusError](err)
	return !ok || s.status >= 500 || s.status == http.StatusTooManyRequests
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// once is one attempt. A path that is a URL is asked as it is, without the key.
func (c *Client) once(
	ctx context.Context, method, path, kind string, body []byte, accept string,
) (a answered, err error) {
	to, own := path, strings.Contains(path, "://")
	if !own {
		to = c.o.URL + "/api/v1/" + path
	}
	q, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	for name, value := range map[string]string{"Content-Type": kind, "Accept": accept} {
		if value != "" {
			q.Header.Set(name, value)
		}
	}
	if c.o.Key != "" && (!own || strings.HasPrefix(path, c.o.URL+"/")) {
		q.Header.Set("X-API-Key", string(c.o.Key))
	}
	r, err := c.http.Do(q)
	if err != nil {
		return a, errors.New(c.o.Key.Scrub(err.Error()))
	}
	defer r.Body.Close()
	a.kind, a.location = r.Header.Get("Content-Type"), r.Header.Get("Location")
	if a.body, err = io.ReadAll(io.LimitReader(r.Body, maxAnswer+1)); err != nil {
		return a, fmt.Errorf("the answer broke off: %w", err)
	}
	if len(a.body) > maxAnswer {
		return a, &statusError{r.StatusCode, fmt.Sprintf("the answer is longer than %d MB", maxAnswer>>20)}
	}
	if redirect := method == http.MethodGet && r.StatusCode/100 == 3; r.StatusCode != http.StatusOK && !redirect {
		return a, &statusError{r.StatusCode, c.clean(a.body)}
	}
	return a, nil
}

// clean is a server's text for a person.
func (c *Client) clean(answer []byte) string {
	var told struct {
		Detail any `json:"detail"` // FastAPI's
	}
	text := string(answer)
	if json.Unmarshal(answer, &told) == nil && told.Detail != nil {
		text = fmt.Sprint(told.Detail)
	}
	text = strings.ToValidUTF8(c.o.Key.Scrub(text), "")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "..."
	}
	return text
}

// refusal is the error of a server that did not do what it was asked to.
func (c *Client) refusal(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	f := &fault.Error{Code: fault.CodeUnavailable, What: "the trainer " + what, Where: c.o.URL, Err: err,
		Next: "see that the server is running, and look at its log"}
	refused, ok := errors.AsType[*statusError](err)
	_, failed := errors.AsType[*failedError](err)
	switch {
	case ok && (refused.status == http.StatusUnauthorized || refused.status == http.StatusForbidden):
		f.Code, f.Next = fault.CodeUsage, "name the variable that holds the key as trainer.key_env"
	case ok && refused.status == http.StatusUnsupportedMediaType:
		f.Code, f.Next = fault.CodeUsage, "the server's dialect is older than the SDK 0.25: update it"
	case failed, ok && refused.status < 500 && refused.status != http.StatusTooManyRequests:
		f.Code, f.Next = fault.CodeError, "look at the server's log"
	}
	return f
}
