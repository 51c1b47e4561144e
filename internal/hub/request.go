package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hone/internal/fault"
)

// tries are how often a request is sent whose failure may pass: no connection, 408, 429, 500 to 504.
const tries = 5

// request is one call, which may be sent several times.
type request struct {
	method, address string
	body            func() (io.Reader, int64, error) // the body anew and its size; nil where there is none
	header          http.Header
	repo            Repo
	what            string // is failing: "cannot download the model"
	bare            bool   // to an address that the Hub handed out, which gets no token
	looks           bool   // for what there is: nothing is transferred yet
}

// jsonBody is a value as a body.
func jsonBody(value any) (func() (io.Reader, int64, error), error) {
	text, err := json.Marshal(value)
	return func() (io.Reader, int64, error) { return bytes.NewReader(text), int64(len(text)), nil }, err
}

// answered is a status that is no success.
type answered struct {
	status       int
	code, reason string // X-Error-Code and what the body or X-Error-Message says
	retryAfter   time.Duration
}

func (a *answered) Error() string {
	text := fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
	if a.reason != "" {
		text += ": " + a.reason
	}
	return text
}

// passes tells whether the same request may do better later.
func (a *answered) passes() bool {
	switch a.status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, 500, 502, 503, 504:
		return true
	}
	return false
}

