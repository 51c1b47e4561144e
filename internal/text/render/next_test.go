package render

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
)

// What the policy is prompted with in an episode is what serving would show of the same messages: as text where the
// sampled ids are kept, id for id where a row begins anew. Sampled is what a model may write, not what the template
// does.
func TestEpisodesArePromptedAsServed(t *testing.T) {
	splits, kept := 0, 0
	all := map[string]Renderer{"chatml": newChatML(t, Options{System: "S"})}
	for _, path := range append(ownTemplates(), own("channels")) {
		all[filepath.Base(path)] = newVendor(t, path, nil)
	}
	all["thinking off"] = newVendor(t, own("thinker"), noThinking)
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			tok := vocabularyOf(r).Tokenizer
			rapid.Check(t, func(t *rapid.T) {
				messages := dialogues(mild, 2).Draw(t, "dialogue")
				at := rapid.IntRange(0, len(messages)-1).Draw(t, "at")
				for messages[at].Role != chat.Assistant {
					at++
				}
				end := at + 1
				for end < len(messages) && messages[end].Role != chat.Assistant {
					end++
				}
				prompt, err := r.Prompt(messages[:at], twoTools)
				if err != nil {
					t.Skip(err)
				}
				ids, err := r.Completion(messages[at])
				if err != nil {
					t.Skip(err)
				}
				text := tok.Decode(ids[:len(ids)-1])
				odd := rapid.SampledFrom([]func(string) string{
					func(s string) string { return s },
					func(s string) string { return strings.Replace(s, `": {`, `":  {`, 1) },
					func(s string) string { return s + "\n" },
					func(s string) string { return strings.Replace(s, "</think>", " </think>", 1) },
				}).Draw(t, "odd")(text)
				completion := append(tok.Encode(odd), ids[len(ids)-1])
				if odd == text {
					completion = ids
				}
				m, parseError := r.Parse(completion, nil)
				if parseError != "" {
					t.Skip(parseError)
				}
				for i := range m.ToolCalls {
					if i < len(messages[at].ToolCalls) {
						m.ToolCalls[i].ID = messages[at].ToolCalls[i].ID
					}
				}
				now := slices.Clone(messages[:end])
				now[at] = m
				served, err := r.Prompt(now, twoTools)
				if err != nil {
					t.Skip(err)
				}
				got, split, err := r.Next(now, at, completion, twoTools)
				if err != nil {
					t.Fatal(err)
				}
				if split != "" {
					if splits++; !slices.Equal(got, served) {
						t.Fatalf("split (%s)\nshown  %q\nserved %q", split, tok.Decode(got), tok.Decode(served))
					}
					return
				}
				kept++
				if whole := tok.Decode(slices.Concat(prompt, completion, got)); whole != tok.Decode(served) {
					t.Fatalf("shown  %q\nserved %q", whole, tok.Decode(served))
				}
			})
		})
	}
	if splits < 50 || kept < 50 {
		t.Errorf("%d splits, %d kept", splits, kept)
	}
}

// A row begins anew where a template drops reasoning, in an episode as in a demonstration.
func TestEpisodesSplitWhereDemonstrationsDo(t *testing.T) {
	for _, path := range []string{own("thinker"), own("opens"), own("forgets")} {
		v := newVendor(t, path, nil)
		messages := []chat.Message{{Role: chat.User, Content: "a"},
			{Role: chat.Assistant, ReasoningContent: "Hm.", ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "hash", Arguments: `{"text": "a"}`}}},
			{Role: chat.ToolRole, ToolCallID: "call_0", Name: "hash", Content: "r"},
			{Role: chat.Assistant, ReasoningContent: "So.", Content: "x"}, {Role: chat.User, Content: "b"},
			{Role: chat.Assistant, ReasoningContent: "Hm.", Content: "y"}}
		rows, err := v.Sequences(messages, 0, twoTools)
		if err != nil {
			t.Fatal(err)
		}
		var rolled [][]int32
		for at := 1; at < len(messages); at += 2 {
			completion, err := v.Completion(messages[at])
			if err != nil {
				t.Fatal(err)
			}
			if at == 1 {
				prompt, err := v.Prompt(messages[:1], twoTools)
				if err != nil {
					t.Fatal(err)
				}
				rolled = append(rolled, slices.Concat(prompt, completion))
			} else {
				rolled[len(rolled)-1] = append(rolled[len(rolled)-1], completion...)
			}
			if at == len(messages)-1 {
				break
			}
			ids, split, err := v.Next(messages[:at+2], at, completion, twoTools)
			if err != nil {
				t.Fatal(err)
			}
			if split != "" {
				rolled = append(rolled, nil)
			}
			rolled[len(rolled)-1] = append(rolled[len(rolled)-1], ids...)
		}
		if len(rolled) != len(rows) {
			t.Fatalf("%s: %d rows of the episode, %d of the demonstration", path, len(rolled), len(rows))
		}
		for i, row := range rows {
			if !slices.Equal(rolled[i], row.IDs) {
				t.Errorf("%s: row %d\nepisode       %q\ndemonstration %q",
					path, i, v.tok.Decode(rolled[i]), v.tok.Decode(row.IDs))
			}
		}
	}
}

// Of a conversation that was given in part, the rest alone is trained, behind what serving would prompt of the whole.
func TestRowsFromAMessage(t *testing.T) {
	messages := []chat.Message{{Role: chat.User, Content: "a"},
		{Role: chat.Assistant, ReasoningContent: "Hm.", ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "hash", Arguments: `{"text": "a"}`}}},
		{Role: chat.ToolRole, ToolCallID: "call_0", Name: "hash", Content: "r"},
		{Role: chat.Assistant, Content: "x"}, {Role: chat.User, Content: "b"}, {Role: chat.Assistant, Content: "y"}}
	c := newChatML(t, Options{})
	for name, r := range map[string]Renderer{
		"thinker": newVendor(t, own("thinker"), nil), "opens": newVendor(t, own("opens"), nil), "forgets": newVendor(t,
			own("forgets"), nil), "chatml": c,
		"told":        newVendor(t, own("thinker"), func(o *VendorOptions) { o.System = "Be brief." }),
		"chatml told": newChatML(t, Options{System: "Be brief."}),
	} {
		for first, last := range map[int]int{2: 3, 3: 3, 4: 5, 5: 5} { // the first message that is trained
			rows, err := r.Sequences(messages, first, twoTools)
			if err != nil {
				t.Fatalf("%s from %d: %v", name, first, err)
			}
			trained := ""
			for _, row := range rows {
				for i, id := range row.IDs {
					if row.Trained[i] {
						trained += c.tok.Decode([]int32{id})
					}
				}
			}
			if strings.Contains(trained, "hash") || strings.Contains(trained, "x") != (last == 3) ||
				!strings.Contains(trained, "y") {
				t.Errorf("%s from %d: trained is %q", name, first, trained)
			}
			prompt, err := r.Prompt(messages[:last], twoTools)
			if err != nil || !slices.Equal(rows[0].IDs[:len(prompt)], prompt) || rows[0].Rewrite != "" ||
				slices.Contains(rows[0].Trained[:len(prompt)], true) {
				t.Errorf("%s from %d: the first row is not behind its prompt: %v", name, first, err)
			}
		}
		if _, err := r.Sequences(messages, 6, twoTools); !isUsage(err) {
			t.Errorf("%s: nothing is left to train, %v", name, err)
		}
	}
}
