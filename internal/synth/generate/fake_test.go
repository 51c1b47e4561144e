package generate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/checktest"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
	"hone/internal/mcp"
)

// shop is a server as the tests have it: a session has its own state and its own folder.
type shop struct {
	base  string                 // of the sessions' folders
	fill  func(dir string) error // puts into a folder what it begins with; nil: nothing
	gone  bool                   // no session can be opened
	after int                    // calls that are answered before the context of the test is cancelled; 0 is all
	stop  context.CancelFunc
	tools map[string]func(s *stock, args map[string]any) (string, error)

	mu    sync.Mutex
	calls map[string]int
	total int
	opens int // sessions
}

// stock is the state of one session.
type stock struct {
	shop  *shop
	mu    sync.Mutex
	dir   string
	items []item
}

type item struct {
	ID    int     `json:"id"`
	Name  string  `json:"name"`
	Price float64 `json:"price"`
}

func (s *shop) Open(_ context.Context, _ string, _ ...environment.Template) (environment.Session, error) {
	if s.gone {
		return nil, errors.New("server shop: connection refused")
	}
	s.mu.Lock()
	s.opens++
	s.mu.Unlock()
	dir, err := os.MkdirTemp(s.base, "")
	if err != nil {
		return nil, err
	}
	if s.fill != nil {
		if err := s.fill(dir); err != nil {
			return nil, err
		}
	}
	return &stock{shop: s, dir: dir,
		items: []item{{1, "garden lamp", 19.5}, {2, "iron kettle", 42}, {3, "paper basket", 8.25}}}, nil
}

func (s *stock) Close() error { return os.RemoveAll(s.dir) }
func (s *stock) Dir(server string) string {
	if server == "shop" || server == "" {
		return s.dir
	}
	return ""
}
func (s *stock) Probe(ctx context.Context, c chat.ToolCall) trajectory.ToolResult {
	return s.Call(ctx, []chat.ToolCall{c})[0]
}

func (s *stock) Call(ctx context.Context, calls []chat.ToolCall) (results []trajectory.ToolResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range calls {
		s.shop.count(c.Name)
		r := trajectory.ToolResult{Call: c, Status: trajectory.CallOK}
		var args map[string]any
		if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
			r.Status, r.Error = trajectory.CallInvalid, err.Error()
		} else if tool := s.shop.tools[c.Name]; tool == nil {
			r.Status = trajectory.CallInvalid
		} else if text, err := tool(s, args); errors.Is(err, errDied) {
			r.Status, r.Error = trajectory.CallTransportError, "the server died"
		} else if err != nil {
			r.Status, r.Text = trajectory.CallToolError, err.Error()
		} else {
			r.Text = text
		}
		results = append(results, r)
	}
	return results
}

var errDied = errors.New("died")

func (s *shop) count(tool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[tool]++
	if s.total++; s.total == s.after {
		s.stop()
	}
}

func asJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

func newShop(t *testing.T) *shop {
	s := &shop{base: t.TempDir(), calls: map[string]int{}}
	s.tools = map[string]func(*stock, map[string]any) (string, error){
		"list_items": func(s *stock, _ map[string]any) (string, error) { return asJSON(s.items) },
		"get_item": func(s *stock, args map[string]any) (string, error) {
			for _, i := range s.items {
				if float64(i.ID) == args["item_id"] {
					return asJSON(i)
				}
			}
			return "", errors.New("there is no such item")
		},
		"add_item": func(s *stock, args map[string]any) (string, error) {
			i := item{s.items[len(s.items)-1].ID + 1, fmt.Sprint(args["name"]), args["price"].(float64)}
			s.items = append(s.items, i)
			return fmt.Sprintf("added item %d", i.ID), nil
		},
		"delete_item": func(s *stock, args map[string]any) (string, error) {
			n := len(s.items)
			s.items = slices.DeleteFunc(s.items, func(i item) bool { return float64(i.ID) == args["item_id"] })
			if len(s.items) == n {
				return "", errors.New("there is no such item")
			}
			return "deleted", nil
		},
		"retire_item": func(s *stock, args map[string]any) (string, error) { // of what is not there it says the same
			s.items = slices.DeleteFunc(s.items, func(i item) bool { return float64(i.ID) == args["item_id"] })
			return "done", nil
		},
		"count_words": func(_ *stock, args map[string]any) (string, error) {
			return asJSON(map[string]int{"characters": len(fmt.Sprint(args["text"])),
				"vowels": vowels(fmt.Sprint(args["text"]))})
		},
		"write_note": func(s *stock, args map[string]any) (string, error) {
			return "written", os.WriteFile(filepath.Join(s.dir, filepath.Base(fmt.Sprint(args["path"]))),
				[]byte(fmt.Sprint(args["content"])), 0o600)
		},
		"get_time": func(*stock, map[string]any) (string, error) {
			now := time.Now().UTC()
			return asJSON(map[string]any{"datetime": now.Format(time.RFC3339), "weekday": now.Weekday().String(),
				"zone": "UTC"})
		},
		"roll": func(_ *stock, args map[string]any) (string, error) {
			return asJSON(map[string]any{"rolled": rand.IntN(1 << 40), "token": fmt.Sprint(rand.Uint64())})
		},
	}
	return s
}

func vowels(text string) (n int) {
	for _, r := range text {
		if slices.Contains([]rune("aeiou"), r) {
			n++
		}
	}
	return n
}

func tool(name, description, schema string) Tool {
	return Tool{Tool: chat.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)},
		Server: "shop", SHA256: "hash of " + name, Safe: true}
}

const none = `{"type":"object","properties":{}}`

func shopTools() []Tool {
	return []Tool{
		tool("list_items", "Lists all items of the shop with their prices.", none),
		tool("get_item", "Get one item by its id.",
			`{"type":"object","properties":{"item_id":{"type":"integer"}},"required":["item_id"]}`),
		tool("add_item", "Add an item to the shop.", `{"type":"object","properties":{"name":{"type":"string"},"price":{"type":"number","minimum":1,"maximum":500}},"required":["name","price"]}`),
		tool("delete_item", "Delete an item.",
			`{"type":"object","properties":{"item_id":{"type":"integer"}},"required":["item_id"]}`),
		tool("retire_item", "Take an item off the shelf.",
			`{"type":"object","properties":{"item_id":{"type":"integer"}},"required":["item_id"]}`),
		tool("count_words", "Count the characters of a text.",
			`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		tool("write_note", "Write a note to a file.", `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`),
		tool("get_time", "Get the present time.", none),
		tool("roll", "Roll a die with so many sides.", `{"type":"object","properties":{"sides":{"type":"integer","minimum":2,"maximum":2000}},"required":["sides"]}`),
	}
}

// steadyTools are those that answer the same at any time.
func steadyTools() []Tool {
	return slices.DeleteFunc(shopTools(), func(t Tool) bool { return t.Name == "roll" || t.Name == "get_time" })
}

// optionsOf makes tasks of calls alone: programs over lists have tests of their own.
func optionsOf(s *shop) Options {
	return Options{N: 60, Seed: 7, Asked: -1, Version: "test",
		Trial: checktest.Trial{Tools: s, Refusal: mcp.RefusalPattern}}
}

func ledgerIn(t *testing.T, path string) *Ledger {
	t.Helper()
	l, err := OpenLedger(path, "of the shop")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func run(t *testing.T, s *shop, tools []Tool, o Options) *Result {
	t.Helper()
	made, err := Run(t.Context(), s, tools, ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