// do sends a request until it is answered with a success, and returns that answer, whose body is the caller's to close.
func (c *Client) do(ctx context.Context, q request) (*http.Response, error) {
	if c.Offline {
		return nil, &fault.Error{Code: fault.CodeUnavailable, What: q.what, Where: q.repo.String(),
			Why: "the Hub is not asked: HF_HUB_OFFLINE is set", Next: "unset HF_HUB_OFFLINE"}
	}
	pause := c.Pause
	if pause == 0 {
		pause = time.Second
	}
	for try := 1; ; try++ {
		a, err := c.once(ctx, q)
		if err == nil {
			return a, nil
		}
		status, ok := errors.AsType[*answered](err)
		if ctx.Err() != nil || try == tries || ok && !status.passes() || nobody(err) {
			return nil, c.requestError(q, err)
		}
		wait := pause << (try - 1)
		if ok {
			wait = max(wait, status.retryAfter)
		}
		c.say("the Hub did not answer (%v): trying again in %s", err, wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// nobody tells whether there is no Hub at the address, which waiting does not change.
func nobody(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound || errors.Is(err, syscall.ECONNREFUSED)
}

// once sends a request one time.
func (c *Client) once(ctx context.Context, q request) (*http.Response, error) {
	var body io.Reader
	size := int64(0)
	if q.body != nil {
		var err error
		if body, size, err = q.body(); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, q.method, q.address, body)
	if err != nil {
		return nil, err
	}
	if r.ContentLength = size; size == 0 && body != nil {
		r.Body = http.NoBody
	}
	for name, values := range q.header {
		r.Header[name] = values
	}
	r.Header.Set("User-Agent", "hone; go")
	r.Header.Set("Accept-Encoding", "identity") // sizes and ranges are those of the file
	if c.Token != "" && !q.bare {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	a, err := c.http().Do(r)
	if err != nil {
		return nil, err
	}
	if a.StatusCode/100 == 2 || a.StatusCode == http.StatusRequestedRangeNotSatisfiable && r.Header.Get("Range") != "" {
		return a, nil
	}
	defer a.Body.Close()
	return nil, readAnswer(a)
}

// http is the client, which hands the token to nobody whom the Hub redirects to: files lie in stores of others.
func (c *Client) http() *http.Client {
	h := http.Client{}
	if c.HTTP != nil {
		h = *c.HTTP
	}
	h.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > 10 {
			return errors.New("too many redirects")
		}
		if r.URL.Host != via[0].URL.Host {
			r.Header.Del("Authorization")
		}
		return nil
	}
	return &h
}

// readAnswer is the error that an answer is.
func readAnswer(a *http.Response) *answered {
	text, _ := io.ReadAll(io.LimitReader(a.Body, 64<<10)) // as much of it as came
	e := &answered{status: a.StatusCode, code: a.Header.Get("X-Error-Code"), reason: a.Header.Get("X-Error-Message")}
	var said struct{ Error, Message string }
	if json.Unmarshal(text, &said) == nil && said.Error+said.Message != "" {
		e.reason = said.Error + said.Message
	}
	if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil {
		e.retryAfter = min(time.Duration(seconds)*time.Second, time.Minute)
	}
	return e
}

// requestError says what a failed request means to a person.
func (c *Client) requestError(q request, err error) error {
	kept := "; what was transferred is kept"
	if q.looks {
		kept = ""
	}
	f := &fault.Error{Code: fault.CodeUnavailable, What: q.what, Where: q.repo.String() + " on " + c.Endpoint, Err: err,
		Next: "try again" + kept}
	if errors.Is(err, context.Canceled) {
		f.Code, f.Next = fault.CodeStopped, "give the command again"+kept
		return f
	}
	if diskFull(err) {
		return c.diskError(q.what, err)
	}
	a, ok := errors.AsType[*answered](err)
	if u, isURL := errors.AsType[*url.Error](err); !ok && isURL {
		f.Err = u.Err // its address may hold the signature of a store
	}
	if !ok || a.passes() {
		return f
	}
	f.Code = fault.CodeUsage
	token := "a token is sent, but it gives no access: huggingface.co/settings/tokens shows what it allows"
	if c.Token == "" {
		token = "no token is sent: set HF_TOKEN, or log in with hf auth login"
	}
	page := c.Page(q.repo)
	switch {
	case a.code == "GatedRepo":
		f.Why, f.Next = "its authors give access to those who ask for it; "+token,
			"ask for access at "+page+", then give the command again"
	case a.code == "RevisionNotFound":
		f.Why, f.Next = "there is no branch, tag or commit "+q.repo.revision(), "look at "+page+"/tree/main"
	case a.code == "EntryNotFound":
		f.Why, f.Next = "a file is not there any more", "try again"
	case a.status == http.StatusUnauthorized && strings.Contains(a.reason, "Invalid credentials"):
		f.Why, f.Next = "the Hub does not know the token", "set HF_TOKEN to a token of huggingface.co/settings/tokens"
	case a.code == "RepoNotFound" || a.status == http.StatusUnauthorized || a.status == http.StatusNotFound:
		f.Why, f.Next = "there is no such "+string(q.repo.Kind)+", or it is private; "+token, "look at "+page
	case a.status == http.StatusForbidden:
		f.Why, f.Next = token, "give the token write access to "+q.repo.ID
	default:
		f.Next = "look at " + page
	}
	return f
}

// diskFull tells whether a file could not be written for want of room.
func diskFull(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// diskError is what a file of the cache that cannot be written means.
func (c *Client) diskError(what string, err error) error {
	f := &fault.Error{Code: fault.CodeError, What: what, Where: c.Cache, Err: err,
		Next: "set HF_HUB_CACHE to a folder that can be written"}
	if diskFull(err) {
		f.Code, f.Next = fault.CodeExhausted,
			"free some space, or set HF_HUB_CACHE to a folder on another disk; what was transferred is kept"
	}
	return f
}

// call sends value as JSON, or nothing where it is nil, and reads the answer into out.
func (c *Client) call(ctx context.Context, q request, value, out any) (http.Header, error) {
	if value != nil {
		var err error
		if q.body, err = jsonBody(value); err != nil {
			return nil, err
		}
		if q.header == nil {
			q.header = http.Header{"Content-Type": {"application/json"}}
		}
	}
	a, err := c.do(ctx, q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	if out == nil {
		return a.Header, nil
	}
	if err := json.NewDecoder(a.Body).Decode(out); err != nil {
		return nil, &fault.Error{
			Code:  fault.CodeUnavailable,
			What:  q.what,
			Where: q.repo.String() + " on " + c.Endpoint,
			Why:   "its answer is not that of a Hub",
			Err:   err,
			Next:  "look at HF_ENDPOINT",
		}
	}
	return a.Header, nil
}
