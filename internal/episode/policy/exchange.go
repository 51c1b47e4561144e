package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hone/internal/fault"
)

const (
	maxAnswer  = 64 << 20 // bytes
	maxMessage = 500      // bytes of a server's error text that are kept
	maxWait    = time.Minute
)

// statusError is an answer other than 200.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s: %s", e.status, http.StatusText(e.status), e.message))
}

// refusedError is an answer that will not be another when it is asked for again.
type refusedError struct{ error }

func (e refusedError) Unwrap() error { return e.error }

// laterError is the error of an attempt after the first: what was asked for before may have been done.
type laterError struct{ error }

func (e laterError) Unwrap() error { return e.error }

// again reports whether an attempt that failed so may succeed later.
func again(err error) bool {
	if _, refused := errors.AsType[refusedError](err); refused {
		return false
	}
	s, ok := errors.AsType[*statusError](err)
	return !ok || s.status >= 500 || s.status == http.StatusTooManyRequests || s.status == http.StatusRequestTimeout
}

// ask sends a request until read takes its answer, it is refused, or the attempts are used up. Waits are drawn from [0,
// bound), the bound doubles; a server's Retry-After is the lower end. A nil body is a GET.
func (s *Remote) ask(ctx context.Context, path string, body any, read func(answer []byte) error) error {
	bound := s.o.BackOff
	for attempt := 0; ; attempt++ {
		after, err := s.attempt(ctx, path, body, read)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !again(err) || attempt >= s.o.Retries:
			if attempt > 0 {
				err = laterError{err}
			}
			return err
		}
		timer := time.NewTimer(min(maxWait, after+time.Duration(rand.Float64()*float64(bound))))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		bound = min(2*bound, maxWait)
	}
}

// attempt is one. after is how long the server says to wait before the next.
func (s *Remote) attempt(
	ctx context.Context, path string, body any, read func(answer []byte) error,
) (after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	method, content := http.MethodGet, []byte(nil)
	if body != nil {
		if content, err = json.Marshal(body); err != nil {
			return 0, refusedError{err}
		}
		method = http.MethodPost
	}
	q, err := http.NewRequestWithContext(ctx, method, s.o.URL+path, bytes.NewReader(content))
	if err != nil {
		return 0, refusedError{err}
	}
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	if s.o.Key != "" {
		q.Header.Set("Authorization", "Bearer "+string(s.o.Key))
	}
	a, err := s.http.Do(q)
	if err != nil {
		return 0, errors.New(s.o.Key.Scrub(err.Error()))
	}
	defer a.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer+1))
	switch {
	case err != nil:
		return 0, fmt.Errorf("the answer broke off: %w", err)
	case len(answer) > maxAnswer:
		return 0, refusedError{fmt.Errorf("the answer is longer than %d MB", maxAnswer>>20)}
	case a.StatusCode != http.StatusOK:
		if n, err := strconv.ParseFloat(a.Header.Get("Retry-After"), 64); err == nil && n > 0 {
			after = time.Duration(min(n, maxWait.Seconds()) * float64(time.Second))
		}
		return after, &statusError{a.StatusCode, s.messageOf(answer)}
	}
	return 0, read(answer)
}

// messageOf is what a server says of a failure: of vLLM and OpenAI {"error": {"message"}}, of SGLang {"error_message"},
// or the text.
func (s *Remote) messageOf(answer []byte) string {
	var told struct {
		Error        struct{ Message string } `json:"error"`
		Message      string                   `json:"message"`
		ErrorMessage string                   `json:"error_message"`
	}
	text := string(answer)
	if json.Unmarshal(answer, &told) == nil && told.Error.Message+told.Message+told.ErrorMessage != "" {
		text = told.Error.Message + told.Message + told.ErrorMessage
	}
	text = strings.ToValidUTF8(s.o.Key.Scrub(text), "") // before it is cut: half a key is a secret still
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "..."
	}
	return text
}

// requestError is the error of a sampler that did not do what it was asked to.
func (s *Remote) requestError(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	f := &fault.Error{Code: fault.CodeUnavailable, What: what, Where: s.o.URL, Err: err,
		Next: "check that the server is running"}
	refused, ok := errors.AsType[*statusError](err)
	switch {
	case !ok:
	case refused.status == http.StatusUnauthorized || refused.status == http.StatusForbidden:
		f.Code, f.Next = fault.CodeUsage, "name the variable that holds the key as sampler.key_env"
	case refused.status < 500 && refused.status != http.StatusTooManyRequests:
		f.Code, f.Next = fault.CodeError, "look at the server's log"
	}
	return f
}
