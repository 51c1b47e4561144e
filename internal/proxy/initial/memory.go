package initial

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	"hone/internal/chat"
)

// memory keeps calls that were made in a client's place, with their results, for as long as the client's own conversation goes on behind
// them: it does not know of them, and the upstream must. It forgets the oldest.
type memory struct {
	mu    sync.Mutex
	kept  map[string]hidden
	order []string
}

// hidden is what stands behind a user's message without the client's knowledge.
type hidden struct {
	messages []chat.Message
	label    string // of the user turn, for counters
}

// mostKept is how many user turns are kept.
const mostKept = 512

func (m *memory) keep(key string, h hidden) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]hidden{}
	}
	if _, ok := m.kept[key]; !ok {
		m.order = append(m.order, key)
	}
	m.kept[key] = h
	for len(m.order) > mostKept {
		delete(m.kept, m.order[0])
		m.order = m.order[1:]
	}
}

func (m *memory) find(key string) (h hidden, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, ok = m.kept[key]
	return h, ok
}

// take is find of what is used once.
func (m *memory) take(key string) (h hidden, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h, ok = m.kept[key]; ok {
		delete(m.kept, key)
		m.order = slices.DeleteFunc(m.order, func(k string) bool { return k == key })
	}
	return h, ok
}

// threads are the keys of a conversation's places: a place is the client's, and of all messages up to it.
func threads(client string, messages []chat.Message) (keys []string, err error) {
	all := sha256.New()
	all.Write([]byte(client))
	for _, m := range messages {
		text, err := json.Marshal(chat.Message{Role: m.Role, Content: m.Content, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}) // what clients send back
		if err != nil {
			return nil, err
		}
		all.Write(append(text, 0))
		keys = append(keys, hex.EncodeToString(all.Sum(nil)))
	}
	return keys, nil
}
