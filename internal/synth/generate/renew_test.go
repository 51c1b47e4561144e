package generate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/checktest"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// ledgers is a server with one list of entries. It keeps them in a file of the session's folder, or in memory.
type ledgers struct {
	base     string
	inMemory bool

	mu    sync.Mutex
	opens int
	made  map[string][]int // the sessions that were called with a title
}

type book struct {
	of      *ledgers
	number  int // of the session
	dir     string
	entries []string
}

func (l *ledgers) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	dir, err := os.MkdirTemp(l.base, "")
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opens++
	return &book{of: l, dir: dir, number: l.opens}, nil
}

func (b *book) Dir(string) string { return b.dir }
func (b *book) Close() error      { return os.RemoveAll(b.dir) }

func (b *book) all() (list []string) {
	if b.of.inMemory {
		return b.entries
	}
	text, err := os.ReadFile(filepath.Join(b.dir, "book.json"))
	if err == nil {
		_ = json.Unmarshal(text, &list)
	}
	return list
}

func (b *book) answer(c chat.ToolCall) (string, error) {
	var given struct{ Title string }
	if err := json.Unmarshal([]byte(c.Arguments), &given); err != nil {
		return "", err
	}
	b.of.note(given.Title, b.number)
	switch c.Name {
	case "list_entries":
		text, err := json.Marshal(map[string]any{"entries": append([]string{}, b.all()...)})
		return string(text), err
	case "add_entry":
		if given.Title == "" {
			return "", errors.New("no title")
		}
		b.entries = append(b.all(), given.Title)
		text, err := json.Marshal(b.entries)
		if err == nil && !b.of.inMemory {
			err = os.WriteFile(filepath.Join(b.dir, "book.json"), text, 0o600)
		}
		return fmt.Sprintf(`{"added": %q}`, given.Title), err
	}
	return fmt.Sprintf(`{"length": %d}`, len(given.Title)), nil
}

func (l *ledgers) note(title string, session int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made = map[string][]int{}
	}
	l.made[title] = append(l.made[title], session)
}

func (b *book) Call(ctx context.Context, calls []chat.ToolCall) (results []trajectory.ToolResult) {
	for _, c := range calls {
		results = append(results, b.Probe(ctx, c))
	}
	return results
}

func (b *book) Probe(_ context.Context, c chat.ToolCall) trajectory.ToolResult {
	text, err := b.answer(c)
	if err != nil {
		return trajectory.ToolResult{Call: c, Status: trajectory.CallToolError, Text: err.Error()}
	}
	return trajectory.ToolResult{Call: c, Status: trajectory.CallOK, Text: text}
}

func bookTools() []Tool {
	title := `{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`
	tools := []Tool{tool("list_entries", "List all entries.", none), tool("add_entry", "Add an entry.", title),
		tool("measure_title", "Measure the length of a title.", title)}
	for i := range tools {
		tools[i].Server = "book"
	}
	return tools
}

// Of a server whose state is in its folder, few processes do for many plays, and the scenarios are those of a process
// for each.
func TestSessionsAreRenewed(t *testing.T) {
	made := func(l *ledgers, n int) *Result {
		l.base = t.TempDir()
		o := Options{N: n, Seed: 3, Workers: 2, Version: "test", Trial: checktest.Trial{Tools: l}}
		got, err := Run(t.Context(), l, bookTools(), ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), o)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	few, many, alone := &ledgers{}, &ledgers{}, &ledgers{inMemory: true}
	made(few, 20)
	got, want := made(many, 60), made(alone, 60)
	if len(got.Scenarios) < 40 || len(want.Scenarios) < 40 {
		t.Fatalf("%d and %d scenarios", len(got.Scenarios), len(want.Scenarios))
	}
	// What is in memory is seen, and then each play has a process of its own: so both are made of the same plays.
	if a, b := calls(got.Scenarios), calls(want.Scenarios); !slices.Equal(a, b) {
		t.Errorf("with sessions used again\n%v\nwithout\n%v", a, b)
	}
	if many.opens >= alone.opens*2/3 {
		t.Errorf("%d sessions were opened, %d where each play has its own", many.opens, alone.opens)
	}
}

