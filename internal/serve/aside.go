package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"hone/internal/chat"
)

// LeftOut is the header that names what of a request was not taken though it was answered: tools that a provider has at its
// own side, and what was said of them.
const LeftOut = "X-Hone-Left-Out"

// tools are those of a request. Agents send, beside their own functions, tools that only a provider has, such as a search of
// the web: a model that is told of functions alone can do without, and those are left out.
type tools struct {
	functions []tool
	leftOut   []string // what and which: "web_search", "custom apply_patch"
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *tools) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return errors.New("tools is no list")
	}
	*t = tools{}
	for i, item := range list {
		var of struct{ Type, Name string }
		if json.Unmarshal(item, &of) == nil && of.Type != "" && of.Type != "function" {
			t.leftOut = append(t.leftOut, strings.TrimSpace(of.Type+" "+of.Name))
			continue
		}
		var one tool
		if err := json.Unmarshal(item, &one); err != nil {
			return fmt.Errorf("tools[%d]: %w", i, err)
		}
		t.functions = append(t.functions, one)
	}
	return nil
}

// told names in an answer's header and in the log what of a request was left out.
func (s *Server) told(w http.ResponseWriter, q *request) {
	if len(q.leftOut) == 0 {
		return
	}
	all := strings.Join(q.leftOut, ", ")
	w.Header().Set(LeftOut, strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, all))
	s.o.Logger.Info("left out of a request: no model is told of these", "request", w.Header().Get(RequestID), "what", all)
}

// messageList are the messages of a request; an error names the one.
type messageList []chat.Message

// UnmarshalJSON implements json.Unmarshaler.
func (l *messageList) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return errors.New("messages is no list")
	}
	*l = make(messageList, len(list))
	for i, item := range list {
		if err := json.Unmarshal(item, &(*l)[i]); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return nil
}
