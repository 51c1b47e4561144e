package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"hone/internal/blob"
	"hone/internal/fault"
)

// cachePath names a request by the digest of where it goes and what it says. The key is no part of it.
func (c *Client) cachePath(body []byte) string {
	return filepath.Join(c.o.CacheDir, blob.Of(c.url+"\x00"+string(body)).String()+".json")
}

// turns are the requests under way.
type turns struct {
	mu  sync.Mutex
	now map[string]chan struct{} // closed when one has ended
}

// turn waits until no equal request is under way, so that what is asked twice at once is paid for once. The caller ends
// it. Without a cache there is nothing to wait for.
func (c *Client) turn(ctx context.Context, body []byte) (end func(), err error) {
	if c.o.CacheDir == "" {
		return func() {}, nil
	}
	key, mine := string(body), make(chan struct{})
	for {
		c.turns.mu.Lock()
		other, busy := c.turns.now[key]
		if !busy {
			if c.turns.now == nil {
				c.turns.now = map[string]chan struct{}{}
			}
			c.turns.now[key] = mine
			c.turns.mu.Unlock()
			return func() {
				c.turns.mu.Lock()
				delete(c.turns.now, key)
				c.turns.mu.Unlock()
				close(mine)
			}, nil
		}
		c.turns.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *Client) lookup(body []byte) (Response, bool, error) {
	if c.o.CacheDir == "" {
		return Response{}, false, nil
	}
	path := c.cachePath(body)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Response{}, false, nil
	}
	if err != nil {
		return Response{}, false, &fault.Error{What: "cannot read the answer cache", Where: path, Err: err,
			Next: "make it readable, or delete it: the answer is then asked for again"}
	}
	var r Response
	if json.Unmarshal(b, &r) != nil {
		return Response{}, false, nil // not ours or damaged: asking again replaces it
	}
	r.Cached = true
	return r, true, nil
}

// store keeps an answer: so that a reader meets a whole answer or none.
func (c *Client) store(body []byte, r Response) error {
	if c.o.CacheDir == "" {
		return nil
	}
	path := c.cachePath(body)
	err := func() error {
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(c.o.CacheDir, 0o700); err != nil {
			return err
		}
		return blob.Write(path, b, 0o600)
	}()
	if err != nil {
		return &fault.Error{Code: fault.CodeExhausted, What: "cannot keep an answer that was paid for",
			Where: path, Err: err, Next: "free space there, then resume"}
	}
	return nil
}
