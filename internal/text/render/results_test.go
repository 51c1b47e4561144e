package render

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
)

// asked is a conversation in which several calls are made at once, whose results come in an order.
func asked(ids []string, results ...string) []chat.Message {
	all := []chat.Message{{Role: chat.User, Content: "q"}, {Role: chat.Assistant}}
	for _, id := range ids {
		all[1].ToolCalls = append(all[1].ToolCalls,
			chat.ToolCall{ID: id, Name: "hash", Arguments: `{"text": "` + id + `"}`})
	}
	for _, id := range results {
		all = append(all, chat.Message{Role: chat.ToolRole, ToolCallID: id, Name: "hash", Content: "of " + id})
	}
	return append(all, chat.Message{Role: chat.Assistant, Content: "done"})
}

// A result stands where its call stands, in whichever order results came: in training, in serving and in an episode.
func TestResultsStandInTheOrderOfTheirCalls(t *testing.T) {
	all := map[string]Renderer{"chatml": newChatML(t, Options{}),
		"chatml with a system message": newChatML(t, Options{System: "S"})}
	for _, path := range ownTemplates() {
		all[filepath.Base(path)] = newVendor(t, path, nil)
	}
	all["agent with a system message"] = newVendor(t, filepath.Join(referenceDir, "template", "agent.jinja"),
		func(o *VendorOptions) { o.System = "S" })
	ab, abc, aab := []string{"a", "b"}, []string{"a", "b", "c"}, []string{"a", "a", "b"}
	twice := func(order ...string) []chat.Message {
		return append(asked(ab, order...),
			append([]chat.Message{{Role: chat.User, Content: "again"}}, asked(ab, order...)[1:]...)...)
	}
	for name, x := range map[string]struct{ given, shown []chat.Message }{
		"in order":               {asked(ab, "a", "b"), asked(ab, "a", "b")},
		"swapped":                {asked(ab, "b", "a"), asked(ab, "a", "b")},
		"three, the last first":  {asked(abc, "c", "a", "b"), asked(abc, "a", "b", "c")},
		"three, backwards":       {asked(abc, "c", "b", "a"), asked(abc, "a", "b", "c")},
		"one is missing":         {asked(abc, "c", "a"), asked(abc, "a", "c")},
		"one came in two":        {asked(ab, "b", "a", "b"), asked(ab, "a", "b", "b")},
		"two turns":              {twice("b", "a"), twice("a", "b")},
		"an id of no call":       {asked(ab, "b", "x"), asked(ab, "b", "x")},
		"no ids":                 {asked(ab, "", ""), asked(ab, "", "")},
		"ids that are not apart": {asked(aab, "b", "a", "a"), asked(aab, "b", "a", "a")},
		"a single call":          {asked([]string{"a"}, "a"), asked([]string{"a"}, "a")},
	} {
		kept := slices.Clone(x.given)
		for renderer, r := range all {
			tok := vocabularyOf(r).Tokenizer
			prompt, err := r.Prompt(x.given[:len(x.given)-1], twoTools)
			want, wantErr := r.Prompt(x.shown[:len(x.shown)-1], twoTools)
			if err != nil || wantErr != nil || !slices.Equal(prompt, want) {
				t.Errorf("%s, %s: prompted %q, want %q, %v, %v",
					renderer, name, tok.Decode(prompt), tok.Decode(want), err, wantErr)
			}
			rows, err := r.Sequences(x.given, 0, twoTools)
			wanted, wantErr := r.Sequences(x.shown, 0, twoTools)
			if err != nil || wantErr != nil || len(rows) != len(wanted) {
				t.Errorf("%s, %s: %d rows, want %d, %v, %v", renderer, name, len(rows), len(wanted), err, wantErr)
				continue
			}
			for i := range rows {
				if !slices.Equal(rows[i].IDs, wanted[i].IDs) || !slices.Equal(rows[i].Trained, wanted[i].Trained) {
					t.Errorf("%s, %s: trained %q, want %q",
						renderer, name, tok.Decode(rows[i].IDs), tok.Decode(wanted[i].IDs))
				}
				for k, span := range rows[i].Spans {
					m, want := x.given[span.Message], x.shown[wanted[i].Spans[k].Message]
					if r.(*Vendor).options.own == nil && (m.Role != want.Role || m.Content != want.Content) {
						t.Errorf("%s, %s: tokens of %q are said to be of %q", renderer, name, want.Content, m.Content)
					}
				}
			}
			ids, err := r.Completion(x.given[1])
			if err != nil {
				t.Fatal(err)
			}
			first := slices.IndexFunc(x.given[2:], func(m chat.Message) bool { return m.Role == chat.Assistant }) + 2
			next, _, err := r.Next(x.given[:first], 1, ids, twoTools)
			wantNext, _, wantErr := r.Next(x.shown[:first], 1, ids, twoTools)
			if err != nil || wantErr != nil || !slices.Equal(next, wantNext) {
				t.Errorf("%s, %s: next %q, want %q, %v, %v",
					renderer, name, tok.Decode(next), tok.Decode(wantNext), err, wantErr)
			}
			for i := range kept {
				if kept[i].Content != x.given[i].Content {
					t.Fatalf("%s, %s: the caller's messages were moved", renderer, name)
				}
			}
		}
	}
	r := newChatML(t, Options{})
	given := asked(ab, "b", "a")
	rows, err := r.Sequences(given, 0, twoTools)
	if err != nil {
		t.Fatal(err)
	}
	var view bytes.Buffer
	if err := View(&view, "x", rows[0], given, vocabularyOf(r).Tokenizer, false); err != nil {
		t.Fatal(err)
	}
	if text := view.String(); strings.Index(text, "of a") > strings.Index(text, "of b") {
		t.Errorf("viewed:\n%s", text)
	}
}