// The second play proves only where nothing of the first is left: it is never made in a session that is used again, and
// both plays of what changes nothing have a session each.
func TestTheProvingPlay(t *testing.T) {
	l := &ledgers{base: t.TempDir()}
	p := &player{from: l, ledger: ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), workers: 1,
		tool: map[string]*subject{}}
	defer p.close()
	for _, x := range bookTools() {
		p.tool[x.Name] = &subject{Tool: x, pure: x.Name != "add_entry", writes: x.Name == "add_entry"}
	}
	look := Call{Tool: "list_entries", Arguments: json.RawMessage("{}")}
	p.renewed = p.renew(&realm{looks: []Call{look}, before: []stable{{text: `{"entries":[]}`, equal: true}}})
	titles := []string{"oak", "elm", "ash"}
	for _, tool := range []string{"add_entry", "measure_title"} {
		for attempt := range attempts {
			for _, title := range titles {
				x := play{Calls: []Call{{Tool: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"title":%q}`, title))}},
					Attempt: attempt}
				if tool == "add_entry" {
					x.Looks = []Call{look}
				}
				if got, err := p.play(t.Context(), x); err != nil || got.Lost != "" {
					t.Fatalf("%+v %v", got, err)
				}
			}
		}
	}
	// In each list: of add_entry the first and the second play, then of measure_title. The first plays share one
	// session.
	want := map[string][]int{"oak": {1, 2, 5, 6}, "elm": {1, 3, 5, 6}, "ash": {1, 4, 5, 6}}
	for _, title := range titles {
		if !slices.Equal(l.made[title], want[title]) {
			t.Errorf("%s was played in the sessions %v, want %v", title, l.made[title], want[title])
		}
	}
}

// Sessions are used again only where each server that changes something can be looked at: another one's look says
// nothing of it.
func TestEachServerIsLookedAt(t *testing.T) {
	of := func(server string, writes bool) *subject { return &subject{Tool: Tool{Server: server}, writes: writes} }
	looks := &realm{looks: []Call{{Tool: "list"}}, before: []stable{{equal: true, text: "[]"}}}
	for _, tc := range []struct {
		name string
		tool map[string]*subject
		base *realm
		want bool
	}{
		{"its own", map[string]*subject{"list": of("a", false), "add": of("a", true)}, looks, true},
		{"another server's", map[string]*subject{"list": of("a", false), "add": of("b", true)}, looks, false},
		{"what changes nothing needs none", map[string]*subject{"list": of("a", false), "add": of("a", true), "sum": of("b", false)}, looks, true},
		{"none", map[string]*subject{"list": of("a", false)}, &realm{}, false},
	} {
		if got := (&player{tool: tc.tool}).renew(tc.base) != nil; got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func calls(list []scenario.Scenario) (out []string) {
	for _, s := range list {
		checks, _ := json.Marshal(s.Checks)
		gold, _ := json.Marshal(s.Gold)
		out = append(out, string(gold)+string(checks))
	}
	return out
}

// A folder is put back whatever became of it, and nothing outside it is touched.
func TestFolderIsPutBack(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside.txt")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(outside, "mine")
	for _, path := range []string{"a.txt", "b/c.txt", "b/d.txt", "empty.txt"} {
		text := path
		if path == "empty.txt" {
			text = ""
		}
		write(filepath.Join(dir, path), text)
	}
	before, ok := readFolder(dir)
	if !ok || len(before) != 5 {
		t.Fatalf("%v %v", before, ok)
	}
	write(filepath.Join(dir, "a.txt"), "changed")
	write(filepath.Join(dir, "new/deep/x.txt"), "new")
	for _, err := range []error{
		os.RemoveAll(filepath.Join(dir, "b")), os.Symlink(outside, filepath.Join(dir, "b")),
		os.Remove(filepath.Join(dir, "empty.txt")),
		os.Symlink(outside, filepath.Join(dir, "empty.txt")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := before.putBack(dir); err != nil {
		t.Fatal(err)
	}
	after, ok := readFolder(dir)
	if !ok || len(after) != len(before) || string(after["a.txt"]) != "a.txt" || string(after["b/d.txt"]) != "b/d.txt" ||
		string(after["empty.txt"]) != "" {
		t.Errorf("%q", after)
	}
	if text, _ := os.ReadFile(outside); string(text) != "mine" {
		t.Errorf("outside holds %q", text)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, ok := readFolder(dir); ok {
		t.Error("a folder with a link is taken for one that can be put back")
	}
}
