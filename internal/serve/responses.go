package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"hone/internal/chat"
)

// responses are the answers that are kept, in memory, for those who go on from them. The oldest go first.
type responses struct {
	mu    sync.Mutex
	byID  map[string]*keptResponse
	order []string
	bytes int
}

type keptResponse struct {
	owner        int            // which key it was asked with: for those of others it is not there
	conversation []chat.Message // with the answer
	body         []byte
	bytes        int
}

// maxResponses and maxResponseBytes bound what is kept.
const maxResponses, maxResponseBytes = 1000, 64 << 20

func newResponses() *responses { return &responses{byID: map[string]*keptResponse{}} }

// keep keeps an answer, where its request does not say that it is not to be.
func (k *responses) keep(x *exchange, out map[string]any) {
	terms := x.request.extra
	body, err := json.Marshal(out)
	if !terms.request.stores() || err != nil {
		return
	}
	message := x.answers[0].message
	if terms.last != nil {
		message = *terms.last
	}
	r := &keptResponse{owner: x.owner, conversation: append(terms.said, message), body: body, bytes: len(body)}
	for _, m := range r.conversation {
		r.bytes += len(m.Content) + len(m.ReasoningContent)
		for _, call := range m.ToolCalls {
			r.bytes += len(call.Arguments)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byID[x.id] = r
	k.order = append(k.order, x.id)
	for k.bytes += r.bytes; len(k.order) > maxResponses || k.bytes > maxResponseBytes && len(k.order) > 1; {
		k.drop(k.byID[k.order[0]], k.order[0])
	}
}

// of is an owner's response, nil where there is none. It and drop are called with mu held.
func (k *responses) of(owner int, id string) *keptResponse {
	if r := k.byID[id]; r != nil && r.owner == owner {
		return r
	}
	return nil
}

func (k *responses) drop(r *keptResponse, id string) {
	delete(k.byID, id)
	k.bytes -= r.bytes
	k.order = slices.DeleteFunc(k.order, func(x string) bool { return x == id })
}

// conversation is the one that a response of an owner ended; "" begins a new one.
func (k *responses) conversation(owner int, id string) ([]chat.Message, *apiError) {
	if id == "" {
		return nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.of(owner, id)
	if r == nil {
		return nil, &apiError{http.StatusBadRequest, "invalid_request_error", "previous_response_id",
			"previous_response_not_found", fmt.Sprintf("no response %q is kept here: send the conversation as input",
				id)}
	}
	return slices.Clone(r.conversation), nil
}

func notKeptError(id string) *apiError {
	return &apiError{http.StatusNotFound, "invalid_request_error", "id", "not_found",
		fmt.Sprintf("no response %q is kept here", id)}
}

func (s *Server) getResponse(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s.responses.mu.Lock()
	x := s.responses.of(ownerOf(r.Context()), id)
	s.responses.mu.Unlock()
	if x == nil {
		refuse(w, notKeptError(id))
		return
	}
	writeJSON(w, http.StatusOK, json.RawMessage(x.body))
}

func (s *Server) deleteResponse(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s.responses.mu.Lock()
	x := s.responses.of(ownerOf(r.Context()), id)
	if x != nil {
		s.responses.drop(x, id)
	}
	s.responses.mu.Unlock()
	if x == nil {
		refuse(w, notKeptError(id))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"id": id, "object": "response", "deleted": true})
}
