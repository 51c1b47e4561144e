package data

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/data/curate"
	"hone/internal/data/dataset"
)

// desk is real operations over a ledger.
type desk struct {
	*curate.Curation
	checker *curate.Checker
}

func (d desk) Do(op curate.Op) (curate.Op, []string, error) {
	op.Author = "me"
	done, err := d.Curation.Do(op)
	return done, nil, err
}

func (d desk) Findings(t *curate.Trace) []string { return d.checker.Findings(t) }

func (d desk) Preview(id string) (string, error) {
	if id == "broken" {
		return "", errors.New("no template\nwrites it")
	}
	return "row 1 of 1\n«trained of " + id + "»", nil
}

func rows(n int) []dataset.Row {
	var out []dataset.Row
	for i := range n {
		out = append(out, dataset.Row{
			ID: fmt.Sprintf("t%d", i),
			Tools: []chat.Tool{
				{
					Name: "weather",
					InputSchema: json.RawMessage(
						`{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}`,
					),
				},
			},
			Messages: []chat.Message{
				{Role: chat.System, Content: "Be brief."}, {Role: chat.User,
					Content: fmt.Sprintf("Rain in town %d?", i)},
				{Role: chat.Assistant, ReasoningContent: "I look.",
					ToolCalls: []chat.ToolCall{{ID: "1", Name: "weather", Arguments: `{"city": "Bern"}`}}},
				{Role: chat.ToolRole, ToolCallID: "1", Content: "dry\x1b[31m"}, {Role: chat.Assistant, Content: "No."},
				{Role: chat.User, Content: "Sure?"}, {Role: chat.Assistant,
					Content: "Yes."},
			},
		})
	}
	return out
}

func newDesk(t testing.TB, n int) desk {
	t.Helper()
	c, err := curate.Open(rows(n), filepath.Join(t.TempDir(), "ledger.jsonl"), curate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return desk{c, curate.NewChecker()}
}

// press types keys, one a word; a word in quotes is typed letter by letter. Editors run as Update's command says.
func press(t testing.TB, p *page, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if text, quoted := strings.CutPrefix(k, "'"); quoted {
			for _, r := range text {
				p.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
			}
			continue
		}
		named := map[string]tea.KeyPressMsg{
			"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab},
			"down": {Code: tea.KeyDown}, "up": {Code: tea.KeyUp}, "pgdown": {Code: tea.KeyPgDown},
			"pgup": {Code: tea.KeyPgUp}, "backspace": {Code: tea.KeyBackspace},
		}
		msg, there := named[k]
		if !there {
			r := []rune(k)
			msg = tea.KeyPressMsg{Code: r[0], Text: k}
		}
		p.Update(msg)
	}
}

func screenOf(p *page) string { return p.View().Content }

