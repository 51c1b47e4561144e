package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// era is the protocol version in use, as the server calls it.
func (s *session) era() string {
	if version, _ := s.wire.greeting(); version != "" {
		return version
	}
	if r := s.client.InitializeResult(); r != nil {
		return r.ProtocolVersion
	}
	return ""
}

// version is what the server says of its own version.
func (s *session) version() string {
	if r := s.client.InitializeResult(); r != nil && r.ServerInfo != nil {
		return r.ServerInfo.Version
	}
	return ""
}

// failure is err with what the server last said.
func (s *session) failure(phase Phase, err error) *Failure {
	outcome := trajectory.EnvironmentError
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		outcome = trajectory.InfrastructureError
	}
	if hidden := s.redact.Replace(err.Error()); hidden != err.Error() {
		err = errors.New(hidden)
	}
	return &Failure{Server: s.server, Phase: phase, Said: s.strayOutput(), Outcome: outcome, Err: err}
}

// failureUnder is failure for what was done under ctx: where that has ended we gave up, whatever the server was about
// to do.
func (s *session) failureUnder(ctx context.Context, phase Phase, err error) *Failure {
	f := s.failure(phase, err)
	if ctx.Err() != nil {
		f.Outcome = trajectory.InfrastructureError
	}
	return f
}

// strayOutput is what the server printed where no message belongs.
func (s *session) strayOutput() string {
	var parts []string
	if s.conn != nil {
		if text := s.conn.p.stderr.String(); text != "" {
			parts = append(parts, text)
		}
	}
	if n, sample := s.wire.strays(); n > 0 {
		parts = append(parts,
			fmt.Sprintf("printed %s of non-MCP text to stdout, at first %s", fault.Count(n, "line"), sample))
	}
	return s.redact.Replace(strings.Join(parts, "; "))
}

// instead says what came in place of an answer: what is given, and what stands at the end of stdout without a newline.
func (s *session) instead(came string) string {
	if s.conn != nil {
		if n, begins, whole := s.conn.tail.rest(); n > 0 {
			what := fault.Count(int(n), "byte")
			if whole {
				what = "a whole message"
			}
			text := fmt.Sprintf("%s without a newline at the end: %s", what, s.wire.excerpt(begins))
			if came != "" {
				text = came + "; " + text
			}
			came = text
		}
	}
	if came == "" {
		return ""
	}
	return "; in its place came " + s.redact.Replace(came)
}

// progress hands a notification to the call whose token it bears.
func (s *session) progress(params json.RawMessage) {
	var p map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil {
		return
	}
	number := func(key string) float64 { // some write a number as a text
		n, err := strconv.ParseFloat(textOf(p[key]), 64)
		if err != nil {
			return 0
		}
		return n
	}
	if watch, ok := s.watchers.Load(int64(number("progressToken"))); ok {
		watch.(func(done, total float64, message string))(number("progress"), number("total"), stringIn(p, "message"))
	}
}

func (s *session) dead() bool {
	select {
	case <-s.gone:
		return true
	default:
	}
	if s.conn == nil {
		return s.expired.Load()
	}
	select {
	case <-s.conn.p.done:
		return true
	default:
		return false
	}
}

// close ends the session and releases what it owns. It may be called more than once, and waits each time.
func (s *session) close() {
	s.closing.Do(func() {
		if s.conn != nil {
			s.conn.p.close() // first: the SDK waits for calls in flight, which only the end of the process ends
		}
		if s.client != nil {
			s.client.Close()
		}
		for i := len(s.release) - 1; i >= 0; i-- {
			s.release[i]()
		}
	})
}
