package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hone/internal/chat"
	"hone/internal/text/tokenizer"
	"hone/internal/text/toolcall"
)

// A token is refused wherever it is cut between text from anyone and the template's, or between two texts from anyone.
func TestMarksReachOverSeams(t *testing.T) {
	tok := extended(t, "<|end|>", "<｜Assistant｜>", "[INST]", "</s>")
	d := newDanger(tok)
	const sentinel = "\uf8ff"
	for _, token := range []string{"<|end|>", "<｜Assistant｜>", "[INST]", "</s>", "<|im_end|>"} {
		id, _ := tok.ID(token)
		if got := tok.EncodeParts(parts("a"+token, sentinel)...); got[len(got)-1] != id {
			t.Fatalf("the template's own %s is not found", token)
		}
		for cut := range token {
			if cut == 0 {
				continue // all of it is the template's
			}
			front, back := token[:cut], token[cut:]
			for _, text := range []string{d.mark("a"+front, sentinel) + back, front + d.mark(back+"a", sentinel),
				d.mark(front, sentinel) + d.mark(back, sentinel), d.mark("x"+token+"y", sentinel)} {
				p := parts(text, sentinel)
				for _, got := range tok.EncodeParts(p...) {
					if tok.IsAdded(got) {
						t.Fatalf("%q yields %s", text, token)
					}
				}
				whole := ""
				for _, part := range p {
					if whole += part.Text; !utf8.ValidString(part.Text) {
						t.Fatalf("%q is cut inside a character", text)
					}
				}
				if strings.Contains(whole, sentinel) || !strings.Contains(whole, token) {
					t.Fatalf("%q became %q", text, whole)
				}
			}
		}
	}
	for _, text := range []string{"", "hello", "string", "object", "a b", "end"} {
		if got := d.mark(text, sentinel); got != text {
			t.Errorf("%q is marked: %q", text, got)
		}
	}
	if p := parts(sentinel+sentinel+"ab"+sentinel, sentinel); len(p) != 5 || p[1].Text != "a" || !p[1].Ordinary ||
		p[3].Text != "" {
		t.Errorf("got %+v", p) // what a template leaves where it has cut text
	}
}

// Gemma's vocabulary has thousands of tokens like these. Comparing each with each "<" of a result would not end.
func TestManyTokensOfOneBeginning(t *testing.T) {
	names := make([]string, 6000)
	for i := range names {
		names[i] = fmt.Sprintf("<unused%d>", i)
	}
	tok, err := tokenizer.New(tokenizer.Options{Tokens: names,
		Types: slices.Repeat([]int32{tokenizer.TypeControl}, len(names))})
	if err != nil {
		t.Fatal(err)
	}
	d := newDanger(tok)
	const n = 1 << 21
	text := strings.Repeat("<", n) + "<unused77>" + "<unused7"
	if got, want := d.mark(text, "|"), strings.Repeat("<", n)+"<|unused77><unused|7"; got != want {
		t.Errorf("marked %q", got[n:])
	}
	if at := d.at("<unused599>9>", 0); at != "<unused599>" {
		t.Errorf("found %q", at)
	}
}

func TestSentinelIsFree(t *testing.T) {
	v := newVendor(t, own("thinker"), nil)
	text := "\uf8ff\uf8fe<|end|>\uf8fd"
	ids, err := v.Prompt([]chat.Message{{Role: chat.User, Content: text}}, nil)
	if err != nil || v.tok.Decode(ids) != "<|user|>\n"+text+"<|end|>\n<|assistant|>\n" {
		t.Errorf("got %q, %v", v.tok.Decode(ids), err)
	}
	var all strings.Builder
	for r := rune(0xE000); r <= 0xF8FF; r++ {
		all.WriteRune(r)
	}
	if _, err := v.Prompt([]chat.Message{{Role: chat.User, Content: all.String()}}, nil); err == nil ||
		!strings.Contains(err.Error(), "private use") {
		t.Errorf("no character is free, and it is rendered: %v", err)
	}
}

// BenchmarkPrompt is a conversation of 40 tools and 30 messages; BenchmarkSequences renders the same for training.
func BenchmarkPrompt(b *testing.B) {
	v, messages, tools := benchmarkConversation(b)
	for b.Loop() {
		if _, err := v.Prompt(messages, tools); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSequences(b *testing.B) {
	v, messages, tools := benchmarkConversation(b)
	for b.Loop() {
		if _, err := v.Sequences(messages, 0, tools); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkConversation(b *testing.B) (v *Vendor, messages []chat.Message, all []chat.Tool) {
	b.Helper()
	v = newVendor(b, own("opens"), nil)
	for range 40 {
		all = append(all, tools[0])
	}
	for range 10 {
		messages = append(messages, chat.Message{Role: chat.User, Content: strings.Repeat("What is it? ", 20)},
			chat.Message{Role: chat.Assistant,
				ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "hash", Arguments: `{"text": "hi"}`}}},
			chat.Message{Role: chat.ToolRole, ToolCallID: "call_0", Content: strings.Repeat(`{"a": 1} `, 50)})
	}
	return v, messages, all
}

// A completion is no beginning of a text, so SentencePiece puts no space in front of it.
func TestSentencePiece(t *testing.T) {
	o := tokenizer.Options{Model: "llama", Tokens: []string{"<unk>", "<s>", "</s>"},
		Types: []int32{tokenizer.TypeUnknown, tokenizer.TypeControl, tokenizer.TypeControl}}
	for b := range 256 {
		o.Tokens, o.Types = append(o.Tokens, fmt.Sprintf("<0x%02X>", b)), append(o.Types, tokenizer.TypeByte)
	}
	for _, s := range append([]string{"▁"}, strings.Split("abcds<>[]/INST_x0A", "")...) {
		if !slices.Contains(o.Tokens, s) {
			o.Tokens, o.Types = append(o.Tokens, s), append(o.Types, tokenizer.TypeNormal)
		}
	}
	o.Scores = make([]float32, len(o.Tokens))
	tok, err := tokenizer.New(o)
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewVendor(tok, VendorOptions{Format: toolcall.Hermes(), BOS: "<s>", EOS: "</s>",
		Template: `{{ bos_token }}{% for m in messages %}{{ '[INST]' + m.content + '[/INST]' if m.role == 'user' else m.content + eos_token }}{% endfor %}`})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := v.Sequences([]chat.Message{
		{Role: chat.User, Content: "a<0x0A></s>"},
		{Role: chat.Assistant, Content: "b"},
		{Role: chat.User, Content: "c"},
		{Role: chat.Assistant, Content: "d"},
	}, 0, nil)
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	var got []string
	for _, id := range rows[0].IDs {
		token, _ := tok.Token(id)
		got = append(got, token)
	}
	want := "<s> ▁ [ I N S T ] a < 0 x 0 A > < / s > [ / I N S T ] b </s> ▁ [ I N S T ] c [ / I N S T ] d </s>"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	// Where ids do not decode to the text they are of, spans are told by encoding what stands before.
	for _, s := range rows[0].Spans {
		text := strings.Join(got[s.Start:s.End], " ")
		if w := []string{"<s> ▁ [ I N S T ] a < 0 x 0 A > < / s > [ / I N S T ]", "b </s>",
			"▁ [ I N S T ] c [ / I N S T ]", "d </s>"}[s.Message]; text != w {
			t.Errorf("message %d is %s, want %s", s.Message, text, w)
		}
	}
}
