package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hone/internal/chat"
)

const (
	maxResponse = 32 << 20 // bytes
	maxMessage  = 500      // bytes of an endpoint's error text that are kept
)

func retryable(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusConflict ||
		status == http.StatusTooManyRequests || status >= 500
}

// retry sends the request until it is answered, refused for good, or out of attempts and of patience. Waits are drawn
// uniformly from [0, bound) (full jitter), so that many clients turned away together do not come back together; where
// the endpoint says how long to wait, that is the lower end.
func (c *Client) retry(ctx context.Context, r Request) (Response, error) {
	bound, began := min(c.o.BackOff, c.o.MaxWait), time.Now()
	for attempt := 0; ; attempt++ {
		resp, advice, err := c.attemptInTurn(ctx, r)
		if refused, ok := errors.AsType[*StatusError](err); ok && c.dialect.learn(refused) {
			attempt--
			continue
		}
		if err == nil || !advice.again || ctx.Err() != nil ||
			attempt >= c.o.MaxRetries && time.Since(began) >= c.o.Patience {
			return resp, err
		}
		wait := min(advice.after, c.o.MaxWait) + time.Duration(c.o.Rand()*float64(bound))
		timer := time.NewTimer(min(wait, c.o.MaxWait))
		select {
		case <-ctx.Done():
			timer.Stop()
			return Response{}, ctx.Err()
		case <-timer.C:
		}
		bound = min(2*bound, c.o.MaxWait)
	}
}

// attemptInTurn is one attempt, when there is a place for it.
func (c *Client) attemptInTurn(ctx context.Context, r Request) (Response, advice, error) {
	body, err := c.encode(r)
	if err != nil {
		return Response{}, advice{}, err
	}
	epoch, err := c.pace.begin(ctx)
	if err != nil {
		return Response{}, advice{}, err
	}
	resp, advice, err := c.attempt(ctx, body)
	_, bad := errors.AsType[*badAnswer](err)
	c.pace.end(epoch, err == nil, advice.again && !bad)
	return resp, advice, err
}

// again reports whether an error of a call may be gone at another time.
func again(err error) bool {
	status, refused := errors.AsType[*StatusError](err)
	return !refused || retryable(status.Status)
}

// advice is what a failed attempt says about the next one.
type advice struct {
	again bool
	after time.Duration // at least; 0 where the endpoint did not say
}

func (c *Client) attempt(ctx context.Context, body []byte) (Response, advice, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return Response{}, advice{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.o.API == Anthropic {
		req.Header.Set("Anthropic-Version", anthropicVersion)
	}
	switch {
	case c.o.Key == "":
	case c.o.API == Anthropic:
		req.Header.Set("X-Api-Key", string(c.o.Key))
	default:
		req.Header.Set("Authorization", "Bearer "+string(c.o.Key))
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Response{}, advice{again: true}, errors.New(c.o.Key.Scrub(err.Error()))
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	if err != nil {
		return Response{}, advice{again: true}, fmt.Errorf("the answer broke off: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return Response{}, adviceOf(res, time.Now()), c.statusError(res.StatusCode, text)
	}
	if len(text) > maxResponse { // the next one would be as long, and be fetched as far
		return Response{}, advice{}, &badAnswer{fmt.Errorf("it is longer than %d MB", maxResponse>>20)}
	}
	read := parse
	if c.o.API == Anthropic {
		read = parseAnthropic
	}
	resp, err := read(text)
	if err != nil {
		return Response{}, advice{again: true}, &badAnswer{err}
	}
	if resp.hones {
		c.hones.Store(true)
	}
	return resp, advice{}, nil
}

// IsHones reports whether what has answered is hone's own server, by the name of its policy in an answer.
func (c *Client) IsHones() bool { return c != nil && c.hones.Load() }

var policyVersion = regexp.MustCompile(`^policy-\d+$`)

// badAnswer is an answer with status 200 that is no chat completion.
type badAnswer struct{ why error }

func (e *badAnswer) Error() string { return e.why.Error() }
func (e *badAnswer) Unwrap() error { return e.why }

func parse(text []byte) (Response, error) {
	var wire struct {
		Choices []struct {
			Message      chat.Message `json:"message"`
			FinishReason string       `json:"finish_reason"`
		} `json:"choices"`
		Usage       Usage  `json:"usage"`
		Fingerprint string `json:"system_fingerprint"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return Response{}, fmt.Errorf("the answer is not a chat completion: %w", err)
	}
	if len(wire.Choices) == 0 {
		return Response{}, errors.New("the answer is not a chat completion: no choices")
	}
	choice := wire.Choices[0]
	choice.Message.Role = chat.Assistant
	return Response{Message: choice.Message, Usage: wire.Usage, FinishReason: choice.FinishReason,
		hones: policyVersion.MatchString(wire.Fingerprint)}, nil
}

func (c *Client) statusError(status int, text []byte) error {
	var wire struct {
		Error struct {
			Message string `json:"message"`
			Code    any    `json:"code"` // text, a number or null, by vendor
			Param   any    `json:"param"`
		} `json:"error"`
	}
	e := &StatusError{Status: status}
	if json.Unmarshal(text, &wire) == nil && wire.Error.Message != "" {
		e.Message = wire.Error.Message
		e.Code, _ = wire.Error.Code.(string)
		e.Param, _ = wire.Error.Param.(string)
	} else {
		e.Message = string(text)
	}
	// Scrubbed before it is cut: half a key is still a secret.
	e.Message = strings.ToValidUTF8(c.o.Key.Scrub(e.Message), "")
	if len(e.Message) > maxMessage {
		e.Message = strings.ToValidUTF8(e.Message[:maxMessage], "") + "..."
	}
	return e
}

// adviceOf reads x-should-retry, Retry-After-Ms and Retry-After (seconds or a date).
func adviceOf(res *http.Response, now time.Time) advice {
	a := advice{again: retryable(res.StatusCode)}
	if should, err := strconv.ParseBool(res.Header.Get("X-Should-Retry")); err == nil {
		a.again = should
	}
	if ms, err := strconv.ParseFloat(res.Header.Get("Retry-After-Ms"), 64); err == nil {
		a.after = seconds(ms / 1000)
	} else if s, err := strconv.ParseFloat(res.Header.Get("Retry-After"), 64); err == nil {
		a.after = seconds(s)
	} else if at, err := http.ParseTime(res.Header.Get("Retry-After")); err == nil {
		a.after = max(0, at.Sub(now))
	}
	return a
}

// seconds is a duration within [0, one day], whatever was written (NaN and Inf parse as floats).
func seconds(s float64) time.Duration {
	if !(s > 0) {
		return 0
	}
	return time.Duration(min(s, 86400) * float64(time.Second))
}
