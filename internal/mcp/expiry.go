package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/episode/trajectory"
)

// isForgotten reports whether the server, over HTTP, no longer knows the session that a call was made in. The protocol
// has 404 for that; servers answer 400, 401, 410 or 5xx too, or with an error of the protocol, under the call's id or
// none. Where an answer may mean something else, a ping tells: a session that is known answers it.
func (s *session) isForgotten(ctx context.Context, known *exchange, answer *mcp.CallToolResult, err error) bool {
	if s.conn != nil || !known.inSession || !known.sent || ctx.Err() != nil {
		return false
	}
	switch {
	case known.renamed || known.status == http.StatusNotFound || known.status == http.StatusGone:
		return true
	case known.status == http.StatusTooManyRequests || known.unusable != "" || asksPerson(known.result):
		return false
	case known.status >= 400 && !known.answered && speaksOfSession(known.missing):
		return true
	case err == nil && (!answer.IsError || !speaksOfSession(Render(answer.Content, nil, bodyKept))):
		return false
	}
	for attempt := range 3 {
		verdict := s.ping(ctx, err)
		if verdict != pingLater || !pause(ctx, attempt) {
			return verdict != pingKnown
		}
	}
	return true
}

// pingVerdict is what a ping says of a session.
type pingVerdict int

const (
	pingKnown   pingVerdict = iota
	pingUnknown             // refused, or answered as the call was
	pingLater               // a gateway says that its server is away
)

// ping asks the server for a sign of life. refusal is what the call before it came to.
func (s *session) ping(ctx context.Context, refusal error) pingVerdict {
	limited, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	limited, x := withExchange(limited)
	defer s.wire.forget(x)
	err := s.client.Ping(limited, nil)
	known := x.outcome()
	var said, before *jsonrpc.Error
	switch {
	case err == nil && speaksOfSession(string(known.result)): // a result of calls, in the place of none
		return pingUnknown
	case err == nil:
		return pingKnown
	case slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		known.status):
		return pingLater
	case !known.answered || !errors.As(err, &said):
		return pingUnknown
	case said.Code == jsonrpc.CodeMethodNotFound:
		return pingKnown
	case known.status >= 400 || speaksOfSession(said.Message) ||
		errors.As(refusal, &before) && before.Message == said.Message:
		return pingUnknown
	}
	return pingKnown
}

const pingLimit = 5 * time.Second

func speaksOfSession(text string) bool { return strings.Contains(strings.ToLower(text), "session") }

// expiredResult is the result of a call in a session that the server does not know any more: it says nothing of the
// model.
func (s *session) expiredResult(
	known *exchange, answer *mcp.CallToolResult, err error, o *Options,
) trajectory.ToolResult {
	why := known.missing
	switch {
	case known.renamed:
		why = "it answered in another, a new one"
	case why != "":
	case err != nil:
		why = errorText(err)
	default:
		why = excerpt(Render(answer.Content, nil, bodyKept))
	}
	f := s.failure(PhaseCall, fmt.Errorf("it no longer knows the session: %s", why))
	return o.lostResult(trajectory.CallTransportError, f.Outcome, f.Error())
}

// isUnread reports whether what the server said shows that it refused a call before it looked at it.
func (x *exchange) isUnread(err error) bool {
	return x.status >= 400 && x.status < 500 || err != nil && speaksOfSession(x.missing+err.Error())
}
