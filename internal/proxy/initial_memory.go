package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"hone/internal/chat"
)

// memory keeps calls that were made in a client's place, with their results, for as long as the client's own
// conversation goes on behind them: it does not know of them, and the upstream must. It forgets the oldest.
type memory struct {
	mu    sync.Mutex
	kept  map[string]hidden
	order []string
	works map[string]*work // under way, by the key of their request
}

// work is a request that makes calls, or goes on from calls that were made for an equal one before. Equal requests wait
// for it: a client that does not wait as long as a call takes asks again.
type work struct {
	over    chan struct{}
	made    *hidden // nil: nothing was made; not written once it is over
	failed  string  // how its calls failed that change nothing; "": they did not. Not written once it is over
	waiting int     // requests
}

// hidden is what stands behind a user's message without the client's knowledge.
type hidden struct {
	messages []chat.Message
	label    string // of the user turn, for counters
	readOnly bool   // nothing was changed: who asks the same need not wait for what the upstream says of it
	at       time.Time
}

// mostKept is how many user turns are kept.
const mostKept = 512

// retried begins the keys of requests that failed behind a call. Clients try again within seconds; who asks the same
// after mostAge means it anew, and is not to be told of what was made before.
const (
	retried = "retried "
	mostAge = 10 * time.Minute
)

func (m *memory) keep(key string, h hidden) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]hidden{}
	}
	if _, ok := m.kept[key]; !ok {
		m.order = append(m.order, key)
	}
	h.at = time.Now()
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

// goOn is of a client that goes on, with the message of key next, behind a request that failed: its calls stay in the
// conversation.
func (m *memory) goOn(key, next string) {
	if h, ok := m.find(retried + key); ok && time.Since(h.at) <= mostAge {
		m.keep(next, h)
	}
}

// begin begins a work on a request, when no other of its key is under way: with the calls that were made for it. Where
// there are none it begins one only if it is to make some; else it returns nil. end ends it. Of one that it waited for,
// and whose calls failed, it returns that one, which is over: each who waits would else make them again, one after
// another, and have the same failure later.
func (m *memory) begin(ctx context.Context, key string, makes bool) (*work, error) {
	var made *hidden
	for {
		other, w := m.enter(key, makes, made)
		if other == nil {
			return w, nil
		}
		select {
		case <-other.over:
			if other.failed != "" {
				return other, nil
			}
			made = other.made
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// enter returns the work that is under way, or begins one.
func (m *memory) enter(key string, makes bool, made *hidden) (other, w *work) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if other = m.works[key]; other != nil {
		other.waiting++
		return other, nil
	}
	if h, ok := m.kept[retried+key]; ok {
		delete(m.kept, retried+key) // it is used once
		m.order = slices.DeleteFunc(m.order, func(k string) bool { return k == retried+key })
		if time.Since(h.at) <= mostAge {
			made = &h
		}
	}
	if made == nil && !makes {
		return nil, nil
	}
	if m.works == nil {
		m.works = map[string]*work{}
	}
	w = &work{over: make(chan struct{}), made: made}
	m.works[key] = w
	return nil, w
}

// end ends a work, or nothing where there is none.
func (m *memory) end(key string, w *work) {
	if w == nil {
		return
	}
	m.mu.Lock()
	delete(m.works, key)
	m.mu.Unlock()
	close(w.over)
}

// threads are the keys of a conversation's places: a place is the client's, and of all messages up to it.
func threads(client string, messages []chat.Message) (keys []string, err error) {
	all := sha256.New()
	all.Write([]byte(client))
	for _, m := range messages {
		// what clients send back
		text, err := json.Marshal(chat.Message{Role: m.Role, Content: m.Content, ToolCalls: m.ToolCalls,
			ToolCallID: m.ToolCallID})
		if err != nil {
			return nil, err
		}
		all.Write(append(text, 0))
		keys = append(keys, hex.EncodeToString(all.Sum(nil)))
	}
	return keys, nil
}