func trace(t testing.TB, d desk, id string) *curate.Trace {
	t.Helper()
	x, err := d.Trace(id)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestKeys(t *testing.T) {
	d := newDesk(t, 30)
	p := newPage(d, nil)
	p.Update(tea.WindowSizeMsg{Width: 100, Height: 12})
	if got := screenOf(p); !strings.Contains(got, "30 of 30 traces") || !strings.Contains(got, "Rain in town 0?") ||
		strings.Contains(got, "town 29") {
		t.Errorf("%s", got)
	}
	press(t, p, "a", "down", "x", "'it guesses", "enter", "down", "4")
	if x, y, z := trace(t, d, "t0"), trace(t, d, "t1"), trace(t, d, "t2"); x.Status != curate.Accepted ||
		y.Status != curate.Rejected || y.Why != "it guesses" || z.Rating != 4 {
		t.Errorf("%+v %+v %+v", x, y, z)
	}
	press(t, p, "up", "u")
	if y := trace(t, d, "t1"); y.Status != curate.Undecided {
		t.Errorf("%+v", y)
	}
	press(t, p, "u")
	if !strings.Contains(screenOf(p), "nothing was done") {
		t.Errorf("%s", screenOf(p))
	}
	press(t, p, "x", "'no", "esc")
	if y := trace(t, d, "t1"); y.Status != curate.Undecided {
		t.Error("a reason that was left made a rejection")
	}
	press(t, p, "tab", "tab")
	if got := screenOf(p); !strings.Contains(got, "1 of 30 traces   status: accepted") {
		t.Errorf("%s", got)
	}
	press(t, p, "tab", "tab", "tab", "/", "'town 17", "enter")
	if got := screenOf(p); !strings.Contains(got, "1 of 30 traces   status: any   /town 17") ||
		!strings.Contains(got, "t17") {
		t.Errorf("%s", got)
	}
	press(t, p, "p")
	if got := screenOf(p); !strings.Contains(got, "«trained of t17»") {
		t.Errorf("%s", got)
	}
	press(t, p, "esc", "/", "esc", "g", "?")
	if got := screenOf(p); !strings.Contains(got, "delete the step") &&
		!strings.Contains(got, "reject, with a reason") {
		t.Errorf("%s", got)
	}
	press(t, p, "esc", "G", "enter")
	if got := screenOf(p); !strings.Contains(got, "t29   undecided") ||
		!strings.Contains(got, "2 assistant calls weather") || !strings.Contains(got, "user, turn 1") {
		t.Errorf("%s", got)
	}
	if strings.Contains(screenOf(p), "dry\x1b[31m") {
		t.Error("a tool's control characters reach the terminal")
	}
	press(t, p, "s", "d")
	if x := trace(t, d, "t29"); x.Row.Messages[0].Role != chat.User || !x.Edited {
		t.Errorf("%+v", x.Row.Messages)
	}
	press(t, p, "d") // the cursor is on the user's message
	if got := screenOf(p); !strings.Contains(got, "cannot delete step") {
		t.Errorf("%s", got)
	}
	press(t, p, "down", "down", "d", "up", "up", "m")
	if x := trace(t, d, "t29"); len(x.Row.Messages) != 2 || x.Row.Messages[0].Content != "Rain in town 29?\n\nSure?" {
		t.Errorf("%+v", x.Row.Messages)
	}
	press(t, p, "u", "u", "u", "pgdown", "pgup")
	if x := trace(t, d, "t29"); x.Edited || len(x.Ops) != 0 {
		t.Errorf("%+v", x)
	}
	press(t, p, "G")
	for p.parts[p.part].turn < 2 {
		press(t, p, "down")
	}
	press(t, p, "S", "esc", "G")
	if got := screenOf(p); !strings.Contains(got, "31 of 31 traces") || !strings.Contains(got, "t29/") {
		t.Errorf("%s", got)
	}
	press(t, p, "enter", "u")
	if got := screenOf(p); !strings.Contains(got, "30 of 30 traces") {
		t.Errorf("a trace that is no more is still shown:\n%s", got)
	}
}

// The way out and to the keys is on each page of a narrow terminal, and in a preview g, G and n go to the beginning,
// the end and what is trained.
func TestTheWayOutIsSeen(t *testing.T) {
	p := newPage(newDesk(t, 1), nil)
	p.Update(tea.WindowSizeMsg{Width: 60, Height: 10})
	for _, page := range []struct{ key, want string }{
		{"", "q leave  ? keys"},
		{"enter", "esc back  ? keys"},
		{"?", "esc back"},
	} {
		if page.key != "" {
			press(t, p, page.key)
		}
		if got := screenOf(p); !strings.Contains(got, page.want) {
			t.Errorf("after %q it does not say %q:\n%s", page.key, page.want, got)
		}
	}
	if press(t, p, "esc", "esc"); !strings.Contains(screenOf(p), " 1 call ") {
		t.Errorf("%s", screenOf(p))
	}
	p.open(strings.Repeat("given\n", 30) + "«first»\n" + strings.Repeat("given\n", 30) + "«second»\n" +
		strings.Repeat("given\n", 30) + "the end")
	for _, move := range []struct{ key, want string }{
		{"n", "«first»"}, {"n", "«second»"}, {"n", "nothing that is trained begins below"}, {"G", "the end"},
		{"g", "given"}, {"n", "«first»"},
	} {
		if press(t, p, move.key); !strings.Contains(screenOf(p), move.want) {
			t.Errorf("%s does not lead to %q:\n%s", move.key, move.want, screenOf(p))
		}
	}
}

// What an editor leaves is an operation on what was under the cursor; nothing is done where it leaves what there was,
// or fails.
func TestEditor(t *testing.T) {
	d := newDesk(t, 1)
	p := newPage(d, []string{"true"})
	press(t, p, "enter")
	edit := func(text string, fails error) {
		t.Helper()
		x := p.parts[p.part]
		if cmd := p.edit(x); cmd == nil {
			t.Fatalf("no editor: %s", p.said)
		}
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Update(edited{op: curate.Op{Do: x.do, Trace: p.trace.ID, Message: x.message, Call: x.call}, before: x.text,
			path: path, err: fails})
		if _, err := os.Stat(path); err == nil {
			t.Error("the editor's file is left")
		}
	}
	edit("Be brief.\n", nil)
	if len(d.Ops()) != 0 || p.said != "nothing was changed" {
		t.Errorf("%+v %s", d.Ops(), p.said)
	}
	edit("Be long.\n", errors.New("exit status 1"))
	if len(d.Ops()) != 0 || !strings.Contains(p.said, "editor failed") {
		t.Errorf("%+v %s", d.Ops(), p.said)
	}
	edit("Be long.\n", nil)
	press(t, p, "down", "down")
	edit("because", nil)
	press(t, p, "down")
	edit(`{"city": 3}`, nil)
	x := trace(t, d, "t0").Row.Messages
	if x[0].Content != "Be long." || x[2].ReasoningContent != "because" ||
		x[2].ToolCalls[0].Arguments != `{"city": 3}` {
		t.Errorf("%+v", x)
	}
	if got := screenOf(p); !strings.Contains(got, "does not hold: message 2, call 0") {
		t.Errorf("not held against the schema again:\n%s", got)
	}
	edit("{", nil)
	if !strings.Contains(p.said, "cannot edit arguments") || len(d.Ops()) != 3 {
		t.Errorf("%s", p.said)
	}
	press(t, newPage(newDesk(t, 1), nil), "enter", "e") // no editor
}

// Whatever is typed, the page fits its terminal, and undoing all from the last leaves the traces as they were read.
func TestAnyKeys(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := newDesk(t, 3)
		p := newPage(d, nil)
		all := []string{"a", "x", "1", "5", "u", "p", "enter", "esc", "tab", "down", "up", "pgdown", "pgup", "/", "d",
			"D", "m", "s", "S", "n", "N", "e", "r", "g", "G", "?", "backspace", "t", " "}
		for range rapid.IntRange(1, 60).Draw(r, "n") {
			if rapid.IntRange(0, 9).Draw(r, "resize") == 0 {
				p.Update(tea.WindowSizeMsg{Width: rapid.IntRange(0, 120).Draw(r, "w"),
					Height: rapid.IntRange(0, 40).Draw(r, "h")})
			}
			press(t, p, rapid.SampledFrom(all).Draw(r, "key"))
			if got := strings.Count(screenOf(p), "\n") + 1; got > p.height {
				r.Fatalf("%d lines of %d", got, p.height)
			}
		}
		for undone := true; undone; {
			undone = false
			for _, x := range d.Traces() {
				if last, there := d.Last(x.ID); there {
					if _, _, err := d.Do(curate.Op{Do: curate.Undo, Of: last.Seq}); err == nil {
						undone = true
					}
				}
			}
		}
		if got, want := fmt.Sprintf("%+v", d.Rows(false)), fmt.Sprintf("%+v", rows(3)); got != want {
			r.Fatalf("%s", got)
		}
	})
}

// BenchmarkKey is how long one key takes at 10,000 traces, what is shown then included. Set against 50 ms.
func BenchmarkKey(b *testing.B) {
	for name, keys := range map[string][]string{
		"move": {"down"}, "rate": {"3"}, "find": {"/", "'9", "backspace", "esc"}, "open": {"enter", "esc"},
		"status": {"tab"}, "undo": {"4", "u"},
	} {
		b.Run(name, func(b *testing.B) {
			d := newDesk(b, 10_000)
			d.Rehearse() // the disk is another's
			p := newPage(d, nil)
			for b.Loop() {
				for _, k := range keys {
					press(b, p, k)
					screenOf(p)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*len(keys)), "ms/key")
		})
	}
}
